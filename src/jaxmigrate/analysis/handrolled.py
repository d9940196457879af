"""Tree maps written out by hand: `tree_flatten`, `treedef.flatten_up_to`, `treedef.unflatten`.

`flatten_up_to` follows the same rule as a tree map, and broke with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jaxmigrate.analysis.jaxnames import FLATTEN, UNFLATTEN
from jaxmigrate.analysis.on_none import Known, Place, callable_on_none
from jaxmigrate.analysis.project import Module, Project
from jaxmigrate.analysis.scopes import Scope

_WORDS: Final = frozenset({"flatten", "tree_flatten", "unflatten", "tree_unflatten"})


@dataclass(frozen=True, slots=True)
class Mend:
    """A hand-rolled map that is wholly in sight.

    `flatten` gets `is_leaf`; `element`, what the comprehension gives for each leaf, is skipped where
    `test` (source text) is true.
    """

    flatten: ast.Call
    element: ast.expr
    test: str


@dataclass(frozen=True, slots=True)
class HandRolled:
    """One call of `flatten_up_to`. `mend` is None where it cannot be mended; `safe` says None is a leaf."""

    call: ast.Call
    scope: Scope
    tree: ast.expr | None
    mend: Mend | None
    safe: bool


def hand_rolled(module: Module, project: Project) -> Iterator[HandRolled]:
    """Every call of `flatten_up_to` in a module."""
    for call, scope in module.scopes.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "flatten_up_to" and call.args:
            yield _Reader(call, scope, module, project).read()


class _Reader:
    """Reads what stands around one call of `flatten_up_to`."""

    def __init__(self, call: ast.Call, scope: Scope, module: Module, project: Project) -> None:
        self.call = call
        self.scope = scope
        self.module = module
        self.project = project
        self.parents = module.scopes.parents

    def read(self) -> HandRolled:
        assert isinstance(self.call.func, ast.Attribute)
        treedef = self.call.func.value
        flatten = self._flatten_of(treedef) if isinstance(treedef, ast.Name) else None
        if flatten is None or not isinstance(treedef, ast.Name):
            return HandRolled(self.call, self.scope, None, None, safe=False)
        call, leaves = flatten
        safe = self._none_is_leaf(call)
        plain = len(call.args) == 1 and not call.keywords
        mend = self._mend(call, leaves, treedef.id) if plain else None
        return HandRolled(self.call, self.scope, call.args[0], mend, safe)

    def _flatten_of(self, treedef: ast.Name) -> tuple[ast.Call, str] | None:
        """The one `leaves, treedef = tree_flatten(tree)` that binds `treedef`, and the name of leaves."""
        owner = self.scope.owner(treedef.id)
        bindings = owner.bindings[treedef.id] if owner is not None else []
        if len(bindings) != 1:
            return None
        target = self.parents.get(bindings[0].node)
        statement = self.parents.get(target) if isinstance(target, ast.Tuple) else None
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            return None
        assert isinstance(target, ast.Tuple)
        call, first = statement.value, target.elts[0]
        if len(target.elts) != 2 or not isinstance(first, ast.Name) or not call.args:
            return None
        return (call, first.id) if self._is(call.func, FLATTEN) else None

    def _none_is_leaf(self, flatten: ast.Call) -> bool:
        given = next((k.value for k in flatten.keywords if k.arg == "is_leaf"), None)
        if given is None:
            return False
        outcome = callable_on_none(given, Place(self.scope, self.module, self.project))
        return isinstance(outcome, Known) and bool(outcome.value)

    def _mend(self, flatten: ast.Call, leaves: str, treedef: str) -> Mend | None:
        """How to mend the map, if all that uses the leaves and the structure is in sight."""
        used = self._uses(leaves)
        if len(used) != 1:
            return None
        zipped = self.parents.get(used[0])
        loop = self.parents.get(zipped) if isinstance(zipped, ast.Call) else None
        if not isinstance(zipped, ast.Call) or not isinstance(loop, ast.comprehension):
            return None
        made = self.parents.get(loop)
        test = self._test(loop, zipped, used[0])
        if test is None or not isinstance(made, ast.ListComp | ast.GeneratorExp):
            return None
        if len(made.generators) != 1 or loop.ifs or loop.is_async:
            return None
        if isinstance(made.elt, ast.NamedExpr | ast.Yield | ast.YieldFrom):
            return None
        known = {
            id(use)
            for use in self._uses(treedef)
            if self._goes_into(use, zipped) or self._rebuilds(use, made)
        }
        if len(known) != len(self._uses(treedef)):
            return None
        return Mend(flatten, made.elt, test)

    def _test(self, loop: ast.comprehension, zipped: ast.Call, leaves: ast.Name) -> str | None:
        """The test that tells that the leaf of the first tree is None."""
        if not (isinstance(zipped.func, ast.Name) and zipped.func.id == "zip"):
            return None
        if zipped.args[0] is not leaves or len(zipped.args) < 2:
            return None
        if isinstance(loop.target, ast.Name):
            return f"{loop.target.id}[0] is None"
        if isinstance(loop.target, ast.Tuple) and isinstance(loop.target.elts[0], ast.Name):
            return f"{loop.target.elts[0].id} is None"
        return None

    def _goes_into(self, use: ast.Name, zipped: ast.Call) -> bool:
        """Whether `treedef.flatten_up_to(…)` is an argument of the zip, or of a name that is."""
        method = self.parents.get(use)
        call = self.parents.get(method) if isinstance(method, ast.Attribute) else None
        if not isinstance(method, ast.Attribute) or method.attr != "flatten_up_to":
            return False
        if call in zipped.args:
            return True
        bound = self.parents.get(call) if call is not None else None
        if not isinstance(bound, ast.Assign) or len(bound.targets) != 1:
            return False
        name = bound.targets[0]
        uses = self._uses(name.id) if isinstance(name, ast.Name) else []
        return len(uses) == 1 and uses[0] in zipped.args

    def _rebuilds(self, use: ast.Name, made: ast.expr) -> bool:
        """Whether `treedef.unflatten(…)`, or the function, is given what the comprehension makes."""
        parent = self.parents.get(use)
        if isinstance(parent, ast.Attribute) and parent.attr == "unflatten":
            call = self.parents.get(parent)
            return isinstance(call, ast.Call) and self._is_made(call.args[:1], made)
        if isinstance(parent, ast.Call) and parent.args[:1] == [use]:
            return self._is(parent.func, UNFLATTEN) and self._is_made(parent.args[1:2], made)
        return False

    def _is_made(self, given: list[ast.expr], made: ast.expr) -> bool:
        if given == [made]:
            return True
        if len(given) != 1 or not isinstance(given[0], ast.Name):
            return False
        bound = self.parents.get(made)
        named = isinstance(bound, ast.Assign) and [
            getattr(target, "id", None) for target in bound.targets
        ] == [given[0].id]
        return named and len(self._uses(given[0].id)) == 1

    def _uses(self, name: str) -> list[ast.Name]:
        """Every read of a name that the scope of the call binds once; nothing if it binds it again."""
        owner = self.scope.owner(name)
        if owner is None or len(owner.bindings[name]) != 1:
            return []
        return [
            node
            for node, scope in self.module.scopes.names
            if node.id == name and scope.owner(name) is owner
        ]

    def _is(self, function: ast.expr, names: frozenset[str]) -> bool:
        last = getattr(function, "attr", getattr(function, "id", ""))
        if last not in _WORDS and not isinstance(function, ast.Name):
            return False
        return self.project.name_of(function, self.scope, self.module) in names
