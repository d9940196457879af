"""Finds what changed inside lines, word by word, so that a reader's eye goes there first."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(r"\w+|[^\S\n]+|\n|[^\w\s]")

# Beyond this many pairs of words a block is too large to be read word by word, and slow to compare.
_MAX_PAIRS = 1_000_000

# Lines with less in common than this are two different lines; marking words in them is noise.
_MIN_RATIO = 0.5


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a line, and whether it is what changed."""

    text: str
    changed: bool


Line = tuple[Stretch, ...]


def emphasised(old: Sequence[str], new: Sequence[str]) -> tuple[list[Line], list[Line]]:
    """The lines of both sides of a change, each cut where changed words begin and end."""
    old_tokens, new_tokens = _tokens(old), _tokens(new)
    if not old or not new or len(old_tokens) * len(new_tokens) > _MAX_PAIRS:
        return _whole(old), _whole(new)
    matcher = difflib.SequenceMatcher(None, old_tokens, new_tokens, autojunk=False)
    if matcher.ratio() < _MIN_RATIO:
        return _whole(old), _whole(new)
    codes = matcher.get_opcodes()
    old_ranges = [range(code[1], code[2]) for code in codes if code[0] != "equal"]
    new_ranges = [range(code[3], code[4]) for code in codes if code[0] != "equal"]
    return (
        _cut(old_tokens, _joined(old_tokens, old_ranges)),
        _cut(new_tokens, _joined(new_tokens, new_ranges)),
    )


def _tokens(lines: Sequence[str]) -> list[str]:
    return _TOKEN.findall("\n".join(lines))


def _whole(lines: Sequence[str]) -> list[Line]:
    return [(Stretch(line, False),) if line else () for line in lines]


def _joined(tokens: Sequence[str], ranges: Sequence[range]) -> set[int]:
    """The changed words, and the blanks that stand between two of them; other blanks are noise."""
    changed = {index for each in ranges for index in each if not tokens[index].isspace()}
    between = {
        index
        for index, token in enumerate(tokens)
        if token.isspace() and index - 1 in changed and index + 1 in changed
    }
    return changed | between


def _cut(tokens: Sequence[str], changed: set[int]) -> list[Line]:
    lines: list[list[Stretch]] = [[]]
    for index, token in enumerate(tokens):
        if token == "\n":
            lines.append([])
        else:
            lines[-1].append(Stretch(token, index in changed))
    return [tuple(_merged(line)) for line in lines]


def _merged(stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    """Neighbours that are alike as one."""
    held: Stretch | None = None
    for stretch in stretches:
        if held is not None and held.changed == stretch.changed:
            held = Stretch(held.text + stretch.text, held.changed)
            continue
        if held is not None:
            yield held
        held = stretch
    if held is not None:
        yield held
