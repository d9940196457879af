"""What is a tree, and which placeholders are in one."""

from __future__ import annotations

from collections.abc import Iterable

from jaxmigrate.analysis.placeholders.things import ANY, Box, Node, Placeholder


class Marks:
    """The nodes of what is a tree. What is in the trees is found out when all has flowed."""

    def __init__(self) -> None:
        self._trees: dict[Node, None] = {}
        self._made: dict[Node, None] = {}

    def tree(self, node: Node) -> None:
        """What is at a node is a tree: the placeholders in its containers are placeholders in a tree."""
        self._trees[node] = None

    def part(self, node: Node) -> None:
        """What is at a node becomes a part of a tree: itself and what is in it, whatever JAX sees."""
        self._made[node] = None

    def found(self) -> set[Placeholder]:
        """The placeholders in trees."""
        tops = {t: None for n in self._trees for t in n.things if isinstance(t, Box)}
        parts = [n for box in tops if not box.sealed for n in (*box.fields.values(), box.rest)]
        return _within(parts, seen_by_jax=True) | _within(self._made, seen_by_jax=False)


def _within(nodes: Iterable[Node], *, seen_by_jax: bool) -> set[Placeholder]:
    """The placeholders at nodes and in the containers there."""
    found: set[Placeholder] = set()
    visited: set[Node | Box] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node in visited:
            continue
        visited.add(node)
        for thing in node.things:
            if isinstance(thing, Placeholder):
                found.add(thing)
            elif isinstance(thing, Box) and thing not in visited:
                visited.add(thing)
                parts = [*thing.fields.items(), (ANY, thing.rest)]
                waiting.extend(n for key, n in parts if not seen_by_jax or thing.shows(key))
    return found
