"""Names that files may give to tree maps: a quick look at their text, before anything is parsed.

It may find too many, never too few of the plain forms; what a name really means is resolved later.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from jaxmigrate.analysis.calls import TREE_MAP_WORDS


def _assigned(words: str) -> re.Pattern[str]:
    start = r"^[ \t]*(\w+)[ \t]*=\s*(?:[\w.]*\bpartial\(\s*)?"
    return re.compile(rf"{start}((?:\w+\.)*(?:{words}))[ \t]*(?:[,)#]|$)", re.MULTILINE)


def _imported(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b({words})[ \t]+as[ \t]+(\w+)")


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_WORD: Final = _any_of(TREE_MAP_WORDS)
_ASSIGNED: Final = _assigned(_WORD)
_IMPORTED: Final = _imported(_WORD)


def alias_names(text: str) -> set[str]:
    """Every name that the text seems to bind to a tree map, to a partial of one, or to such a name."""
    direct, followed = _direct(_normal(text))
    return direct | _followed(_normal(text), followed)


def project_aliases(texts: Collection[str]) -> set[str]:
    """The names that any of the texts gives to tree maps, by way of each other too."""
    plain = [_normal(text) for text in texts]
    found: set[str] = set()
    new: set[str] = set()
    for text in plain:
        direct, followed = _direct(text)
        found |= direct
        new |= followed
    while new:
        more = {
            name
            for text in plain
            if (here := {word for word in new if word in text})
            for name in _followed(text, here)
        }
        new = more - found
        found |= more
    return found


def _normal(text: str) -> str:
    """The text with identifiers spelled as Python takes them."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _direct(text: str) -> tuple[set[str], set[str]]:
    """The names bound to something called as a tree map is, and those of them to be followed further.

    Much else is called `map`: what is bound to that alone is not followed.
    """
    found: set[str] = set()
    followed: set[str] = set()
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if "map" in line or "partial(" in line:
            for name, value in _bound(lines, number, _ASSIGNED, _IMPORTED):
                found.add(name)
                if "tree" in value:
                    followed.add(name)
    return found, followed


def _followed(text: str, names: Collection[str]) -> set[str]:
    """The names that the text binds to one of `names`, or to one of those in turn."""
    found: set[str] = set()
    new = set(names)
    lines = text.split("\n") if new else []
    while new:
        words = _any_of(new)
        assigned, imported = _assigned(words), _imported(words)
        bound = {
            name
            for number, line in enumerate(lines)
            if "=" in line or " as " in line
            for name, _ in _bound(lines, number, assigned, imported)
        }
        new = bound - found.union(names)
        found |= new
    return found


def _bound(
    lines: Sequence[str], number: int, assigned: re.Pattern[str], imported: re.Pattern[str]
) -> Iterator[tuple[str, str]]:
    """The names that a line binds, each with what it stands for."""
    line = lines[number]
    # What a partial binds may stand on the line below it.
    below = line.rstrip().endswith("(") and number + 1 < len(lines)
    yield from assigned.findall(f"{line}\n{lines[number + 1]}" if below else line)
    for value, name in imported.findall(line):
        yield name, value
