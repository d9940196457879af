"""The lines of a traceback that name a place, in every form that Python, pytest and IPython print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_PYTHON: Final = re.compile(r'\s*File "(.+)", line (\d+)(?:, in (.+))?$')
_LOCATION: Final = re.compile(r"((?:[A-Za-z]:)?[^:]+\.pyw?):(\d+):(?: (.*))?$")
_IPYTHON: Final = re.compile(r"File (.+?):(\d+)(?:, in ((?:[\w.]|<[^>]*>)+).*)?$")
_CELL: Final = re.compile(r"(Cell In ?\[\d+\]), line (\d+)(?:, in ((?:[\w.]|<[^>]*>)+).*)?$")
_IPYTHON_7: Final = re.compile(
    r"(.+\.pyw?|<ipython-input-[^>]*>|(?:Input|Cell) In \[\d+\]),? in (\w+|<[^>]*>)(?:\(.*)?$"
)
_ARROW: Final = re.compile(r"-+> (\d+)(?: (.*))?$")
_EXCERPT: Final = re.compile(r">( .*)$")
_DEF: Final = re.compile(r"\s*(?:async )?def (\w+)\(")


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in a traceback; `line` is 0 where the source below it is still to tell."""

    path: str
    line: int
    function: str = ""
    text: str = ""


def python_frame(line: str) -> Frame | None:
    """`File "update.py", line 8, in step`."""
    found = _PYTHON.match(line)
    return Frame(found[1], int(found[2]), found[3] or "") if found else None


def ipython_frame(line: str) -> Frame | None:
    """`File ~/update.py:8, in step(p)`, `Cell In[3], line 2`, and what IPython 7 had for them."""
    if found := _IPYTHON.match(line) or _CELL.match(line):
        return Frame(found[1], int(found[2]), found[3] or "")
    found = _IPYTHON_7.match(line)
    return Frame(found[1], 0, found[2]) if found else None


def location(line: str) -> tuple[Frame, str] | None:
    """pytest's `update.py:8: in step`: the place, and what stands behind it."""
    found = _LOCATION.match(line)
    return (Frame(found[1].strip(), int(found[2])), found[3] or "") if found else None


def arrow(line: str) -> tuple[int, str] | None:
    """The line of an excerpt that IPython marks with an arrow: its number and its source."""
    found = _ARROW.match(line)
    return (int(found[1]), (found[2] or "").strip()) if found else None


def marked(line: str) -> str | None:
    """The source of the line that pytest marks in an excerpt."""
    found = _EXCERPT.match(line)
    return found[1].strip() if found else None


def defined(line: str) -> str | None:
    """The function whose `def` stands on a line of source."""
    found = _DEF.match(line)
    return found[1] if found else None
