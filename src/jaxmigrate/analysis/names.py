"""Names in expressions: which ones are read, which may be read later, which are still free to use."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from jaxmigrate.analysis.on_none import Place
from jaxmigrate.analysis.project import Definition, Entity, External, Submodule
from jaxmigrate.analysis.scopes import Kind

_LEAF_NAMES: Final = ("x", "y", "z", "u", "v", "w")


def names_in(*nodes: ast.AST | None) -> frozenset[str]:
    """Every name that the nodes read or bind, nested scopes included."""
    found: set[str] = set()
    for root in nodes:
        for node in ast.walk(root) if root is not None else ():
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
    return frozenset(found)


def fresh(wanted: Iterable[str], taken: Iterable[str]) -> str:
    """The first of the wanted names that is not taken; else the last one with a number."""
    used = frozenset(taken)
    candidates = list(wanted)
    for name in candidates:
        if name not in used:
            return name
    return next(n for n in _numbered(candidates[-1]) if n not in used)


def leaf_names(count: int, taken: Iterable[str]) -> list[str]:
    """`count` names for leaves (`x`, `y` …), none of them taken."""
    found: list[str] = []
    used = set(taken)
    for position in range(count):
        name = fresh(_LEAF_NAMES[position:] or _LEAF_NAMES[-1:], used)
        found.append(name)
        used.add(name)
    return found


def callable_later(
    function: ast.expr, call: ast.Call, place: Place, *, much_later: bool = False
) -> bool:
    """Whether evaluating `function` later, inside a lambda in its place, gives what it gives now.

    True for a plain name that nothing rebinds meanwhile, a function of a module, a method known from
    its class. A class body's own names are not seen by a lambda there. `much_later` says that the
    lambda outlives the call, as in a partial.
    """
    if isinstance(function, ast.Name):
        settled = not much_later or _is_settled(function.id, place)
        return settled and _name_stays(function.id, call, place)
    if much_later and not _root_is_settled(function, place):
        return False
    if not isinstance(function, ast.Attribute):
        return False
    return _is_module_member(function, call, place) or _is_own_method(function, place)


def _root_is_settled(function: ast.expr, place: Place) -> bool:
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and _is_settled(function.id, place)


def _is_settled(name: str, place: Place) -> bool:
    """Whether a name stands for one thing for good: built in, imported, or defined in the module."""
    owner = place.scope.owner(name)
    if owner is None:
        return True
    bindings = owner.bindings[name]
    defined = (Kind.IMPORT, Kind.FUNCTION, Kind.CLASS)
    return owner.parent is None and len(bindings) == 1 and bindings[0].kind in defined


def _name_stays(name: str, call: ast.Call, place: Place) -> bool:
    owner = place.scope.owner(name)
    if owner is not None and owner.is_class:
        return False
    if name in place.module.scopes.shared_names:
        return False
    return not any(isinstance(n, ast.NamedExpr) and n.target.id == name for n in ast.walk(call))


def _is_module_member(function: ast.Attribute, call: ast.Call, place: Place) -> bool:
    root: ast.expr = function
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or not _name_stays(root.id, call, place):
        return False
    owner = place.scope.owner(root.id)
    if owner is None or not all(
        b.kind in (Kind.IMPORT, Kind.CLASS) for b in owner.bindings[root.id]
    ):
        return False
    imported_whole = all(
        isinstance(place.module.scopes.parents[b.node], ast.Import) for b in owner.bindings[root.id]
    )
    entities = place.project.resolve(function.value, place.scope, place.module)
    return bool(entities) and all(
        _is_module(entity, imported_whole)
        or (isinstance(entity, Definition) and _has_plain_method(entity.node, function.attr))
        for entity in entities
    )


def _is_module(entity: Entity, imported_whole: bool) -> bool:
    """`from a import b` may bind any object; JAX's and NumPy's lower-case names are modules."""
    if isinstance(entity, External):
        return imported_whole or entity.name.startswith(("jax.", "numpy."))
    return isinstance(entity, Submodule)


def _is_own_method(function: ast.Attribute, place: Place) -> bool:
    """`self.method`, where `self` is a method's first parameter and its class defines the method."""
    if not isinstance(function.value, ast.Name):
        return False
    owner = place.scope.owner(function.value.id)
    if owner is None or owner.parent is None or not owner.parent.is_class:
        return False
    method = owner.node
    if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    positional = [*method.args.posonlyargs, *method.args.args]
    is_first = bool(positional) and positional[0].arg == function.value.id
    is_static = any(getattr(d, "id", "") == "staticmethod" for d in method.decorator_list)
    if not is_first or is_static or len(owner.bindings[function.value.id]) > 1:
        return False
    return _has_plain_method(owner.parent.node, function.attr)


def _has_plain_method(node: ast.AST, name: str) -> bool:
    """Whether a class body defines `name` as a function, and nowhere assigns to such an attribute."""
    if not isinstance(node, ast.ClassDef):
        return False
    defined = [s for s in node.body if getattr(s, "name", None) == name]
    if len(defined) != 1 or not isinstance(defined[0], ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    plain = {"staticmethod", "classmethod"}
    if any(getattr(d, "id", "") not in plain for d in defined[0].decorator_list):
        return False
    return not any(
        isinstance(n, ast.Attribute) and n.attr == name and not isinstance(n.ctx, ast.Load)
        for n in ast.walk(node)
    )


def _numbered(stem: str) -> Iterator[str]:
    number = 1
    while True:
        yield f"{stem}{number}"
        number += 1
