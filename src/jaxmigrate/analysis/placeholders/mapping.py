"""Tree maps: the result has the first tree's structure, and its placeholders where they are no leaves."""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.none_helpers import tests_for_none
from jaxmigrate.analysis.on_none import (
    AnyFunction,
    Known,
    Place,
    callable_on_none,
    definitions_of,
)
from jaxmigrate.analysis.placeholders.records import Here, Meeting
from jaxmigrate.analysis.placeholders.things import (
    ANY,
    LEAF,
    Arguments,
    Box,
    Key,
    Node,
    Placeholder,
    Thing,
    Unseen,
    spot_of,
)

if TYPE_CHECKING:
    from jaxmigrate.analysis.placeholders.reading import Reader

_ALONG = "mapped along with a tree that is not in sight"


class Stops(enum.IntEnum):
    """Which containers a map may take for leaves: none, objects of classes, or any."""

    NOWHERE = enum.auto()
    AT_OBJECTS = enum.auto()
    ANYWHERE = enum.auto()


@dataclass(frozen=True, slots=True, eq=False)
class _Map:
    """One tree map: what its callback is given for the leaves, and what it gives.

    `none` says whether None is a leaf (None: not known), `stops` which other containers may be.
    """

    call: TreeCall
    first: Node
    others: tuple[Node, ...]
    result: Node
    none: bool | None
    stops: Stops
    here: Here


def read_map(reader: Reader, call: TreeCall, here: Here) -> Node:
    """The node of what a tree map gives."""
    flow = reader.flow
    if call.is_partial or call.callback is None or call.bound.partial is not None:
        return _given_away(reader, call, here)
    trees = [reader.value(_bare(tree), here) for tree in call.trees]
    if call.starred:
        trees = [
            _each(reader, node, tree, here) for node, tree in zip(trees, call.trees, strict=True)
        ]
        if isinstance(call.trees[0], ast.Starred):
            # Any number of trees: each may be the first, or stand opposite it.
            any_tree = flow.node()
            for tree in trees:
                flow.flow(tree, any_tree)
            trees = [any_tree, any_tree]
    callback = reader.value(call.callback, here)
    for tree in trees:
        reader.mark(tree)
    reader.first_trees[call.node] = trees[0]
    none: bool | None = False
    stops = Stops.NOWHERE
    if call.is_leaf is not None:
        none, stops = _ask(reader, call, trees[0], here)
    one_for_all = flow.node()
    given_others = tuple(flow.node() for _ in trees[1:])
    found = _Map(call, flow.node(), given_others, flow.node(), none, stops, here)
    leading = tuple(flow.node(LEAF) for _ in range(call.leading))
    given = (*leading, found.first, *found.others)
    arguments = Arguments(given)
    if call.starred:
        for node in (found.first, *found.others):
            flow.flow(node, one_for_all)
        arguments = Arguments(leading, starred=one_for_all)
    reader.call(callback, arguments, found.result, call.node, here)
    reader.marks.part(found.result)
    target = flow.node()
    _map(reader, found, trees[0], tuple(trees[1:]), target)
    return target


def _bare(tree: ast.expr) -> ast.expr:
    return tree.value if isinstance(tree, ast.Starred) else tree


def _each(reader: Reader, node: Node, tree: ast.expr, here: Here) -> Node:
    if not isinstance(tree, ast.Starred):
        return node
    items = reader.flow.node()
    reader.elements(node, items, here, tree)
    return items


def _ask(reader: Reader, call: TreeCall, tree: Node, here: Here) -> tuple[bool | None, Stops]:
    """Let the predicate see what is in the tree; what it says of None, and of containers."""
    assert call.is_leaf is not None
    if isinstance(call.is_leaf, ast.Constant):
        return False, Stops.NOWHERE
    seen = reader.flow.node()
    reader.flow.deep(tree, lambda thing: reader.flow.add(seen, thing), seen_by_jax=True)
    predicate = reader.value(call.is_leaf, here)
    reader.call(predicate, Arguments((seen,)), reader.flow.node(), call.node, here)
    outcome = callable_on_none(call.is_leaf, reader.place(here))
    none = bool(outcome.value) if isinstance(outcome, Known) else None
    functions = definitions_of(call.is_leaf, reader.place(here))
    found = [_stops(function, home) for function, home in functions]
    return none, max(found, default=Stops.ANYWHERE)


def _stops(function: AnyFunction, place: Place) -> Stops:
    """Which containers a predicate may say yes to."""
    if tests_for_none(function):
        return Stops.NOWHERE
    body = function.body
    if isinstance(body, ast.Call) and len(body.args) == 2:
        inner = place.at(place.module.scopes.scope_of[function], place.module)
        called, classes = (
            place.project.name_of(expr, inner.scope, inner.module)
            for expr in (body.func, body.args[1])
        )
        builtin = classes is None or classes.startswith(("builtins.", "typing.", "collections."))
        if called == "builtins.isinstance" and not builtin:
            return Stops.AT_OBJECTS
    return Stops.ANYWHERE


def _given_away(reader: Reader, call: TreeCall, here: Here) -> Node:
    """A map that is not followed: partials, callbacks out of sight."""
    spot = spot_of(call.node, here.module)
    for part in (*call.node.args, *(k.value for k in call.node.keywords)):
        value = reader.value(_bare(part), here)
        reader.mark(value)
        reader.leave(value, spot, "passed to a tree map that is not followed")
    return reader.flow.node(Unseen(spot, "a tree map that is not followed"))


def _map(reader: Reader, found: _Map, first: Node, others: tuple[Node, ...], target: Node) -> None:
    """Map what is at `first`, `others` standing opposite it, into `target`."""
    reader.flow.listen(first, lambda thing: _map_thing(reader, found, thing, others, target))


def _map_thing(
    reader: Reader, found: _Map, thing: Thing, others: tuple[Node, ...], target: Node
) -> None:
    flow = reader.flow
    if isinstance(thing, Placeholder):
        if found.none is not True:
            flow.add(target, thing)
        if others:
            reader.meetings.append(Meeting(found.call, thing, others, found.none is True))
        if found.none is not False:
            _call_leaf(reader, found, thing, others, target)
    elif isinstance(thing, Box) and not thing.sealed:
        is_object = thing.cls is not None
        if found.stops is Stops.ANYWHERE or (is_object and found.stops is Stops.AT_OBJECTS):
            _call_leaf(reader, found, thing, others, target)
        _map_box(reader, found, thing, others, target)
    else:
        _call_leaf(reader, found, thing, others, target)
        if isinstance(thing, Unseen):
            flow.add(target, thing)
            for other, given in zip(others, found.others, strict=True):
                flow.flow_all(other, given)
                reader.leave(other, spot_of(found.call.node, found.call.module), _ALONG)


def _call_leaf(
    reader: Reader, found: _Map, thing: Thing, others: Sequence[Node], target: Node
) -> None:
    reader.flow.add(found.first, thing)
    for other, given in zip(others, found.others, strict=True):
        reader.flow.flow(other, given)
    reader.flow.flow(found.result, target)


def _map_box(reader: Reader, found: _Map, box: Box, others: tuple[Node, ...], target: Node) -> None:
    key = ("map", found.call.node)
    image, is_new = reader.image(box, key)
    reader.flow.add(target, image)
    opposite = reader.opposite.setdefault(image, tuple(Node() for _ in others))
    for other, node in zip(others, opposite, strict=True):
        reader.flow.flow(other, node)
        # It fails there, but not for an empty container opposite its like.
        reader.strict(node, found.here, found.call.node)
    if not is_new:
        return

    def watched(part_key: Key, part: Node) -> None:
        if not box.sees(part_key) and part_key is not ANY:
            reader.flow.flow(part, image.field(part_key))
            return
        reader.flow.flow(part, _mapped_part(reader, found, image, part_key))

    box.watch(watched)


def _mapped_part(reader: Reader, found: _Map, image: Box, key: Key) -> Node:
    """What stands at `key` in all that a map makes `image` of; it is mapped once."""
    if (image, key) not in reader.mapped_parts:
        source = reader.mapped_parts[image, key] = Node(is_derived=True)
        opposite = reader.opposite[image]
        parts = tuple(Node() for _ in opposite)
        for other, node in zip(opposite, parts, strict=True):
            reader.flow.load(other, key, node)
        _map(reader, found, source, parts, image.field(key))
    return reader.mapped_parts[image, key]
