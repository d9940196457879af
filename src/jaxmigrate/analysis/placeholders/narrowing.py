"""What a test says of the expressions it asks about: which of them are no placeholder then."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from jaxmigrate.analysis.none_helpers import tests_for_none
from jaxmigrate.analysis.on_none import Place, definitions_of
from jaxmigrate.analysis.placeholders.syntax import suppresses
from jaxmigrate.analysis.project import Module
from jaxmigrate.analysis.scopes import FUNCTIONS, Scope

_NOTHING: frozenset[str] = frozenset()
_NUMERIC = ("jax.numpy.", "jax.nn.", "jax.random.", "numpy.", "math.")
_LOOKING = frozenset(
    {
        *(
            "abs",
            "all",
            "any",
            "bool",
            "dict",
            "enumerate",
            "float",
            "hasattr",
            "int",
            "isinstance",
        ),
        *("len", "list", "print", "range", "repr", "set", "str", "tuple", "type", "zip"),
    }
)
"""Functions that change nothing that they are given."""


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
    known = isinstance(expr, ast.Name | ast.Subscript | ast.Attribute)
    if known and not any(isinstance(n, ast.Call | ast.NamedExpr) for n in ast.walk(expr)):
        return frozenset({key_of(expr)})
    return _NOTHING


def _union(parts: Iterable[frozenset[str]]) -> frozenset[str]:
    return _NOTHING.union(*parts)


def without(narrow: frozenset[str], names: Iterable[str]) -> frozenset[str]:
    """What is still known once the names are bound anew."""
    gone = set(names)
    return frozenset(k for k in narrow if not gone & names_of(k))


@lru_cache(maxsize=4096)
def names_of(key: str) -> frozenset[str]:
    """The names in what `key_of` gave."""
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


def disturbs(node: ast.AST, place: Place) -> bool:
    """Whether something may run in a node that changes what others hold."""
    waiting: list[ast.AST] = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, ast.Subscript | ast.Attribute):
            if not isinstance(current.ctx, ast.Load):
                return True
        elif isinstance(current, ast.Call):
            if not _only_looks(current, place):
                return True
        elif isinstance(current, ast.AugAssign | ast.With | ast.Await | ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(current, FUNCTIONS):
            waiting.extend(ast.iter_child_nodes(current))
    return False


def _only_looks(call: ast.Call, place: Place) -> bool:
    name = place.project.name_of(call.func, place.scope, place.module)
    if name is not None:
        return name.startswith(_NUMERIC) or name.removeprefix("builtins.") in _LOOKING
    functions = definitions_of(call.func, place)
    return bool(functions) and all(tests_for_none(function) for function, _ in functions)


def is_shaky(name: str, scope: Scope, module: Module) -> bool:
    """Whether a variable may be bound anew while the function runs that reads it here."""
    if any(name in other.rebound_outside for other in module.scopes.scope_of.values()):
        return True
    owner = scope.owner(name)
    if owner is None or owner in (scope, scope.function) or owner.function is scope.function:
        return False
    return len(owner.bindings[name]) > 1


def leaves(block: list[ast.stmt], place: Place) -> bool:
    """Whether what follows a block is never reached through it."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and leaves(last.body, place) and leaves(last.orelse, place)
    if isinstance(last, ast.With):
        passing = not any(suppresses(item.context_expr, place) for item in last.items)
        return passing and leaves(last.body, place)
    return False
