"""Operators, slices and changes in place: which parts a container has then, at places no longer known."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from jaxmigrate.analysis.placeholders.arguments import box_for
from jaxmigrate.analysis.placeholders.records import Here
from jaxmigrate.analysis.placeholders.things import (
    LEAF,
    Box,
    Leaf,
    Node,
    Placeholder,
    Thing,
    Unseen,
    spot_of,
)

if TYPE_CHECKING:
    from jaxmigrate.analysis.placeholders.reading import Reader

_GIVING_AN_OPERAND: Final = (ast.Add, ast.BitOr, ast.Mult)
_OPERATORS_OF: Final[Mapping[str, tuple[type[ast.operator], ...]]] = {
    "dict": (ast.BitOr,),
    "list": (ast.Add, ast.Mult),
    "tuple": (ast.Add, ast.Mult),
    "object": (ast.Add, ast.Mult),
    "set": (ast.BitOr, ast.Sub, ast.BitAnd, ast.BitXor),
}
"""The operators that give such a container; others are of numbers, and fail for it."""
_OPERATOR: Final = "used by an operator of its class"


def loosen(reader: Reader, box: Box) -> None:
    """The parts of a sequence may move: each may stand anywhere."""
    if box.kind in ("list", "set") and not box.loose:
        box.loose = True
        reader.note_stored(reader.flow.node(box))
        box.watch(lambda _, part: reader.flow.flow(part, box.rest))


def shrink(reader: Reader, thing: Thing) -> None:
    """Parts are taken out of a container."""
    if isinstance(thing, Box):
        thing.shrinks = True
        loosen(reader, thing)


def sliced(reader: Reader, owner: Node, result: Node, expr: ast.AST, here: Here) -> None:
    """`result` is a slice of what is at `owner`."""

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box):
            _take_parts(reader, thing, result, expr, here)
        elif not isinstance(thing, Placeholder):
            reader.flow.add(result, thing)

    reader.flow.listen(owner, arrived)


def combined(
    reader: Reader, sides: tuple[Node, ...], operator: ast.operator, expr: ast.AST, here: Here
) -> Node:
    """What an operator gives."""
    result = reader.flow.node(LEAF)
    given = isinstance(operator, _GIVING_AN_OPERAND)

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box) and _has_operators(reader, thing):
            reader.leave(reader.flow.node(thing), spot_of(expr, here.module), _OPERATOR)
            reader.flow.add(result, Unseen(spot_of(expr, here.module), "what an operator gives"))
        elif isinstance(thing, Box) and not isinstance(operator, _OPERATORS_OF.get(thing.kind, ())):
            return
        elif isinstance(thing, Box) and thing.kind == "dict":
            box = _box(reader, expr, "dict", here)
            reader.merge(reader.flow.node(thing), box)
            reader.flow.add(result, box)
        elif isinstance(thing, Box):
            _take_parts(reader, thing, result, expr, here)
        elif given and not isinstance(thing, Placeholder):
            reader.flow.add(result, thing)

    for side in sides:
        reader.flow.listen(side, arrived)
    return result


def _has_operators(reader: Reader, box: Box) -> bool:
    """Whether what an operator does to an object is what its class says."""
    cls = box.cls
    if box.kind != "object" or cls is None:
        return box.kind == "object"
    names = ("__add__", "__radd__", "__mul__", "__rmul__")
    return not box.positions or any(reader.classes.method(cls, name) for name in names)


def change_in_place(
    reader: Reader, owner: Node, value: Node, node: ast.AugAssign, here: Here
) -> Node:
    """What stands for the target of `+=` and its like afterwards."""
    result = combined(reader, (owner, value), node.op, node, here)
    reader.note_stored(value)
    spot = spot_of(node, here.module)

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box) and thing.kind in ("list", "set"):
            thing.empty = None
            reader.flow.add(result, thing)
            if isinstance(node.op, ast.Add):
                reader.elements(value, thing.rest, here, node)
            else:
                loosen(reader, thing)
                reader.leave(value, spot, "put into something by an operator")
        elif isinstance(thing, Box) and thing.kind == "dict":
            thing.empty = None
            reader.flow.add(result, thing)
            fill_from(reader, value, thing)
        elif not isinstance(thing, Leaf | Placeholder):
            reader.leave(value, spot, "put into something that is not in sight")

    reader.flow.listen(owner, arrived)
    return result


def fill_from(reader: Reader, source: Node, box: Box) -> None:
    """`dict(mapping)` or `dict(pairs)`, `t.update(…)`."""

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box) and thing.kind == "object" and not thing.positions:
            reader.leave(reader.flow.node(thing), thing.made, "made a dictionary")
            reader.flow.add(box.rest, Unseen(thing.made, "a dictionary made of an object"))
        elif isinstance(thing, Box) and thing.kind != "dict":
            pair = reader.flow.node()
            thing.watch(lambda _, part: reader.flow.flow(part, pair))
            reader.flow.load(pair, 1, box.rest)
        else:
            reader.merge(reader.flow.node(thing), box)

    reader.flow.listen(source, arrived)


def _take_parts(reader: Reader, box: Box, result: Node, expr: ast.AST, here: Here) -> None:
    """A new sequence of parts of a box, wherever they stand."""
    if box.kind == "object" and not box.positions:
        spot = spot_of(expr, here.module)
        reader.leave(reader.flow.node(box), spot, "sliced by a method of its class")
        reader.flow.add(result, Unseen(spot, "a slice of an object"))
        return
    kind = "tuple" if box.kind == "object" else box.kind
    taken = _box(reader, expr, kind, here)
    box.watch(lambda _, part: reader.flow.flow(part, taken.rest))
    reader.flow.add(result, taken)


def _box(reader: Reader, expr: ast.AST, kind: str, here: Here) -> Box:
    spot = spot_of(expr, here.module)
    first = box_for(reader, expr, kind, spot)
    return first if first.kind == kind else first.images.setdefault(kind, Box(kind, spot))
