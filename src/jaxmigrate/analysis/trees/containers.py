"""Containers: what their methods do, and what the standard library makes of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from jaxmigrate.analysis.trees import invocation
from jaxmigrate.analysis.trees.paths import update
from jaxmigrate.analysis.trees.references import (
    Arguments,
    Bound,
    BoundBuiltin,
    Frame,
    Record,
    Structure,
)
from jaxmigrate.analysis.trees.rules import Rule
from jaxmigrate.analysis.trees.values import (
    LEAF,
    UNKNOWN,
    Is,
    Key,
    Value,
    child,
    container,
    element,
    holds_none,
    join,
    maybe_none,
    none,
    referring,
    replace,
    with_any_child,
    with_child,
    without_child,
)
from jaxmigrate.model import Evidence

if TYPE_CHECKING:
    from jaxmigrate.analysis.trees.interpreter import Interpreter


def _partial(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    """A function with arguments given; it is run with them, whoever calls it in the end."""
    if not arguments.args:
        return UNKNOWN
    function = arguments.args[0]
    bound = referring(Bound(function, arguments.args[1:], arguments.keywords))
    if any(holds_none(v) for v in (*arguments.args[1:], *arguments.keywords.values())):
        invocation.apply(bound, Arguments(), node, frame, interpreter)
    return bound


def _namedtuple(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """`namedtuple("P", ["x", "y"], defaults=…)`, and `NamedTuple("P", [("x", int)])`."""
    given = arguments.at(1, "field_names") or UNKNOWN
    if isinstance(given.constant, str):
        names = given.constant.replace(",", " ").split()
    else:
        names = [_field_name(part) for part in (given.parts or {}).values()]
    defaults = arguments.keywords.get("defaults")
    values = tuple((defaults.parts or {}).values()) if defaults is not None else ()
    return referring(Record(tuple(names), values))


def _field_name(part: Value) -> str:
    named = child(part, 0) if part.parts is not None else part
    return str(named.constant) if named is not None else ""


def _fromkeys(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    value = arguments.at(1)
    if value is None:
        line = getattr(node, "lineno", 1)
        value = none(Evidence(frame.module.path, line, "dict.fromkeys fills with None"))
    return container({}, value)


def _dict_call(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    parts: dict[Key, Value] = {}
    rest: Value | None = None
    first = arguments.at(0)
    if first is not None:
        if first.parts is None:
            rest = first if first.inside is Is.MAYBE else UNKNOWN
        elif any(isinstance(key, str) for key in first.parts):
            parts, rest = dict(first.parts), first.rest
        else:
            rest = _second_of_pairs(first)
    parts.update(arguments.keywords)
    return container(parts, rest)


def _second_of_pairs(pairs: Value) -> Value:
    pair = element(pairs)
    found = child(pair, 1) if pair is not None else None
    return found or UNKNOWN


def _zip(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    lengths = [
        len(v.parts) if v.parts is not None and v.rest is None and not v.leaf else None
        for v in arguments.args
    ]
    known = [length for length in lengths if length is not None]
    if known and len(known) == len(lengths) and min(known) <= 8:
        rows = [
            container(
                {n: list((v.parts or {}).values())[row] for n, v in enumerate(arguments.args)}
            )
            for row in range(min(known))
        ]
        return container(dict(enumerate(rows)))
    columns: dict[Key, Value] = {
        n: element(value) or UNKNOWN for n, value in enumerate(arguments.args)
    }
    return container({}, container(columns))


def _enumerate(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    return container({}, container({0: LEAF, 1: element(arguments.at(0) or UNKNOWN) or UNKNOWN}))


def _map_builtin(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    if len(arguments.args) < 2:
        return UNKNOWN
    items = tuple(element(value) or UNKNOWN for value in arguments.args[1:])
    return container(
        {}, invocation.apply(arguments.args[0], Arguments(items), node, frame, interpreter)
    )


def _filter_builtin(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """`filter` may drop the Nones: what is left is not known to hold any."""
    items = element(arguments.at(1) or UNKNOWN)
    kept = replace(items, none=Is.UNKNOWN, why=()) if items is not None else UNKNOWN
    return container({}, kept)


def _reduce(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    if len(arguments.args) < 2:
        return UNKNOWN
    function, items = arguments.args[:2]
    item = element(items) or UNKNOWN
    start = arguments.at(2) or child(items, 0) or item
    result = start
    for _ in range(2):
        pair = Arguments((result, item))
        result = join(result, invocation.apply(function, pair, node, frame, interpreter))
    return result


def _replaced(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    return with_fields(arguments.at(0) or UNKNOWN, arguments.keywords)


def with_fields(value: Value, fields: Mapping[str, Value]) -> Value:
    """A record with some fields replaced."""
    for name, new in fields.items():
        value = with_child(value, name, new)
    return value


def container_method(
    method: BoundBuiltin,
    node: ast.Call,
    arguments: Arguments,
    frame: Frame,
    interpreter: Interpreter,
) -> Value:
    """A method of a dictionary, list or record, in place where it works in place."""
    assert isinstance(node.func, ast.Attribute)
    structure = method.owner.reference
    if method.name == "flatten_up_to" and isinstance(structure, Structure) and arguments.args:
        interpreter.see_flatten(node, frame, (structure.tree, arguments.args[0]))
    rule = _METHODS.get(method.name)
    if rule is None:
        return interpreter.fresh(node, frame.module)
    return rule(method.owner, node, arguments, frame)


def _items(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    if owner.parts is None:
        return UNKNOWN
    if owner.rest is None and len(owner.parts) <= 8:
        pairs = [
            container({0: Value(none=Is.NO, inside=Is.NO, constant=key, leaf=True), 1: value})
            for key, value in owner.parts.items()
        ]
        return container(dict(enumerate(pairs)))
    return container({}, container({0: LEAF, 1: element(owner) or UNKNOWN}))


def _values(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    if owner.parts is None:
        return UNKNOWN
    return container(dict(enumerate(owner.parts.values())), owner.rest)


def _keys(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    keys = [Value(none=Is.NO, inside=Is.NO, constant=key, leaf=True) for key in owner.parts or {}]
    return container(dict(enumerate(keys))) if owner.rest is None else container({}, LEAF)


def _get(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    """`d.get(k)`: None where the key is missing and no other default is given."""
    key = arguments.args[0].constant if arguments.args else None
    found = child(owner, key) if isinstance(key, str | int) else element(owner)
    default = arguments.at(1, "default")
    certain = isinstance(key, str | int) and owner.parts is not None and key in owner.parts
    if certain and found is not None:
        return found
    if default is None:
        if owner.parts is None or owner.rest is not None:
            return found or UNKNOWN
        note = f"{ast.unparse(node)} gives None for a missing key"
        return maybe_none(found or UNKNOWN, Evidence(frame.module.path, node.lineno, note))
    if owner.parts is not None and owner.rest is None and isinstance(key, str | int):
        return default
    return join(found, default) if found is not None else default


def _pop(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    assert isinstance(node.func, ast.Attribute)
    key = arguments.args[0].constant if arguments.args else None
    known = isinstance(key, str | int)
    result = _get(owner, node, arguments, frame) if len(arguments.args) > 1 else None
    if result is None:
        result = (child(owner, key) if isinstance(key, str | int) else element(owner)) or UNKNOWN
    if known and isinstance(key, str):
        update(node.func.value, lambda value: without_child(value, key), frame)
    return result


def _update(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    assert isinstance(node.func, ast.Attribute)
    added = arguments.at(0)

    def changed(value: Value) -> Value:
        if added is not None and added.parts is not None:
            value = with_fields(value, {str(k): v for k, v in added.parts.items()})
            if added.rest is not None:
                value = with_any_child(value, added.rest)
        elif added is not None and holds_none(added):
            value = with_any_child(value, added)
        return with_fields(value, arguments.keywords)

    update(node.func.value, changed, frame)
    return LEAF


def _setdefault(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    assert isinstance(node.func, ast.Attribute)
    key = arguments.args[0].constant if arguments.args else None
    new = arguments.at(1)
    if new is None:
        note = "setdefault puts None"
        new = none(Evidence(frame.module.path, node.lineno, note))
    if not isinstance(key, str | int):
        update(node.func.value, lambda value: with_any_child(value, new), frame)
        return element(owner) or new
    found = child(owner, key)
    if owner.parts is not None and key in owner.parts and found is not None:
        return found
    value = new if owner.parts is not None and owner.rest is None else join(found or UNKNOWN, new)
    update(node.func.value, lambda old: with_child(old, key, value), frame)
    return value


def _append(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    assert isinstance(node.func, ast.Attribute)
    new = arguments.at(0) or UNKNOWN
    if owner.parts is not None and owner.rest is None and len(owner.parts) < 4:
        position = len(owner.parts)
        update(node.func.value, lambda value: with_child(value, position, new), frame)
    else:
        update(node.func.value, lambda value: with_any_child(value, new), frame)
    return LEAF


def _extend(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    assert isinstance(node.func, ast.Attribute)
    new = element(arguments.at(0) or UNKNOWN) or UNKNOWN
    update(node.func.value, lambda value: with_any_child(value, new), frame)
    return LEAF


def _copy(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    """`d.copy()`, and flax's `d.copy({…})`."""
    added = arguments.at(0, "add_or_replace")
    if added is None or added.parts is None:
        return owner
    return with_fields(owner, {str(k): v for k, v in added.parts.items()})


def _record(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    if not arguments.keywords:
        return LEAF
    return with_fields(owner, arguments.keywords)


def _unflatten_method(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    return unflattened(owner, arguments.at(0) or UNKNOWN)


def unflattened(structure: Value, leaves: Value) -> Value:
    """A tree made of leaves: it holds a None where a leaf is one; else it is as the structure says."""
    why = holds_none(leaves)
    shape = structure.shape
    of = shape[1] if isinstance(shape, tuple) and shape[:1] == ("treedef",) else None
    if why:
        return Value(none=Is.NO, inside=Is.MAYBE, why=why, includes=frozenset({of} if of else ()))
    return Value(shape=of)


def _as_it_is(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    return owner


_METHODS: Final[Mapping[str, Callable[[Value, ast.Call, Arguments, Frame], Value]]] = {
    "items": _items,
    "values": _values,
    "keys": _keys,
    "get": _get,
    "pop": _pop,
    "update": _update,
    "setdefault": _setdefault,
    "append": _append,
    "extend": _extend,
    "copy": _copy,
    "replace": _record,
    "_replace": _record,
    "_asdict": _as_it_is,
    "unflatten": _unflatten_method,
}


RULES: Final[Mapping[str, Rule]] = {
    "functools.partial": _partial,
    "functools.reduce": _reduce,
    "collections.namedtuple": _namedtuple,
    "collections.OrderedDict": _dict_call,
    "typing.NamedTuple": _namedtuple,
    "builtins.dict": _dict_call,
    "builtins.dict.fromkeys": _fromkeys,
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.map": _map_builtin,
    "builtins.filter": _filter_builtin,
    "dataclasses.replace": _replaced,
    "copy.replace": _replaced,
    "chex.dataclass_replace": _replaced,
}
"""The functions that this module knows, by their dotted names."""
