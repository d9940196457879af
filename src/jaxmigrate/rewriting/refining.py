"""Takes an edit of a whole node apart into the places in it that really changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from jaxmigrate.model import Span
from jaxmigrate.rewriting.splice import Edit

_MOST: Final = 250_000
"""Pairs of tokens beyond which what lies between the first and the last change is taken whole."""

_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)


def refined(edits: Sequence[Edit], text: str) -> list[Edit]:
    """Smaller edits of `text` that come to the same, so that places between them keep their offsets."""
    return [small for edit in edits for small in _parts(edit, text)]


def _parts(edit: Edit, text: str) -> Iterator[Edit]:
    old = _TOKEN.findall(text[edit.span.start : edit.span.end])
    new = _TOKEN.findall(edit.text)
    ahead, behind = _common(old, new)
    start = edit.span.start + sum(map(len, old[:ahead]))
    middle_old, middle_new = old[ahead : len(old) - behind], new[ahead : len(new) - behind]
    if len(middle_old) * len(middle_new) > _MOST:
        length = sum(map(len, middle_old))
        yield Edit(Span(start, start + length), "".join(middle_new))
    else:
        yield from _compared(middle_old, middle_new, start)


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many tokens the two begin with alike, and how many they end with alike beyond those."""
    limit = min(len(old), len(new))
    ahead = next((n for n in range(limit) if old[n] != new[n]), limit)
    rest = limit - ahead
    return ahead, next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)


def _compared(old: Sequence[str], new: Sequence[str], offset: int) -> Iterator[Edit]:
    for kind, start, end, new_start, new_end in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        length = sum(map(len, old[start:end]))
        if kind != "equal":
            yield Edit(Span(offset, offset + length), "".join(new[new_start:new_end]))
        offset += length
