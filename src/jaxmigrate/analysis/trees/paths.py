"""Places a value can be in: a name, an attribute of it, an item with a known key; read and written."""

from __future__ import annotations

import ast
from collections.abc import Callable

from jaxmigrate.analysis.trees.references import Frame
from jaxmigrate.analysis.trees.values import (
    UNKNOWN,
    Key,
    Value,
    child,
    replace,
    with_any_child,
    with_child,
)

AnyKey = Key | None
"""A key, or None where it is not known which."""


def path_of(expr: ast.expr, frame: Frame) -> tuple[str, tuple[AnyKey, ...]] | None:
    """The variable and keys that an expression is: `a.b["c"]` is `a` and (`b`, `c`); else None."""
    keys: list[AnyKey] = []
    while not isinstance(expr, ast.Name):
        if isinstance(expr, ast.Attribute):
            keys.append(expr.attr)
            expr = expr.value
        elif isinstance(expr, ast.Subscript):
            keys.append(_key(expr.slice, frame))
            expr = expr.value
        else:
            return None
    return expr.id, tuple(reversed(keys))


def _key(index: ast.expr, frame: Frame) -> AnyKey:
    if isinstance(index, ast.Constant) and isinstance(index.value, str | int):
        return index.value
    if isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant):
        number = index.operand.value
        return -number if isinstance(number, int) and isinstance(index.op, ast.USub) else None
    if isinstance(index, ast.Name):
        home = frame.home(index.id)
        constant = home.variables[index.id].constant if home is not None else None
        return constant if isinstance(constant, str | int) else None
    return None


def lookup(value: Value, keys: tuple[AnyKey, ...]) -> Value | None:
    """What stands at the end of `keys` in a value, or None if nothing is known of it."""
    current: Value | None = value
    for key in keys:
        if current is None or key is None:
            return None
        current = child(current, key)
    return current


def refine(expr: ast.expr, change: Callable[[Value], Value], frame: Frame) -> None:
    """Replace what is known of the value at `expr` by what `change` makes of it.

    The value itself stays the same, so it and what holds it keep their shapes; other variables that
    are it know the same.
    """
    path = path_of(expr, frame)
    if path is None:
        return
    name, keys = path
    home = frame.home(name)
    if home is None or None in keys:
        return
    before = home.variables[name]
    after = frame.variables[name] = _refined(before, keys, change)
    if before.shape is not None:
        aliases = [other for other, value in frame.variables.items() if value is before]
        frame.variables.update(dict.fromkeys(aliases, after))


def _refined(value: Value, keys: tuple[AnyKey, ...], change: Callable[[Value], Value]) -> Value:
    if not keys:
        return change(value)
    key = keys[0]
    assert key is not None
    before = child(value, key)
    if before is None:
        before = Value(shape=("child", value.shape, key)) if value.shape is not None else UNKNOWN
    after = _refined(before, keys[1:], change)
    if after is before and value.parts is not None:
        return value
    rest = value.rest if value.parts is not None else UNKNOWN
    return replace(value, parts={**(value.parts or {}), key: after}, rest=rest, leaf=False)


def store(expr: ast.expr, new: Value, frame: Frame) -> None:
    """Put another value at an attribute or item, whose root is a variable of the frame."""
    path = path_of(expr, frame)
    if path is None:
        return
    name, keys = path
    home = frame.home(name)
    before = home.variables[name] if home is not None else UNKNOWN
    frame.variables[name] = changed(before, keys, lambda _: new)
    frame.changed.add(name)


def update(expr: ast.expr, change: Callable[[Value], Value], frame: Frame) -> None:
    """Change the value at a name, attribute or item in place, as a method of it would."""
    path = path_of(expr, frame)
    if path is None:
        return
    name, keys = path
    home = frame.home(name)
    if home is None:
        return
    frame.variables[name] = changed(home.variables[name], keys, change)
    frame.changed.add(name)


def changed(value: Value, keys: tuple[AnyKey, ...], change: Callable[[Value], Value]) -> Value:
    """The value with what stands at `keys` in it changed."""
    if not keys:
        return change(value)
    key = keys[0]
    if key is None:
        inner = value.rest or UNKNOWN
        return with_any_child(value, changed(inner, keys[1:], change))
    return with_child(value, key, changed(child(value, key) or UNKNOWN, keys[1:], change))
