"""Names that a file may give to tree maps: a quick look at its text, before anything is parsed.

It may find too many, never too few of the plain forms; what a name really means is resolved later.
"""

from __future__ import annotations

import re

from jaxmigrate.analysis.calls import TREE_MAP_WORDS

_WORD = "|".join(sorted(map(re.escape, TREE_MAP_WORDS), key=len, reverse=True))
_ALIAS = re.compile(
    rf"(?P<assigned>\b\w+)\s*=\s*(?:[\w.]*\bpartial\(\s*)?[\w.]*\b(?:{_WORD})\s*(?:[,)#]|$)"
    rf"|\b(?:{_WORD})\s+as\s+(?P<imported>\w+)",
    re.MULTILINE,
)


def alias_names(text: str) -> set[str]:
    """Every name that the text seems to bind to a tree map or a partial of one."""
    return {match["assigned"] or match["imported"] for match in _ALIAS.finditer(text)}
