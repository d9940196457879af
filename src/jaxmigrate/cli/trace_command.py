"""`jaxmigrate trace`: run a command, note the maps that let a None stand for anything."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from jaxmigrate.evidence.tracing import Traced

_DEFAULT = Path("jaxmigrate-trace.jsonl")
_UNPROVEN = 2

_EPILOG = """\b
Exit codes:
  that of COMMAND; 128 and the signal's number if a signal ended it
  1    COMMAND ended with 0, and --check found a call outside packages
  2    usage, or --check proves nothing: no JAX, or not all, was recorded
  126  COMMAND cannot be run
  127  COMMAND was not found
"""


@click.command(
    "trace",
    epilog=_EPILOG,
    # what stands behind the first word of COMMAND is COMMAND's
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command_", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=_DEFAULT,
    show_default=True,
    metavar="FILE",
    help="Where to save the trace.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Exit with 1 if a call outside packages met a None: a proof, once all are migrated.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Leave JAX's own rule in force; the call that fails is noted all the same.",
)
@click.option("--color/--no-color", default=None, help="Default: as the terminal can.")
@click.pass_context
def command(
    ctx: click.Context,
    command_: tuple[str, ...],
    output: Path,
    check: bool,
    strict: bool,
    color: bool | None,
) -> None:
    """Run COMMAND and note which calls map over several trees where the first has a None that
    stands opposite something else.

    Newer JAX refuses these calls. Under the trace they do on every JAX what they did up to 0.4.28,
    so that the run goes on and all of them are seen. COMMAND may use another Python (3.9 or newer)
    than jaxmigrate; its child processes are recorded too. Python that ignores PYTHONPATH (python -I,
    -E, -S; tox, unless it passes the variable) is not.

    The calls are listed on standard error; standard output is all COMMAND's.

    \b
    Examples:
      jaxmigrate trace -- pytest -n 4
      jaxmigrate trace -o train.jsonl -- python train.py --steps 10
      jaxmigrate run --evidence jaxmigrate-trace.jsonl
      jaxmigrate trace --check -- pytest
    """
    from jaxmigrate.evidence.trace_file import refuse_place, write_trace
    from jaxmigrate.evidence.tracing import CommandNotRun, trace
    from jaxmigrate.output.text import make_console
    from jaxmigrate.output.trace import Given, trace_document

    refuse_place(output)
    try:
        traced = trace(command_, Path.cwd(), strict=strict)
    except CommandNotRun as error:
        click.echo(f"jaxmigrate: {error}", err=True)
        ctx.exit(error.code)
    is_kept = not traced.jax and output.is_file() and output.stat().st_size > 0
    if not is_kept:
        write_trace(output, traced.hits, command=command_, exit_code=traced.exit_code)
    given = Given(str(output), check=check, is_kept=is_kept)
    make_console(color, sys.stderr).show(trace_document(traced, given))
    ctx.exit(_exit_code(traced, check=check))


def _exit_code(traced: Traced, *, check: bool) -> int:
    if traced.exit_code or not check:
        return traced.exit_code
    if traced.of_project or traced.of_others:
        return 1
    return 0 if traced.is_whole else _UNPROVEN
