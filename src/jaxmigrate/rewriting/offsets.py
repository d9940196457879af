"""Offsets in a text that was edited, told in terms of the text as it was."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from jaxmigrate.model import Span
from jaxmigrate.rewriting.splice import Edit


class OffsetMap:
    """Maps offsets of the newest text to those of the first one; a fresh map changes nothing.

    A place inside replaced text maps to the start of what it replaced.
    """

    def __init__(self, stages: tuple[tuple[Edit, ...], ...] = ()) -> None:
        self._stages = stages
        self._tables = [_table(edits) for edits in stages]

    @property
    def moves(self) -> bool:
        """Whether anything was edited."""
        return bool(self._stages)

    def after(self, edits: Sequence[Edit]) -> OffsetMap:
        """The map once `edits`, in order and given in the newest text, are made too."""
        return OffsetMap((*self._stages, tuple(edits)))

    def offset(self, offset: int, *, end: bool = False) -> int:
        """The first text's offset for one of the newest text; `end` if it ends a span."""
        for table in reversed(self._tables):
            offset = _back(table, offset, end)
        return offset

    def span(self, span: Span) -> Span:
        """The first text's span for one of the newest text."""
        start = self.offset(span.start)
        return Span(start, max(start, self.offset(span.end, end=True)))


_Row = tuple[int, int, int, int]


def _table(edits: Sequence[Edit]) -> list[_Row]:
    """Rows of new start, new end, old start, old end, in order."""
    rows: list[_Row] = []
    shift = 0
    for edit in edits:
        start = edit.span.start + shift
        rows.append((start, start + len(edit.text), edit.span.start, edit.span.end))
        shift += len(edit.text) - (edit.span.end - edit.span.start)
    return rows


def _back(table: list[_Row], offset: int, end: bool) -> int:
    index = bisect_right(table, (offset, float("inf"), 0, 0)) - 1
    if index < 0:
        return offset
    new_start, new_end, old_start, old_end = table[index]
    if offset >= new_end:
        return offset - new_end + old_end
    return old_end if end and offset > new_start else old_start
