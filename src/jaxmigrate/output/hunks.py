"""Finds which lines of a file differ and groups them into hunks, be they text or bytes."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

CONTEXT = 3

# Above this many pairs of lines difflib is let ignore very frequent ones, to stay near linear.
_EXACT_PAIRS = 1_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """Lines `old` that became lines `new`; one of the two may be empty. Indices count from 0."""

    old: range
    new: range


@dataclass(frozen=True, slots=True)
class HunkLine:
    """One line of a hunk: its sign (` `, `-` or `+`) and its index on the sides that have it."""

    sign: str
    old: int | None
    new: int | None


@dataclass(frozen=True, slots=True)
class Hunk:
    """Changes that stand close together; `old` and `new` include the context around them."""

    old: range
    new: range
    changes: tuple[Change, ...]

    def lines(self) -> Iterator[HunkLine]:
        """Every line of the hunk in the order of a unified diff."""
        at_old, at_new = self.old.start, self.new.start
        for change in self.changes:
            yield from _context(at_old, at_new, change.old.start - at_old)
            yield from (HunkLine("-", index, None) for index in change.old)
            yield from (HunkLine("+", None, index) for index in change.new)
            at_old, at_new = change.old.stop, change.new.stop
        yield from _context(at_old, at_new, self.old.stop - at_old)


def structured_hunks(
    before_lines: Sequence[Hashable], after_lines: Sequence[Hashable]
) -> Iterator[Hunk]:
    """The hunks, with three lines of context, that turn `before_lines` into `after_lines`."""
    group: list[Change] = []
    for change in changes(before_lines, after_lines):
        if group and change.old.start - group[-1].old.stop > 2 * CONTEXT:
            yield _hunk(group, len(before_lines))
            group = []
        group.append(change)
    if group:
        yield _hunk(group, len(before_lines))


def changes(before: Sequence[Hashable], after: Sequence[Hashable]) -> Iterator[Change]:
    """Where the two differ, in order. Between two changes there is always an equal line.

    Lines that are unique on both sides cut the files into short stretches first, so that a large
    file with an edit at each end costs no more than its length.
    """
    old, new = _trimmed(before, after, range(len(before)), range(len(after)))
    at_old, at_new = old.start, new.start
    for anchor_old, anchor_new in _anchors(before, after, old, new):
        yield from _differences(before, after, range(at_old, anchor_old), range(at_new, anchor_new))
        at_old, at_new = anchor_old + 1, anchor_new + 1
    yield from _differences(before, after, range(at_old, old.stop), range(at_new, new.stop))


def _hunk(group: Sequence[Change], old_length: int) -> Hunk:
    first, last = group[0], group[-1]
    leading = min(CONTEXT, first.old.start)
    trailing = min(CONTEXT, old_length - last.old.stop)
    return Hunk(
        range(first.old.start - leading, last.old.stop + trailing),
        range(first.new.start - leading, last.new.stop + trailing),
        tuple(group),
    )


def _context(at_old: int, at_new: int, count: int) -> Iterator[HunkLine]:
    return (HunkLine(" ", at_old + step, at_new + step) for step in range(count))


def _trimmed(
    before: Sequence[Hashable], after: Sequence[Hashable], old: range, new: range
) -> tuple[range, range]:
    """`old` and `new` without the lines that are equal at their beginning and at their end."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and before[old[head]] == after[new[head]]:
        head += 1
    tail = 0
    while tail < shorter - head and before[old[-1 - tail]] == after[new[-1 - tail]]:
        tail += 1
    return (
        range(old.start + head, old.stop - tail),
        range(new.start + head, new.stop - tail),
    )


def _anchors(
    before: Sequence[Hashable], after: Sequence[Hashable], old: range, new: range
) -> list[tuple[int, int]]:
    """Pairs of equal lines, unique on both sides: the most that stand in the same order."""
    old_counts = Counter(before[index] for index in old)
    new_counts = Counter(after[index] for index in new)
    places = {after[index]: index for index in new if new_counts[after[index]] == 1}
    pairs = [
        (index, places[before[index]])
        for index in old
        if old_counts[before[index]] == 1 and before[index] in places
    ]
    return _longest_rise(pairs)


def _longest_rise(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of `pairs` whose second numbers rise (patience sorting)."""
    tops: list[int] = []
    top_pairs: list[int] = []
    previous: list[int] = []
    for position, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        previous.append(top_pairs[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [value]
        top_pairs[pile : pile + 1] = [position]
    rise: list[tuple[int, int]] = []
    position = top_pairs[-1] if top_pairs else -1
    while position >= 0:
        rise.append(pairs[position])
        position = previous[position]
    return rise[::-1]


def _differences(
    before: Sequence[Hashable], after: Sequence[Hashable], old: range, new: range
) -> Iterator[Change]:
    old, new = _trimmed(before, after, old, new)
    if not old and not new:
        return
    matcher = difflib.SequenceMatcher(
        None,
        [before[index] for index in old],
        [after[index] for index in new],
        autojunk=len(old) * len(new) > _EXACT_PAIRS,
    )
    for tag, old_start, old_stop, new_start, new_stop in matcher.get_opcodes():
        if tag != "equal":
            yield Change(
                range(old.start + old_start, old.start + old_stop),
                range(new.start + new_start, new.start + new_stop),
            )
