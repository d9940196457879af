"""What an annotation admits: whether None, and which class of the project."""

from __future__ import annotations

import ast

from jaxmigrate.analysis.jaxnames import NOT_MAPPED_TYPE
from jaxmigrate.analysis.on_none import Place
from jaxmigrate.analysis.project import Definition, External, Value

_MAX_ALIASES = 5


def admits_none(annotation: ast.expr | None, place: Place, hops: int = _MAX_ALIASES) -> bool:
    """Whether an annotation admits None: `Optional[T]`, `T | None`, an alias of such, or a string of it."""
    if annotation is None or hops <= 0:
        return False
    if isinstance(annotation, ast.Constant):
        if annotation.value is None:
            return True
        parsed = _parsed(annotation.value)
        return admits_none(parsed, place, hops - 1)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return any(admits_none(a, place, hops) for a in (annotation.left, annotation.right))
    if isinstance(annotation, ast.Subscript):
        return _subscript_admits(annotation, place, hops)
    for entity in place.project.resolve(annotation, place.scope, place.module):
        if isinstance(entity, External) and entity.name in NOT_MAPPED_TYPE:
            return True
        if isinstance(entity, Value):
            return admits_none(entity.expr, place.at(entity.scope, entity.module), hops - 1)
    return False


def class_of(annotation: ast.expr | None, place: Place) -> Definition | None:
    """The project's class that an annotation names, `Optional` and quotes taken off; or None."""
    if annotation is None:
        return None
    if isinstance(annotation, ast.Constant):
        return class_of(_parsed(annotation.value), place)
    if isinstance(annotation, ast.BinOp):
        return class_of(annotation.left, place) or class_of(annotation.right, place)
    if isinstance(annotation, ast.Subscript):
        if _last_name(annotation.value) in ("Optional", "Annotated", "Final"):
            inner = annotation.slice
            return class_of(inner.elts[0] if isinstance(inner, ast.Tuple) else inner, place)
        return class_of(annotation.value, place)
    for entity in place.project.resolve(annotation, place.scope, place.module):
        if isinstance(entity, Definition) and isinstance(entity.node, ast.ClassDef):
            return entity
    return None


def _subscript_admits(annotation: ast.Subscript, place: Place, hops: int) -> bool:
    last = _last_name(annotation.value)
    inner = annotation.slice
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if last == "Optional":
        return True
    if last == "Union":
        return any(admits_none(part, place, hops) for part in parts)
    if last in ("Annotated", "Final"):
        return admits_none(parts[0], place, hops)
    return False


def _last_name(expr: ast.expr) -> str:
    return expr.attr if isinstance(expr, ast.Attribute) else getattr(expr, "id", "")


def _parsed(text: object) -> ast.expr | None:
    if not isinstance(text, str):
        return None
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
