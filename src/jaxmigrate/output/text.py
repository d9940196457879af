"""Shows a run to people, on a terminal or in a pipe, in the same words."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Protocol, TextIO

from jaxmigrate.model import Confidence, RunResult
from jaxmigrate.output.document import Block, document
from jaxmigrate.output.plain import PlainConsole
from jaxmigrate.output.summary import Mode, View

__all__ = ["Console", "Mode", "is_terminal", "make_console", "render"]


class Console(Protocol):
    """Somewhere to show blocks: a terminal or a pipe."""

    def show(self, blocks: Iterable[Block]) -> None:
        """Print `blocks` in order."""


def render(
    run: RunResult,
    *,
    console: Console,
    mode: Mode = Mode.DRY_RUN,
    verbosity: int = 0,
    threshold: Confidence = Confidence.LIKELY,
    patch: str | None = None,
    prefix: str = "",
    in_git: bool = True,
) -> None:
    """Print what `run` came to: diffs with reasons, sites left alone, failures, closing lines.

    See `View` for what the arguments mean.
    """
    console.show(document(run, View(mode, verbosity, threshold, patch, prefix, in_git)))


def make_console(color: bool | None, stream: TextIO) -> Console:
    """The console for `stream`: a terminal's where it is one or colour is asked for, else plain.

    `color` True colours a pipe too, for a pager; False keeps the layout of a terminal and leaves
    out its colours; None does as the terminal, NO_COLOR, FORCE_COLOR and TERM say.
    """
    if not is_terminal(color, stream, os.environ):
        return PlainConsole(stream)
    # rich takes longer to import than most files take to migrate, and a pipe has no use for it.
    from jaxmigrate.output.terminal import rich_terminal

    return rich_terminal(color, stream)


def is_terminal(color: bool | None, stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether `stream` gets the output of a terminal, as rich would decide it."""
    if color:
        return True
    if color is None and environ.get("TTY_COMPATIBLE") in ("0", "1"):
        return environ["TTY_COMPATIBLE"] == "1"
    if color is None and "FORCE_COLOR" in environ:
        return environ["FORCE_COLOR"] != ""
    return stream.isatty()
