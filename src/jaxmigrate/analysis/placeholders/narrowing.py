"""What a test says of the expressions it asks about: which of them are no placeholder then."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from jaxmigrate.analysis.none_helpers import tests_for_none
from jaxmigrate.analysis.on_none import Place, definitions_of
from jaxmigrate.analysis.scopes import FUNCTIONS

_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Told:
    """The expressions that are no placeholder where a test is true, and where it is false."""

    if_true: frozenset[str] = _NOTHING
    if_false: frozenset[str] = _NOTHING


def key_of(expr: ast.expr) -> str:
    """What two readings of the same variable or part have in common."""
    return ast.unparse(expr)


def asked_for_none(expr: ast.expr) -> tuple[ast.expr, bool] | None:
    """What `… is None` asks about, and whether it is `is` and not `is not`; None for anything else."""
    if not isinstance(expr, ast.Compare) or len(expr.ops) != 1:
        return None
    operator, other = expr.ops[0], expr.comparators[0]
    if not isinstance(operator, ast.Is | ast.IsNot):
        return None
    if not (isinstance(other, ast.Constant) and other.value is None):
        return None
    if isinstance(expr.left, ast.Constant):
        return None
    return expr.left, isinstance(operator, ast.Is)


def told(test: ast.expr, place: Place) -> Told:
    """What a test says."""
    asked = asked_for_none(test)
    if asked is not None:
        operand, positive = asked
        found = _named(operand)
        return Told(if_false=found) if positive else Told(if_true=found)
    if isinstance(test, ast.BoolOp):
        parts = [told(value, place) for value in test.values]
        if isinstance(test.op, ast.And):
            return Told(if_true=_union(part.if_true for part in parts))
        return Told(if_false=_union(part.if_false for part in parts))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = told(test.operand, place)
        return Told(inner.if_false, inner.if_true)
    if isinstance(test, ast.Call) and len(test.args) == 1 and not test.keywords:
        functions = definitions_of(test.func, place)
        if functions and all(tests_for_none(function) for function, _ in functions):
            return Told(if_false=_named(test.args[0]))
        return Told()
    if isinstance(test, ast.Call) and place.project.name_of(
        test.func, place.scope, place.module
    ) == ("builtins.isinstance"):
        return Told(if_true=_named(test.args[0])) if len(test.args) == 2 else Told()
    return Told(if_true=_named(test))


def _named(expr: ast.expr) -> frozenset[str]:
    if isinstance(expr, ast.NamedExpr):
        return frozenset({key_of(expr.target)})
    if isinstance(expr, ast.Name | ast.Subscript | ast.Attribute):
        return frozenset({key_of(expr)})
    return _NOTHING


def _union(parts: Iterable[frozenset[str]]) -> frozenset[str]:
    return _NOTHING.union(*parts)


def without(narrow: frozenset[str], names: Iterable[str]) -> frozenset[str]:
    """What is still known once the names are bound anew."""
    gone = set(names)
    return frozenset(k for k in narrow if not gone & _names_of(k))


@lru_cache(maxsize=4096)
def _names_of(key: str) -> frozenset[str]:
    tree = ast.parse(key, mode="eval")
    return frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name))


def bound_in(*nodes: ast.AST) -> set[str]:
    """The names that nodes bind or change in place, functions in them left out."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            found |= {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        if not isinstance(node, FUNCTIONS):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def leaves(block: list[ast.stmt]) -> bool:
    """Whether what follows a block is never reached through it."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and leaves(last.body) and leaves(last.orelse)
    return isinstance(last, ast.With) and leaves(last.body)
