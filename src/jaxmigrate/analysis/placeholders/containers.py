"""Methods of dictionaries, lists, tuples and NamedTuples."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from jaxmigrate.analysis.placeholders.arguments import all_of, box_for, called, give_away
from jaxmigrate.analysis.placeholders.operators import fill_from, loosen, shrink
from jaxmigrate.analysis.placeholders.records import Here
from jaxmigrate.analysis.placeholders.things import (
    ANY,
    LEAF,
    Arguments,
    Box,
    Form,
    Method,
    Node,
    Placeholder,
    Unseen,
    spot_of,
)

if TYPE_CHECKING:
    from jaxmigrate.analysis.placeholders.reading import Reader


_CHANGING: Final = ("setdefault", "update", "append", "insert", "extend")
_LOOKING: Final = ("count", "index")


def call_method(
    reader: Reader, method: Method, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> None:
    """A method of a dictionary, a list, a tuple or a NamedTuple."""
    box, name, flow = method.box, method.name, reader.flow
    spot = spot_of(expr, here.module)
    key = _constant_key(expr)
    if name in _CHANGING:
        for value in all_of(arguments):
            reader.note_stored(value)
    nothing = Placeholder(spot, Form.IMPLICIT, expr, here.module)
    if name == "_replace":
        image, _ = reader.image(box, ("replace", expr))
        reader.merge(flow.node(box), image)
        for field, value in arguments.named.items():
            flow.flow(value, image.field(field))
        if arguments.double is not None:
            flow.flow(arguments.double, image.rest)
        flow.add(result, image)
    elif name in ("get", "pop", "setdefault") and box.kind == "dict":
        box.shrinks = box.shrinks or name == "pop"
        for asked in arguments.given[:1]:
            reader.leave_key(asked, spot, "used as a key")
        flow.load(flow.node(box), key, result)
        defaults = [*arguments.given[1:], *arguments.named.values()]
        if name != "pop" and not defaults:
            defaults = [flow.node(nothing)]
        for default in defaults:
            flow.flow(default, result)
            if name == "setdefault":
                box.empty = None
                flow.flow(default, box.field(key))
    elif name == "pop" and box.kind == "list":
        shrink(reader, box)
        flow.load(flow.node(box), ANY, result)
    elif name == "items" and box.kind == "dict":
        pairs = box_for(reader, expr, "list", spot)
        pair = box.images.setdefault(("pair", expr), Box("tuple", spot))
        flow.add(pair.field(0), LEAF)
        box.watch(lambda _, part: flow.flow(part, pair.field(1)))
        flow.add(pairs.rest, pair)
        flow.add(result, pairs)
    elif name == "values" and box.kind == "dict":
        values = box_for(reader, expr, "list", spot)
        box.watch(lambda _, part: flow.flow(part, values.rest))
        flow.add(result, values)
    elif name == "keys" and box.kind == "dict":
        flow.add(result, LEAF)
    elif name == "copy":
        image, _ = reader.image(box, ("copy", expr))
        reader.merge(flow.node(box), image)
        flow.add(result, image)
    elif name == "update" and box.kind == "dict":
        box.empty = None
        flow.add(result, nothing)
        for source in arguments.given:
            reader.strict(source, here, expr)
            fill_from(reader, source, box)
        for field, value in arguments.named.items():
            flow.flow(value, box.field(field))
        if arguments.double is not None:
            flow.flow(arguments.double, box.rest)
        if arguments.starred is not None:
            fill_from(reader, arguments.starred, box)
    elif name in ("append", "insert") and box.kind == "list" and not arguments.starred:
        flow.add(result, nothing)
        for value in arguments.given[-1:]:
            flow.flow(value, box.rest)
        if name == "insert":
            loosen(reader, box)
    elif name == "extend" and box.kind == "list" and not arguments.starred:
        flow.add(result, nothing)
        for value in arguments.given:
            reader.elements(value, box.rest, here, expr)
    else:
        give_away(reader, arguments, spot, f"passed to {called(expr)}")
        reader.leave(flow.node(box), spot, f"its method {name}() is called")
        if box.kind != "tuple" and box.cls is None and name not in _LOOKING:
            box.empty = None
            shrink(reader, box)
            flow.add(box.rest, Unseen(spot, f"its method {name}()"))
        flow.add(result, Unseen(spot, f"what {called(expr)} gives"))


def _constant_key(expr: ast.AST) -> object:
    if isinstance(expr, ast.Call) and expr.args and isinstance(expr.args[0], ast.Constant):
        return expr.args[0].value
    return ANY
