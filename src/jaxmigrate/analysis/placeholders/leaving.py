"""What leaves sight, and by which lines of the project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from jaxmigrate.analysis.placeholders.arguments import all_of
from jaxmigrate.analysis.placeholders.flow import Flow
from jaxmigrate.analysis.placeholders.records import Leaving
from jaxmigrate.analysis.placeholders.things import (
    Bound,
    Box,
    Class,
    File,
    Function,
    Method,
    Node,
    Placeholder,
    Spot,
    Structure,
    Thing,
    Wrapped,
)

_MOST_NAMED: Final = 3
"""Lines that are named for a placeholder, the first in the order of the source."""


class Leavings:
    """Follows what leaves sight: once for each node, however many lines let it go.

    `expose` is called with the functions among it, `give` with the objects, classes and modules. By
    which lines is found out when all has flowed.
    """

    def __init__(
        self, flow: Flow, expose: Callable[[Function], None], give: Callable[[Thing], None]
    ) -> None:
        self._flow = flow
        self._expose = expose
        self._give = give
        self._lines: dict[Leaving, dict[Node, None]] = {}
        self._shallow: dict[Leaving, dict[Node, None]] = {}
        self._left: set[tuple[Node, Spot]] = set()
        self._gone: set[Node | Box] = set()

    def leave(self, node: Node, spot: Spot, words: str) -> None:
        """What is at a node and in containers there leaves sight at a line."""
        if (node, spot) not in self._left:
            self._left.add((node, spot))
            self._lines.setdefault(Leaving(spot, words), {})[node] = None
            self.follow(node)

    def shallow(self, node: Node, spot: Spot, words: str) -> None:
        """The placeholders at a node itself leave sight."""
        self._shallow.setdefault(Leaving(spot, words), {})[node] = None

    def follow(self, node: Node) -> None:
        """What is at a node leaves sight, whatever the lines."""
        if node not in self._gone:
            self._gone.add(node)
            self._flow.listen(node, self._arrived)

    def _arrived(self, thing: Thing) -> None:
        if isinstance(thing, Box) and thing not in self._gone:
            self._gone.add(thing)
            thing.watch(lambda _, part: self.follow(part))
            self._give(thing)
        elif isinstance(thing, Function):
            self._expose(thing)
        elif isinstance(thing, Bound):
            self._expose(thing.function)
            self.follow(thing.owner)
        elif isinstance(thing, Wrapped):
            self.follow(thing.function)
            for argument in all_of(thing.arguments):
                self.follow(argument)
        elif isinstance(thing, Method):
            self._arrived(thing.box)
        elif isinstance(thing, Class | File):
            self._give(thing)
        elif isinstance(thing, Structure):
            self.follow(thing.tree)

    def functions(self, wanted: Callable[[Leaving], bool]) -> Iterator[Function]:
        """The functions that leave sight by lines that are `wanted`."""
        lines = (nodes for leaving, nodes in self._lines.items() if wanted(leaving))
        waiting = [node for nodes in lines for node in nodes]
        seen: set[Node] = set()
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            for thing in node.things:
                if isinstance(thing, Function | Bound):
                    yield thing.function if isinstance(thing, Bound) else thing
                waiting.extend(_inside(thing))

    def found(self, results: Mapping[Function, Node]) -> Mapping[Placeholder, Sequence[Leaving]]:
        """The lines by which each placeholder leaves sight, the first few, in order.

        `results` are those of the functions that left sight; they leave by the first line of each.
        """
        search = _Search(results)
        for leaving in sorted({**self._lines, **self._shallow}, key=_order):
            for node in self._shallow.get(leaving, ()):
                search.note(node.things, leaving)
            search.spread(self._lines.get(leaving, ()), leaving)
        return search.lines


class _Search:
    """What each line reaches; a thing that as many lines reach as are named is gone through no more.

    What is behind it has been reached by the same lines.
    """

    def __init__(self, results: Mapping[Function, Node]) -> None:
        self.lines: dict[Placeholder, list[Leaving]] = {}
        self._results = results
        self._reached: dict[Node | Box | Function, list[Leaving]] = {}

    def note(self, things: Iterable[Thing], leaving: Leaving) -> None:
        """The placeholders among things leave sight by a line."""
        for thing in things:
            if isinstance(thing, Placeholder):
                _enter(self.lines.setdefault(thing, []), leaving, _MOST_NAMED)

    def spread(self, nodes: Iterable[Node], leaving: Leaving) -> None:
        """What is at nodes and behind it leaves sight by a line."""
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if self._reach(node, leaving, _MOST_NAMED):
                self.note(node.things, leaving)
                for thing in node.things:
                    waiting.extend(self._behind(thing, leaving))

    def _reach(self, place: Node | Box | Function, leaving: Leaving, most: int) -> bool:
        return _enter(self._reached.setdefault(place, []), leaving, most)

    def _behind(self, thing: Thing, leaving: Leaving) -> Iterable[Node]:
        if isinstance(thing, Box):
            is_new = self._reach(thing, leaving, _MOST_NAMED)
            return (*thing.fields.values(), thing.rest) if is_new else ()
        if isinstance(thing, Function | Bound):
            function = thing.function if isinstance(thing, Bound) else thing
            left = function in self._results and self._reach(function, leaving, 1)
            results = (self._results[function],) if left else ()
            return (thing.owner, *results) if isinstance(thing, Bound) else results
        if isinstance(thing, Wrapped):
            return (thing.function, *all_of(thing.arguments))
        if isinstance(thing, Method):
            return self._behind(thing.box, leaving)
        return (thing.tree,) if isinstance(thing, Structure) else ()


def _inside(thing: Thing) -> Iterable[Node]:
    """The nodes of what goes along with a thing."""
    if isinstance(thing, Box):
        return (*thing.fields.values(), thing.rest)
    if isinstance(thing, Bound):
        return (thing.owner,)
    if isinstance(thing, Wrapped):
        return (thing.function, *all_of(thing.arguments))
    return ()


def _enter(lines: list[Leaving], leaving: Leaving, most: int) -> bool:
    """Enter a line that is not there yet, unless there are enough."""
    if len(lines) >= most or leaving in lines:
        return False
    lines.append(leaving)
    return True


def _order(leaving: Leaving) -> tuple[str, int, int, str]:
    spot = leaving.spot
    return spot.path, spot.line, spot.column, leaving.words
