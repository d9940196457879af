"""What is certain without running anything: a tree that is mapped along with itself, or with maps of it.

`tree.map(g, a)` has a None wherever `a` has one, so a map of `a` along with it never meets a None with a
value, whatever `a` is. That is claimed only where nothing in sight can come in between: names that are bound
once, in one block of statements, with nothing but JAX called in between. All else that makes two trees look
the same is a sign against, and no proof.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.none_helpers import tests_for_none
from jaxmigrate.analysis.on_none import NONE, Place, callable_on_none, definitions_of
from jaxmigrate.analysis.scopes import Kind


def made_from_first(call: TreeCall, calls: Mapping[ast.Call, TreeCall], place: Place) -> bool:
    """Whether every later tree is the first one itself, or a map of it; `calls` are the module's."""
    first = call.trees[0] if call.trees else None
    if not isinstance(first, ast.Name) or call.is_partial or call.starred:
        return False
    made = all(_is_map_of(first.id, tree, call, calls, place) for tree in call.trees[1:])
    return made and _is_settled(first.id, call, place)


def _is_map_of(
    name: str, tree: ast.expr, call: TreeCall, calls: Mapping[ast.Call, TreeCall], place: Place
) -> bool:
    if isinstance(tree, ast.Name):
        if tree.id == name:
            return True
        value = _bound_once(tree.id, call)
        made = value is not None and _maps(name, value, calls, place)
        return made and _is_just_bound(tree.id, call, place)
    return _maps(name, tree, calls, place)


def _maps(name: str, expr: ast.expr, calls: Mapping[ast.Call, TreeCall], place: Place) -> bool:
    """Whether an expression is a tree map of the variable that keeps its Nones."""
    made = calls.get(expr) if isinstance(expr, ast.Call) else None
    if made is None or made.is_partial or made.starred or made.rest_unknown or made.bound.partial:
        return False
    first = made.trees[0] if made.trees else None
    if not isinstance(first, ast.Name) or first.id != name:
        return False
    return made.is_leaf is None or _is_guarded(made, place)


def _is_guarded(made: TreeCall, place: Place) -> bool:
    """Whether None and nothing else is made a leaf, for which the callback gives None."""
    assert made.is_leaf is not None
    asked = definitions_of(made.is_leaf, place)
    if len(asked) != 1 or not tests_for_none(asked[0][0]) or made.callback is None:
        return False
    return callable_on_none(made.callback, place, made.leading) == NONE


def _is_settled(name: str, call: TreeCall, place: Place) -> bool:
    """Whether a variable of the function around the call is one value there: bound once, before it."""
    owner = call.scope.owner(name)
    if owner is not call.scope or not isinstance(owner.node, ast.FunctionDef):
        return False
    bindings = owner.bindings.get(name, [])
    if len(bindings) != 1 or name in place.module.scopes.shared_names:
        return False
    if bindings[0].kind is Kind.PARAMETER:
        return not _is_changed(name, owner.node)
    return _is_just_bound(name, call, place) and not _is_changed(name, owner.node)


def _bound_once(name: str, call: TreeCall) -> ast.expr | None:
    """What a variable of the function around the call is bound to, if that happens in one place."""
    owner = call.scope.owner(name)
    bindings = owner.bindings.get(name, []) if owner is call.scope else []
    return bindings[0].value if len(bindings) == 1 else None


def _is_just_bound(name: str, call: TreeCall, place: Place) -> bool:
    """Whether a variable is bound in the block of the call, with only JAX called in between."""
    value = _bound_once(name, call)
    if value is None:
        return False
    scopes = place.module.scopes
    bound, used = scopes.statement_of(value), scopes.statement_of(call.node)
    block = next((b for b in _blocks(scopes.parents[used]) if used in b and bound in b), None)
    if not isinstance(bound, ast.Assign) or block is None:
        return False
    start, end = block.index(bound), block.index(used)
    return start < end and all(_is_quiet(s, place) for s in block[start + 1 : end])


def _blocks(parent: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list):
            yield block


def _is_quiet(statement: ast.stmt, place: Place) -> bool:
    """Whether a statement only binds names, and calls nothing but JAX."""
    for node in ast.walk(statement):
        waits = isinstance(node, ast.Await | ast.Yield | ast.YieldFrom)
        stores = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(
            node.ctx, ast.Load
        )
        if waits or stores:
            return False
        if isinstance(node, ast.Call):
            name = place.project.name_of(node.func, place.scope, place.module)
            if name is None or not name.startswith("jax."):
                return False
    return isinstance(statement, ast.Assign | ast.Expr | ast.Assert)


def _is_changed(name: str, function: ast.FunctionDef) -> bool:
    """Whether a function may change the tree in place: stores into something, or calls a method."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.AugAssign):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == name:
                return True
    return False
