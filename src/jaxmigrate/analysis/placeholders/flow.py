"""Values flow from node to node until nothing new arrives anywhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
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

_MOST_STEPS: Final = 2_000_000
"""Arrivals beyond which a project's flow is not followed any further."""

Listener: TypeAlias = Callable[[Thing], None]


class Flow:
    """Nodes, and what is to happen when a thing arrives at one.

    A node with things that its targets and listeners have not got waits for its turn, and so does a
    listener that came late for what had arrived before.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._waiting: deque[Node] = deque()
        self._late: deque[tuple[Listener, Iterable[Thing]]] = deque()
        self._holders: dict[Thing, Node] = {}
        self._gathered: dict[Node, Node] = {}
        self._steps = 0

    def node(self, *things: Thing) -> Node:
        """A new node that holds `things`."""
        node = Node()
        for thing in things:
            self.add(node, thing)
        return node

    def holder(self, box: Box) -> Node:
        """The one node that holds a box and nothing else; nothing is to flow into it."""
        if box not in self._holders:
            self._holders[box] = self.node(box)
        return self._holders[box]

    def add(self, node: Node, thing: Thing) -> None:
        """Let a thing arrive at a node."""
        if thing in node.known:
            return
        if not node.things and not node.is_derived:
            self.nodes.append(node)
        node.things[thing] = None
        node.known.add(thing)
        if not node.fresh:
            self._waiting.append(node)
        node.fresh.append(thing)

    def listen(self, node: Node, listener: Listener) -> None:
        """Call `listener` with everything that is or will be at a node."""
        node.listeners.append(listener)
        known = list(node.things)[: len(node.things) - len(node.fresh)]
        if known:
            self._late.append((listener, known))

    def flow(self, source: Node, target: Node) -> None:
        """Whatever is at `source` is at `target` too."""
        if source is target or target in source.targets:
            return
        source.targets[target] = None
        if not source.known <= target.known:
            for thing in source.things:
                self.add(target, thing)

    def flow_unless_placeholder(self, source: Node, target: Node) -> None:
        """The same for all that is no placeholder."""

        def passed(thing: Thing) -> None:
            if not isinstance(thing, Placeholder):
                self.add(target, thing)

        self.listen(source, passed)

    def solve(self) -> None:
        """Let everything flow, unless it is too much to follow."""
        while not self.is_settled and self._steps < _MOST_STEPS:
            if self._late:
                listener, things = self._late.popleft()
                self._tell([listener], things)
            else:
                self._pass_on(self._waiting.popleft())

    def _pass_on(self, node: Node) -> None:
        fresh, node.fresh = node.fresh, []
        self._steps += len(fresh) * len(node.targets)
        listeners = list(node.listeners)
        at_once = set(fresh)
        for target in node.targets:
            if not at_once <= target.known:
                for thing in fresh:
                    self.add(target, thing)
        self._tell(listeners, fresh)

    def _tell(self, listeners: Iterable[Listener], things: Iterable[Thing]) -> None:
        for listener in listeners:
            for thing in things:
                self._steps += 1
                listener(thing)

    @property
    def is_settled(self) -> bool:
        """Whether everything has arrived where it goes."""
        return not self._waiting and not self._late

    def deep(self, node: Node, listener: Listener, *, seen_by_jax: bool = False) -> None:
        """Call `listener` with what is at a node and in all containers there.

        `seen_by_jax` leaves out what JAX does not see into.
        """
        gathered = Node(is_derived=True)
        self._gather(gathered, seen_by_jax)
        self.flow(node, gathered)
        self.listen(gathered, listener)

    def flow_all(self, source: Node, target: Node) -> None:
        """Whatever is at `source` and in all containers there is at `target` too."""
        if target not in self._gathered:
            self._gathered[target] = Node(is_derived=True)
            self._gather(self._gathered[target], seen_by_jax=False)
            self.flow(self._gathered[target], target)
        self.flow(source, self._gathered[target])

    def _gather(self, gathered: Node, seen_by_jax: bool) -> None:
        """Let the parts of all containers at a node be at the node too."""

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Box):
                thing.watch(lambda key, part: watched(thing, key, part))

        def watched(box: Box, key: Key, part: Node) -> None:
            if not seen_by_jax or box.shows(key):
                self.flow(part, gathered)

        self.listen(gathered, arrived)

    def load(self, owner: Node, key: Key, target: Node) -> None:
        """`target` is the part at `key` of what is at `owner`."""

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Box):
                if key is ANY:
                    thing.watch(lambda _, part: self.flow(part, target))
                else:
                    thing.want(key, lambda part: self.flow(part, target))
                    self.flow(thing.rest, target)
            elif isinstance(thing, Leaf | Unseen):
                self.add(target, thing)

        self.listen(owner, arrived)
