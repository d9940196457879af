"""Ruff's formatter, asked about a few lines of one file.

A formatter is not what this project is for, so the one that most of its users run is asked: about the
statement as it was, to see whether the project keeps to such a style, then about the new one.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jaxmigrate.sources.style import Style

_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Lines:
    """From a line and column to a line and column of a text, all from 1, columns in characters."""

    first: int
    first_column: int
    last: int
    last_column: int

    def __str__(self) -> str:
        """As ruff's `--range` takes it."""
        return f"{self.first}:{self.first_column}-{self.last}:{self.last_column}"


def formatted(text: str, lines: Lines, style: Style) -> str | None:
    """The text with the statements at `lines` formatted; None if ruff cannot, or is not there."""
    own = [f"--config={style.ruff_config}"] if style.ruff_config is not None else None
    answer = _ask(text, lines, own) if own is not None else None
    # A configuration may be for another ruff than ours; its width and indentation still hold.
    return _ask(text, lines, _isolated(style)) if answer is None else answer


def _ask(text: str, lines: Lines, options: list[str]) -> str | None:
    command = [_ruff(), "format", "--quiet", "--no-cache", f"--range={lines}", *options, "-"]
    try:
        answer = subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.decode() if answer.returncode == 0 else None


def _isolated(style: Style) -> list[str]:
    return [
        "--isolated",
        f"--config=line-length={style.width}",
        f"--config=indent-width={len(style.indent.expandtabs(4))}",
        f"--config=format.indent-style='{'tab' if style.indent == chr(9) else 'space'}'",
        "--config=format.quote-style='preserve'",
    ]


@lru_cache(maxsize=1)
def _ruff() -> str:
    try:
        from ruff.__main__ import find_ruff_bin  # type: ignore[import-untyped]
    except ImportError:
        return "ruff"
    try:
        return str(Path(find_ruff_bin()))
    except FileNotFoundError:
        return "ruff"
