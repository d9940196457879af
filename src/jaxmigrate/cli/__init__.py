"""The command line: click only, one module a command, each imported when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from jaxmigrate import __version__
from jaxmigrate.errors import UsageError

_COMMANDS = ("run", "list", "explain")
_USAGE = 2
_INTERRUPTED = 130

_HELP = """Migrate Python code bases to today's JAX.

Finds the calls that newer JAX refuses or no longer has, and rewrites them. Nothing is written unless
you say so.

\b
Examples:
  jaxmigrate run                    show what would change below this folder
  jaxmigrate run src --write        edit the files
  jaxmigrate run --patch fix.patch  save a patch for git apply
  jaxmigrate run --check            exit 1 if there is anything to edit
  jaxmigrate explain none-prefix    what a codemod does, and why
"""


class _Commands(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"jaxmigrate.cli.{cmd_name}_command")
        command = module.command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Commands, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="jaxmigrate")
def cli() -> None:
    """See `_HELP`."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 to 4 as README says, 130 if interrupted."""
    try:
        code = cli.main(arguments, prog_name="jaxmigrate", standalone_mode=False)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted; no file is left half-written")
        code = _INTERRUPTED
    except BrokenPipeError:
        # The reader went away: what is left to print interests nobody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except click.ClickException as error:
        _say(_one_line(error))
        code = _USAGE
    except UsageError as error:
        _say(str(error))
        code = _USAGE
    _leave(code or 0)


def _leave(code: int) -> NoReturn:
    """Exit without taking apart what is in memory, which is a good part of a run's time."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass
    os._exit(code)


def _say(message: str) -> None:
    click.echo(f"jaxmigrate: {message}", err=True)


def _one_line(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    if isinstance(error, click.NoSuchOption) and context is not None:
        allowed = [opt for p in context.command.get_params(context) for opt in p.opts]
        options = ", ".join(sorted(opt for opt in allowed if opt.startswith("--")))
        return f"{message} Options are {options}."
    if isinstance(context, click.Context) and isinstance(context.command, click.Group):
        return f"{message} Commands are {', '.join(_COMMANDS)}."
    return message
