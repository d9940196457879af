"""Finds a project's own helper that says whether something is None, to use it as `is_leaf`."""

from __future__ import annotations

import ast
from functools import lru_cache

from jaxmigrate.analysis.on_none import AnyFunction, Place, definitions_of
from jaxmigrate.analysis.project import Module, Project
from jaxmigrate.analysis.scopes import Binding, Kind, Scope


def none_helper(place: Place, before: ast.AST) -> str | None:
    """The name of a helper `lambda x: x is None` that `before` can see and that is bound by then."""
    for scope in place.scope.chain():
        for name, binding in _helpers_of(scope, place.module, place.project):
            if place.scope.owner(name) is scope and _is_bound_by_then(
                binding, scope, place, before
            ):
                return name
    return None


@lru_cache(maxsize=1024)
def _helpers_of(scope: Scope, module: Module, project: Project) -> tuple[tuple[str, Binding], ...]:
    """The helpers that a scope binds, each once, by name."""
    place = Place(scope, module, project)
    return tuple(
        (name, bindings[0])
        for name, bindings in sorted(scope.bindings.items())
        if len(bindings) == 1 and _could_be_helper(name, bindings[0]) and _is_helper(name, place)
    )


def _is_helper(name: str, place: Place) -> bool:
    found = definitions_of(ast.Name(id=name, ctx=ast.Load()), place)
    return len(found) == 1 and tests_for_none(found[0][0])


def _is_bound_by_then(binding: Binding, scope: Scope, place: Place, before: ast.AST) -> bool:
    """Whether the helper is bound above, by a statement of the scope that always runs."""
    parents = place.module.scopes.parents
    statement = parents.get(binding.node) if binding.kind is not Kind.FUNCTION else binding.node
    always = statement is not None and parents.get(statement) is scope.node
    return always and getattr(binding.node, "lineno", 0) < getattr(before, "lineno", 0)


def _could_be_helper(name: str, binding: Binding) -> bool:
    if binding.kind is Kind.IMPORT:
        return "none" in name.lower()
    return binding.kind is Kind.FUNCTION or isinstance(binding.value, ast.Lambda)


def tests_for_none(function: AnyFunction) -> bool:
    """Whether a function is `x is None` of its one parameter, and nothing else."""
    args = function.args
    if len(args.args) + len(args.posonlyargs) != 1 or args.vararg or args.kwonlyargs or args.kwarg:
        return False
    if getattr(function, "decorator_list", ()):
        return False
    name = [*args.posonlyargs, *args.args][0].arg
    body = function.body if isinstance(function, ast.Lambda) else _returned(function)
    return (
        isinstance(body, ast.Compare)
        and isinstance(body.left, ast.Name)
        and body.left.id == name
        and isinstance(body.ops[0], ast.Is)
        and len(body.ops) == 1
        and isinstance(body.comparators[0], ast.Constant)
        and body.comparators[0].value is None
    )


def _returned(function: ast.FunctionDef) -> ast.expr | None:
    statements = [
        s
        for s in function.body
        if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
    ]
    if len(statements) == 1 and isinstance(statements[0], ast.Return):
        return statements[0].value
    return None
