"""Tells of a call that is found no more whether it is guarded by now, or gone.

Said only where nothing that is still unguarded could be that call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from jaxmigrate.evidence.hits import Hit, HitKind
from jaxmigrate.evidence.nodes import Node, Nodes

_NAMES: Final = frozenset(
    {"tree_map", "tree_multimap", "tree_map_with_path", "map", "map_with_path", "flatten_up_to"}
)
"""The last words of what maps trees; a migration may have put one for another."""


class Mended:
    """What is guarded in the files by now; each guard stands for one call of the evidence."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._stands_for: dict[Node, tuple[int, int | None]] = {}

    def are_all_guarded(self, nodes: Iterable[Node]) -> bool:
        """Whether None is a leaf in all of these."""
        return all(self._is_guarded(node) for node in nodes)

    def has(self, hit: Hit, path: str, inside: Sequence[Node]) -> bool:
        """Whether the call of a hit, whose line reads otherwise now, is guarded or gone.

        `inside` are the nodes of the file at `path` that stand in the function of the hit.
        """
        if hit.kind is HitKind.REMOVED_NAME:
            function = hit.function.rpartition(".")[2]
            return not inside and function in self._nodes.functions(path)
        alike = list(self._alike(hit, path, inside))
        if not all(self._is_guarded(node) for node in alike):
            return False
        statements = {self._nodes.statement(node) for node in alike}
        within = (node for node in inside if self._nodes.statement(node) in statements)
        return self.are_all_guarded(within) and self._claim(hit, alike)

    def _is_guarded(self, node: Node) -> bool:
        return node.position in self._nodes.guarded(node.position[0])

    def _alike(self, hit: Hit, path: str, inside: Sequence[Node]) -> Iterator[Node]:
        """The nodes that stand behind the same words as a map in the line of the hit."""
        lines = self._nodes.lines(path)
        for node in inside:
            line = lines.line_text(node.line)
            before = line[: node.column - 1].lstrip()
            called = re.match(r"[\w.]+", line[node.column - 1 :])
            found = re.match(rf"{re.escape(before)}([\w.]+)\(", hit.text.strip())
            if found is None:
                continue
            same = called is not None and called[0] == found[1]
            if same or found[1].rpartition(".")[2] in _NAMES:
                yield node

    def _claim(self, hit: Hit, alike: Iterable[Node]) -> bool:
        """Whether one of the nodes stands for the call of this hit, and for no other."""
        call = (hit.line, hit.column)
        return any(self._stands_for.setdefault(node, call) == call for node in alike)
