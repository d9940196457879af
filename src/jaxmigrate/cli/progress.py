"""A progress bar on standard error, on a terminal, for what takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_SECONDS = 1.0


@contextmanager
def progress() -> Iterator[Callable[[int, int], None]]:
    """A function to tell how many files are done, and of how many; it shows a bar when it is time."""
    bar = _Bar()
    try:
        yield bar.tell
    finally:
        bar.close()


class _Bar:
    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._wanted = sys.stderr.isatty()
        self._shown: tuple[Progress, TaskID] | None = None

    def tell(self, done: int, of: int) -> None:
        if not self._wanted or time.monotonic() - self._begun < _PATIENCE_SECONDS:
            return
        if self._shown is None:
            self._shown = _started(of)
        shown, task = self._shown
        shown.update(task, completed=done)

    def close(self) -> None:
        if self._shown is not None:
            self._shown[0].stop()


def _started(total: int) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import Progress

    shown = Progress(console=Console(stderr=True), transient=True)
    shown.start()
    return shown, shown.add_task("files", total=total)
