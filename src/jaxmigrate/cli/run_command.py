"""`jaxmigrate run`: find, rewrite, show; write only when told to."""

from __future__ import annotations

from pathlib import Path

import click

from jaxmigrate.cli.configuration import Configured

_EPILOG = """\b
Exit codes, the highest that applies:
  0  done
  1  --check found something to edit, or a call of the evidence that is left
  2  usage or configuration
  3  some file could not be processed (each is named)
  4  a codemod or a safety gate failed on some file
  130  interrupted
"""


@click.command("run", cls=Configured, epilog=_EPILOG)
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--write", is_flag=True, help="Edit the files.")
@click.option("--patch", type=click.Path(path_type=Path), help="Save one patch for git apply.")
@click.option("--patch-dir", type=click.Path(path_type=Path), help="Save one patch a file there.")
@click.option("--check", is_flag=True, help="Exit with 1 if there is anything to edit.")
@click.option("--select", multiple=True, metavar="NAMES", help="Run these codemods only.")
@click.option("--ignore", multiple=True, metavar="NAMES", help="Leave these codemods out.")
@click.option(
    "--confidence",
    type=click.Choice(["proven", "likely", "possible"]),
    default="likely",
    show_default=True,
    help="How sure to be before editing.",
)
@click.option(
    "--evidence",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A trace, or the output of a failing run: the calls that it names are proven.",
)
@click.option(
    "--target-jax",
    metavar="VERSION",
    help="Lowest JAX the result must run on. Default: what the project's metadata admits, "
    "else the newest known.",
)
@click.option(
    "--style",
    type=click.Choice(["inline", "helper"]),
    default="inline",
    show_default=True,
    help="Guards in the calls, or one private helper function in each module.",
)
@click.option(
    "--sentinel",
    metavar="EXPR",
    help="Name the placeholders of trees: EXPR in the place of None, as optax.MaskedNode().",
)
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave these files out.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), help="Processes to use. Default: one a core."
)
@click.option("--allow-dirty", is_flag=True, help="Write to files with uncommitted changes too.")
@click.option("-q", "--quiet", is_flag=True, help="Say less: failures and the summary only.")
@click.option("-v", "--verbose", is_flag=True, help="Say more: every site, with its evidence.")
@click.option("--color/--no-color", default=None, help="Colours; default: on a terminal.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option(
    "--stdin-filename",
    metavar="NAME",
    help="What to call standard input, given as the path '-'.",
)
@click.pass_context
def command(ctx: click.Context, /, **options: object) -> None:
    """Show, save or make the edits that PATHS need. PATHS default to the current folder.

    Without --write nothing is edited. The path '-' reads standard input and writes the result to
    standard output.

    \b
    Examples:
      jaxmigrate run
      jaxmigrate run src tests --write
      jaxmigrate run --confidence possible --patch guards.patch
      jaxmigrate run --select tree-aliases --target-jax 0.4.20
      jaxmigrate run --evidence pytest.log
      jaxmigrate run --sentinel "optax.MaskedNode()"
      jaxmigrate run --check --format json
    """
    from jaxmigrate.cli.running import Options, execute

    ctx.exit(execute(Options.of(options)))
