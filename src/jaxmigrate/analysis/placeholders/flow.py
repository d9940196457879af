"""Values flow from node to node until nothing new arrives anywhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from jaxmigrate.analysis.placeholders.things import (
    ANY,
    Box,
    Key,
    Leaf,
    Node,
    Placeholder,
    Thing,
    Unseen,
)

_MOST_STEPS: Final = 10_000_000
"""Arrivals beyond which a project's flow is not followed any further."""

Listener: TypeAlias = Callable[[Thing], None]


class Flow:
    """Nodes, and what is to happen when a thing arrives at one."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._waiting: deque[tuple[Listener, Thing]] = deque()
        self._steps = 0

    def node(self, *things: Thing) -> Node:
        """A new node that holds `things`."""
        node = Node()
        for thing in things:
            self.add(node, thing)
        return node

    def add(self, node: Node, thing: Thing) -> None:
        """Let a thing arrive at a node."""
        if thing in node.things:
            return
        if not node.things:
            self.nodes.append(node)
        node.things[thing] = None
        self._waiting.extend((listener, thing) for listener in node.listeners)

    def listen(self, node: Node, listener: Listener) -> None:
        """Call `listener` with everything that is or will be at a node."""
        node.listeners.append(listener)
        self._waiting.extend((listener, thing) for thing in list(node.things))

    def flow(self, source: Node, target: Node) -> None:
        """Whatever is at `source` is at `target` too."""
        if source is target or target in source.targets:
            return
        source.targets.add(target)
        self.listen(source, lambda thing: self.add(target, thing))

    def flow_unless_placeholder(self, source: Node, target: Node) -> None:
        """The same for all that is no placeholder."""

        def passed(thing: Thing) -> None:
            if not isinstance(thing, Placeholder):
                self.add(target, thing)

        self.listen(source, passed)

    def solve(self) -> None:
        """Let everything flow, unless it is too much to follow."""
        while self._waiting and self._steps < _MOST_STEPS:
            self._steps += 1
            listener, thing = self._waiting.popleft()
            listener(thing)

    @property
    def is_settled(self) -> bool:
        """Whether everything has arrived where it goes."""
        return not self._waiting

    def deep(self, node: Node, listener: Listener, *, seen_by_jax: bool = False) -> None:
        """Call `listener` with what is at a node and in all containers there.

        `seen_by_jax` leaves out what JAX does not see into.
        """
        visited: set[Box] = set()

        def arrived(thing: Thing) -> None:
            listener(thing)
            if not isinstance(thing, Box) or thing in visited:
                return
            visited.add(thing)
            if seen_by_jax and thing.sealed:
                return
            thing.watch(lambda key, part: watched(thing, key, part))

        def watched(box: Box, key: Key, part: Node) -> None:
            if not seen_by_jax or box.sees(key) or (key is ANY and box.cls is None):
                self.listen(part, arrived)

        self.listen(node, arrived)

    def load(self, owner: Node, key: Key, target: Node) -> None:
        """`target` is the part at `key` of what is at `owner`."""

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Box):
                if key is ANY:
                    thing.watch(lambda _, part: self.flow(part, target))
                else:
                    self.flow(thing.field(key), target)
                    self.flow(thing.rest, target)
            elif isinstance(thing, Leaf | Unseen):
                self.add(target, thing)

        self.listen(owner, arrived)
