"""Names that a file may give to tree maps: a quick look at its text, before anything is parsed.

It may find too many, never too few of the plain forms; what a name really means is resolved later.
"""

from __future__ import annotations

import re

from jaxmigrate.analysis.calls import TREE_MAP_WORDS

_WORD = "|".join(sorted(map(re.escape, TREE_MAP_WORDS), key=len, reverse=True))
_ASSIGNED = re.compile(
    rf"^[ \t]*(\w+)[ \t]*=\s*(?:[\w.]*\bpartial\(\s*)?(?:\w+\.)*(?:{_WORD})[ \t]*(?:[,)#]|$)",
    re.MULTILINE,
)
_IMPORTED = re.compile(rf"\b(?:{_WORD})[ \t]+as[ \t]+(\w+)")


def alias_names(text: str) -> set[str]:
    """Every name that the text seems to bind to a tree map or a partial of one."""
    lines = text.split("\n")
    found: set[str] = set()
    for number, line in enumerate(lines):
        if "map" in line or "partial(" in line:
            # What a partial binds may stand on the line below it.
            both = f"{line}\n{lines[number + 1]}" if line.rstrip().endswith("(") else line
            found.update(_ASSIGNED.findall(both), _IMPORTED.findall(line))
    return found
