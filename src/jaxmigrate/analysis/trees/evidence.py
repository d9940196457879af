"""Collects what is known of the first trees of a project's tree maps, call by call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from jaxmigrate.analysis.calls import TreeCall, tree_calls
from jaxmigrate.analysis.project import Module, Project
from jaxmigrate.analysis.scopes import Scope
from jaxmigrate.analysis.trees.interpreter import Interpreter, Notes, closures_in
from jaxmigrate.analysis.trees.meetings import Meeting, meeting
from jaxmigrate.analysis.trees.values import Token
from jaxmigrate.model import Evidence

_ROUNDS: Final = 3
"""How many calls away from a tree map a function may be, to be run for what it passes on."""

_MAX_CALLERS: Final = 60
"""A name that more functions than this call says too little of which function is meant."""

Position: TypeAlias = tuple[str, int, int]
"""A call by its file, line (from 1) and column (in UTF-8 bytes from 0)."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the interpreter found out about one call: the strongest meeting, and whether all are safe.

    `minded` is evidence that None is taken for a leaf of the same tree elsewhere.
    """

    strongest: Meeting
    minded: Evidence | None


Table: TypeAlias = Mapping[Position, Known]
"""What is known of the calls of a project; a call that no run came by is not there."""

Mentioning: TypeAlias = Callable[[frozenset[str]], Iterable[str]]
"""Gives the paths of the project's files that mention one of some names."""


def collect(project: Project, paths: Iterable[str], mentioning: Mentioning) -> Table:
    """What is known of the many-tree maps in the files at `paths`.

    Further files are looked at where they mention a function that maps several trees.
    """
    return _Collector(project).table(paths, mentioning)


class _Collector:
    def __init__(self, project: Project) -> None:
        self._project = project
        self._calls: dict[str, dict[ast.Call, TreeCall]] = {}
        self._known: dict[Position, Known] = {}
        self._interpreter = Interpreter(project, self._calls_of)

    def table(self, paths: Iterable[str], mentioning: Mentioning) -> Table:
        wanted = _Wanted(self._calls_of)
        wanted.add_modules(self._modules(paths))
        for _ in range(_ROUNDS):
            wanted.add_modules(self._modules(mentioning(frozenset(wanted.names))))
            wanted.add_callers()
        for module in wanted.modules:
            if wanted.at_top(module):
                self._note(self._interpreter.run_module(module))
            for closure in closures_in(module):
                if wanted.has(closure.node):
                    self._note(self._interpreter.run(closure))
        return self._known

    def _modules(self, paths: Iterable[str]) -> list[Module]:
        found = (self._project.module(path) for path in sorted(paths))
        return [module for module in found if module is not None]

    def _calls_of(self, module: Module) -> dict[ast.Call, TreeCall]:
        if module.path not in self._calls:
            found = tree_calls(module, self._project)
            self._calls[module.path] = {call.node: call for call in found}
        return self._calls[module.path]

    def _note(self, notes: Notes) -> None:
        for sighting in notes.sightings:
            if len(sighting.trees) < 2:
                continue
            first, *others = sighting.trees
            met = meeting(first, others, self._interpreter.classes)
            node = sighting.call.node
            position = (sighting.call.module.path, node.lineno, node.col_offset)
            minded = _minded(first.shape, notes)
            self._known[position] = _stronger(self._known.get(position), Known(met, minded))


def _minded(shape: Token | None, notes: Notes) -> Evidence | None:
    return notes.minded.get(shape) if shape is not None else None


def _stronger(one: Known | None, other: Known) -> Known:
    if one is None:
        return other
    strongest = max(one.strongest, other.strongest, key=lambda m: m.outcome)
    return Known(strongest, one.minded or other.minded)


class _Wanted:
    """The functions worth running: those that map several trees, and those that call them.

    `names` are the names such functions are called by.
    """

    def __init__(self, calls_of: Callable[[Module], Mapping[ast.Call, TreeCall]]) -> None:
        self.modules: list[Module] = []
        self.names: set[str] = set()
        self._calls_of = calls_of
        self._functions: set[ast.AST] = set()
        self._top: set[str] = set()
        self._called: dict[str, list[tuple[ast.AST | None, Module]]] = {}

    def add_modules(self, modules: Iterable[Module]) -> None:
        """Look at further modules; those known already are passed over."""
        known = {module.path for module in self.modules}
        for module in modules:
            if module.path in known:
                continue
            self.modules.append(module)
            for node, scope in module.scopes.calls:
                last = _last_name(node.func)
                if last:
                    self._called.setdefault(last, []).append((_outermost(scope), module))
            for call in self._calls_of(module).values():
                if call.many:
                    self._add(_outermost(call.scope), module, call.scope)

    def add_callers(self) -> None:
        """Add the functions that call, by name, one of those there are."""
        for name in sorted(self.names):
            callers = self._called.get(name, [])
            if len(callers) <= _MAX_CALLERS:
                for function, module in callers:
                    self._add(function, module, None)

    def has(self, function: ast.AST) -> bool:
        """Whether a function at the top of a module or class is to be run."""
        return function in self._functions

    def at_top(self, module: Module) -> bool:
        """Whether a module's own statements are to be run."""
        return module.path in self._top

    def _add(self, function: ast.AST | None, module: Module, scope: Scope | None) -> None:
        if function is None:
            self._top.add(module.path)
            return
        inner = {getattr(outer.node, "name", "") for outer in _outward(scope)}
        self.names |= {*inner, getattr(function, "name", "")} - {""}
        self._functions.add(function)
        owner = module.scopes.parents.get(function)
        if isinstance(owner, ast.ClassDef):
            self.names.add(owner.name)


def _outward(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent


def _outermost(scope: Scope) -> ast.AST | None:
    """The function at the top of a module or class that a scope lies in; None in the module's own."""
    found: ast.AST | None = None
    for outer in _outward(scope):
        if isinstance(outer.node, ast.FunctionDef | ast.AsyncFunctionDef):
            found = outer.node
        elif isinstance(outer.node, ast.ClassDef) and found is not None:
            return found
    return found


def _last_name(expr: ast.expr) -> str:
    return expr.attr if isinstance(expr, ast.Attribute) else getattr(expr, "id", "")
