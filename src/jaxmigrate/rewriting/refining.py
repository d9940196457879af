"""Takes an edit of a whole node apart into the places in it that really changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from jaxmigrate.model import Span
from jaxmigrate.rewriting.splice import Edit

_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)


def refined(edits: Sequence[Edit], text: str) -> list[Edit]:
    """Smaller edits of `text` that come to the same, so that places between them keep their offsets."""
    return [small for edit in edits for small in _parts(edit, text)]


def _parts(edit: Edit, text: str) -> Iterator[Edit]:
    old = _TOKEN.findall(text[edit.span.start : edit.span.end])
    new = _TOKEN.findall(edit.text)
    at_old = 0
    offset = edit.span.start
    for kind, start, end, new_start, new_end in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        offset += sum(map(len, old[at_old:start]))
        length = sum(map(len, old[start:end]))
        if kind != "equal":
            yield Edit(Span(offset, offset + length), "".join(new[new_start:new_end]))
        offset += length
        at_old = end
