"""Tree-map calls in one normal form, however the source spells them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

from jaxmigrate.analysis.jaxnames import TREE_MAPS
from jaxmigrate.analysis.project import Entity, External, Module, Project, Value
from jaxmigrate.analysis.scopes import Scope

TREE_MAP_WORDS: Final = frozenset(name.rpartition(".")[2] for name in TREE_MAPS)
"""The last part of every spelling of a tree map: `map`, `tree_map`, `map_with_path` …"""

_MAX_PARTIALS: Final = 3
_MAX_ALIASES: Final = 4


@dataclass(frozen=True, slots=True)
class Bound:
    """What a `partial` around a tree map has bound already, and where that partial stands.

    `partial` is the call of `functools.partial`, None if there is none.
    """

    args: tuple[ast.expr, ...] = ()
    keywords: tuple[ast.keyword, ...] = ()
    scope: Scope | None = None
    module: Module | None = None
    partial: ast.Call | None = None

    def holds(self, expr: ast.expr) -> bool:
        """Whether `expr` is one of the bound arguments."""
        return expr in self.args or any(keyword.value is expr for keyword in self.keywords)


@dataclass(frozen=True, slots=True)
class TreeCall:
    """One call of a tree map.

    `leading` is how many arguments the callback gets before the leaves (1 with a path, else 0).
    `callback` is None where it cannot be told apart from the trees (`tree_map(*args)`). `trees` are
    the trees in order, starred ones as `ast.Starred`. `is_leaf` is the predicate as given, None if
    none is. `bound` holds what a partial bound before; `rest_unknown` says that `**kwargs` may add
    keywords.
    """

    node: ast.Call
    scope: Scope
    module: Module
    name: str
    leading: int
    callback: ast.expr | None
    trees: tuple[ast.expr, ...]
    is_leaf: ast.expr | None
    bound: Bound
    rest_unknown: bool
    is_partial: bool

    def home_of(self, expr: ast.expr) -> tuple[Scope, Module]:
        """The scope and module that an argument stands in: a bound one, in its partial's."""
        if (
            self.bound.holds(expr)
            and self.bound.scope is not None
            and self.bound.module is not None
        ):
            return self.bound.scope, self.bound.module
        return self.scope, self.module

    @property
    def many(self) -> bool:
        """Whether several trees are mapped, or may be (starred trees, a partial to be called later)."""
        return self.is_partial or len(self.trees) > 1 or self.starred

    @property
    def starred(self) -> bool:
        """Whether one of the trees is `*trees`, so that their number is not known."""
        return any(isinstance(tree, ast.Starred) for tree in self.trees)


def tree_calls(module: Module, project: Project) -> tuple[TreeCall, ...]:
    """Every tree-map call of a module, in source order, partials of a tree map included."""
    if "tree_calls" not in module.memo:
        module.memo["tree_calls"] = tuple(_tree_calls(module, project))
    return cast("tuple[TreeCall, ...]", module.memo["tree_calls"])


def _tree_calls(module: Module, project: Project) -> Iterator[TreeCall]:
    for node, scope in module.scopes.calls:
        found = _direct(node, scope, module, project) or _partial(node, scope, module, project)
        if found is not None:
            yield found


def tree_map_name(
    expr: ast.expr, scope: Scope, module: Module, project: Project
) -> tuple[str, Bound] | None:
    """The dotted JAX name of the tree map that `expr` stands for, and what partials bound; or None."""
    if isinstance(expr, ast.Call):
        return _entity_as_tree_map(Value(module, expr, scope), project, _MAX_PARTIALS)
    if not _may_be_tree_map(expr, scope, project):
        return None
    return _as_tree_map(project.resolve(expr, scope, module), project, _MAX_PARTIALS)


def is_partial(expr: ast.expr, scope: Scope, module: Module, project: Project) -> bool:
    """Whether `expr` names `functools.partial`."""
    last = expr.attr if isinstance(expr, ast.Attribute) else getattr(expr, "id", "")
    return _imported_as(last, scope, "partial") and (
        project.name_of(expr, scope, module) == "functools.partial"
    )


def _imported_as(name: str, scope: Scope, word: str) -> bool:
    """Whether `name` is `word` or an import's alias for something called so."""
    if name == word:
        return True
    owner = scope.owner(name)
    if owner is None:
        return False
    return any((b.target or "").rpartition(".")[2] == word for b in owner.bindings[name])


def _may_be_tree_map(
    expr: ast.expr, scope: Scope, project: Project, hops: int = _MAX_ALIASES
) -> bool:
    """A cheap look at the last name, so that not every call of a project is resolved."""
    if isinstance(expr, ast.Attribute):
        return expr.attr in TREE_MAP_WORDS or expr.attr in project.aliases
    if not isinstance(expr, ast.Name):
        return False
    name = expr.id
    if name in TREE_MAP_WORDS or name in project.aliases:
        return True
    owner = scope.owner(name)
    if owner is None:
        return False
    for binding in owner.bindings[name]:
        if binding.target is not None:
            last = binding.target.rpartition(".")[2]
            if last in TREE_MAP_WORDS or last in project.aliases:
                return True
        elif binding.value is not None and hops:
            value = _aliased(binding.value, owner)
            if value is not None and _may_be_tree_map(value, owner, project, hops - 1):
                return True
    return False


def _aliased(value: ast.expr, scope: Scope) -> ast.expr | None:
    """What a value is another name for: itself, or what it is a partial of."""
    if not isinstance(value, ast.Call):
        return value
    function = value.func
    last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return value.args[0] if value.args and _imported_as(last, scope, "partial") else None


def _as_tree_map(
    entities: tuple[Entity, ...], project: Project, partials: int
) -> tuple[str, Bound] | None:
    found = [_entity_as_tree_map(entity, project, partials) for entity in entities]
    if not found or None in found:
        return None
    kinds = {(TREE_MAPS[name], bound) for name, bound in found if name}  # type: ignore[misc]
    return found[0] if len(kinds) == 1 else None


def _entity_as_tree_map(
    entity: Entity, project: Project, partials: int
) -> tuple[str, Bound] | None:
    if isinstance(entity, External):
        return (entity.name, Bound()) if entity.name in TREE_MAPS else None
    if not isinstance(entity, Value) or partials <= 0:
        return None
    call = entity.expr
    if not isinstance(call, ast.Call) or not call.args:
        return None
    if not is_partial(call.func, entity.scope, entity.module, project):
        return None
    inner = _as_tree_map(
        project.resolve(call.args[0], entity.scope, entity.module), project, partials - 1
    )
    if inner is None:
        return None
    name, bound = inner
    if bound.module not in (None, entity.module):
        return None
    args, keywords = (*bound.args, *call.args[1:]), (*bound.keywords, *call.keywords)
    return name, Bound(args, keywords, entity.scope, entity.module, call)


def _direct(node: ast.Call, scope: Scope, module: Module, project: Project) -> TreeCall | None:
    found = tree_map_name(node.func, scope, module, project)
    if found is None:
        return None
    name, bound = found
    return _normal_form(node, (*bound.args, *node.args), scope, module, name, bound, False)


def _partial(node: ast.Call, scope: Scope, module: Module, project: Project) -> TreeCall | None:
    if not node.args or not is_partial(node.func, scope, module, project):
        return None
    found = tree_map_name(node.args[0], scope, module, project)
    if found is None:
        return None
    name, bound = found
    return _normal_form(node, (*bound.args, *node.args[1:]), scope, module, name, bound, True)


def _normal_form(
    node: ast.Call,
    args: tuple[ast.expr, ...],
    scope: Scope,
    module: Module,
    name: str,
    bound: Bound,
    partial: bool,
) -> TreeCall:
    keywords = [*bound.keywords, *node.keywords]
    by_name = {k.arg: k.value for k in keywords if k.arg is not None}
    positional = list(args)
    callback = by_name.get("f")
    if callback is None and positional and not isinstance(positional[0], ast.Starred):
        callback = positional.pop(0)
    if "tree" in by_name:
        positional.insert(0, by_name["tree"])
    return TreeCall(
        node=node,
        scope=scope,
        module=module,
        name=name,
        leading=TREE_MAPS[name],
        callback=callback,
        trees=tuple(positional),
        is_leaf=by_name.get("is_leaf"),
        bound=bound,
        rest_unknown=any(k.arg is None for k in keywords),
        is_partial=partial,
    )
