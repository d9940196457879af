"""The command line: click only, one module a command, each imported when it is called."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

import click

from jaxmigrate import __version__
from jaxmigrate.errors import UsageError

_COMMANDS = ("run", "trace", "list", "explain")
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
  jaxmigrate trace -- pytest        run it, note the calls that newer JAX refuses
  jaxmigrate explain none-prefix    what a codemod does, and why
"""


class _ReaderGone(Exception):
    """Whoever read standard output reads no more: what is left to print interests nobody."""


class _Interrupted(Exception):
    """The user pressed Ctrl-C."""


@contextmanager
def _ours() -> Iterator[None]:
    """Keep from click what it would deal with itself, the one by exit 1, the other by an empty line."""
    try:
        yield
    except BrokenPipeError as error:
        raise _ReaderGone from error
    except KeyboardInterrupt as error:
        raise _Interrupted from error


class _Commands(click.Group):
    """A group whose commands are imported when they are asked for."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _ours():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _ours():
            return super().invoke(ctx)

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
    """Run the command line and exit: 0 to 4 as README says, 130 if interrupted.

    As the program, without `arguments`, it ends the process at once; given them, it raises SystemExit.
    """
    if arguments is not None:
        sys.exit(_flushed(_exit_code(arguments)))
    # Syntax trees are many small objects that live to the end: looking for garbage among them is vain,
    # and taking apart what is in memory is a good part of a run's time.
    gc.disable()
    code = _flushed(_exit_code(None))
    os._exit(code)


def _exit_code(arguments: Sequence[str] | None) -> int:
    try:
        # --help and --version come back as their exit code too
        return cli.main(arguments, prog_name="jaxmigrate", standalone_mode=False) or 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (_Interrupted, click.Abort, KeyboardInterrupt):
        if sys.stderr.isatty():
            click.echo(err=True)  # behind the ^C that the terminal shows
        _say("interrupted; no file is left half-written")
        return _INTERRUPTED
    except _ReaderGone:
        return 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return _USAGE
    except click.ClickException as error:
        _say(_one_line(error))
        return _USAGE
    except UsageError as error:
        _say(str(error))
        return _USAGE


def _flushed(code: int) -> int:
    """Write out what is still to be printed; gives the exit code, which stands unless that fails."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _to_nowhere(sys.stdout)
    except OSError as error:
        _to_nowhere(sys.stdout)
        _say(f"the output cannot be written: {error.strerror}")
        code = code or _USAGE
    try:
        sys.stderr.flush()
    except OSError:
        _to_nowhere(sys.stderr)
    return code


def _to_nowhere(stream: TextIO) -> None:
    """Let what `stream` still holds go nowhere, so that nothing fails at it when it is closed."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _say(message: str) -> None:
    with suppress(OSError):  # nobody listens
        click.echo(f"jaxmigrate: {' '.join(message.split())}", err=True)


def _one_line(error: click.ClickException) -> str:
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if isinstance(error, click.NoSuchOption) and context is not None:
        allowed = [opt for p in context.command.get_params(context) for opt in p.opts]
        options = ", ".join(sorted(opt for opt in allowed if opt.startswith("--")))
        return f"{message} Options are {options}."
    if isinstance(context, click.Context) and isinstance(context.command, click.Group):
        return f"{message} Commands are {', '.join(_COMMANDS)}."
    return message
