"""Which files mention a name: a look at their text, before they are parsed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

_FEW: Final = 20
_SHARE: Final = 10


class Mentions:
    """The texts of a project's files by path, to be asked for names.

    A name that a tenth of them mention, and more than a few, says nothing of which of them uses what is
    meant: it is not looked for.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def __call__(self, names: Iterable[str]) -> list[str]:
        """The paths of the files whose text has one of the names in it, in order."""
        wanted = sorted(name for name in names if name and not name.startswith("__"))
        if not wanted:
            return []
        found = {
            path: {name for name in wanted if name in text} for path, text in self._texts.items()
        }
        counts = Counter(name for mentioned in found.values() for name in mentioned)
        most = max(_FEW, len(found) // _SHARE)
        telling = {name for name, count in counts.items() if count <= most}
        return [path for path, mentioned in found.items() if mentioned & telling]
