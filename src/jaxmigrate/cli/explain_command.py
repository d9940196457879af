"""`jaxmigrate explain`: what a codemod does and why, with its examples."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from jaxmigrate.codemod import Codemod, Example


@click.command("explain")
@click.argument("name")
@click.option("--color/--no-color", default=None, help="Colours; default: on a terminal.")
def command(name: str, color: bool | None) -> None:
    """Say what the codemod NAME does, why, and what it leaves alone."""
    from jaxmigrate.cli.printing import printing
    from jaxmigrate.output.text import is_terminal
    from jaxmigrate.registry import choose

    text = explanation(choose([name])[0])
    if not is_terminal(color, sys.stdout, os.environ):
        with printing():
            click.echo(text)
        return
    from rich.markdown import Markdown

    from jaxmigrate.output.terminal import rich_console

    with printing():
        rich_console(color, sys.stdout).print(Markdown(text))


def explanation(codemod: Codemod) -> str:
    """The codemod's description and examples, in Markdown."""
    from jaxmigrate.registry import module_of

    described = inspect.getdoc(module_of(codemod)) or codemod.summary
    parts = [f"# {codemod.name}", described.strip(), "## Examples"]
    parts.extend(_example(example) for example in codemod.examples)
    return "\n\n".join(parts)


def _example(example: Example) -> str:
    return "\n".join(_example_lines(example))


def _example_lines(example: Example) -> Iterator[str]:
    notes = [f"--confidence {example.confidence.label}"] if example.confidence == 1 else []
    if example.target_jax is not None:
        notes.append(f"--target-jax {example.target_jax}")
    if example.sentinel is not None:
        notes.append(f'--sentinel "{example.sentinel}"')
    yield f"With `{' '.join(notes)}`:\n" if notes else ""
    yield "```python"
    yield example.before.rstrip("\n")
    yield "```"
    if example.after is None:
        yield "\nis left alone."
        return
    yield "\nbecomes\n\n```python"
    yield example.after.rstrip("\n")
    yield "```"
