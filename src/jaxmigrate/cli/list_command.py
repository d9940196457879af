"""`jaxmigrate list`: the codemods there are."""

from __future__ import annotations

import click


@click.command("list")
def command() -> None:
    """List the codemods: name, from which JAX on it is needed, what it does."""
    from jaxmigrate.cli.printing import printing
    from jaxmigrate.registry import all_codemods

    codemods = all_codemods()
    width = max(len(codemod.name) for codemod in codemods)
    with printing():
        for codemod in codemods:
            click.echo(f"{codemod.name:{width}}  JAX {codemod.needed_from:<7} {codemod.summary}")
        click.echo("\nMore about one: jaxmigrate explain NAME")
