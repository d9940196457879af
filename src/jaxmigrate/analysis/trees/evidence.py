"""Collects what is known of the first trees of a project's tree maps, call by call."""

from __future__ import annotations

import ast
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from jaxmigrate.analysis.calls import TreeCall, tree_calls
from jaxmigrate.analysis.on_none import Place
from jaxmigrate.analysis.project import Definition, Module, Project
from jaxmigrate.analysis.scopes import Scope
from jaxmigrate.analysis.trees.interpreter import (
    Interpreter,
    Notes,
    Sighting,
    closures_in,
    suspicion_of,
)
from jaxmigrate.analysis.trees.meetings import Meeting, Outcome, meeting, meets_empty
from jaxmigrate.analysis.trees.references import Closure
from jaxmigrate.analysis.trees.signs import signs
from jaxmigrate.analysis.trees.signs_against import weakened
from jaxmigrate.model import Evidence

_ROUNDS: Final = 2
"""How many calls away from a tree map a function may be, to be run for what it passes on."""

_BASE_STEPS: Final = 7_000
_STEPS_A_CALL: Final = 30
"""How many expressions are looked at in all, by the number of tree maps: the cost stays in proportion."""

_LEAST_STEPS: Final = 400
"""What a function that maps trees itself gets in any case: whether its calls are safe depends on it."""

_MAX_ALIKE: Final = 20
"""How many attributes of unknown objects may go by a function's name, to be taken for it."""

Position: TypeAlias = tuple[str, int, int]
"""A call by its file, line (from 1) and column (in UTF-8 bytes from 0)."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one call: the strongest meeting that the interpreter found, and what runs showed.

    `minded` is evidence that None is taken for a leaf of the same tree elsewhere; `meets_empty` says
    that a None meets an empty container, `is_whole` that all of the first tree is known and has no None.
    `met` says which None met what when the call was run, `gone` that it failed for a name that JAX no
    longer has.
    """

    strongest: Meeting
    minded: Evidence | None = None
    meets_empty: bool = False
    is_whole: bool = False
    met: tuple[Evidence, ...] = ()
    gone: tuple[Evidence, ...] = ()


Table: TypeAlias = Mapping[Position, Known]
"""What is known of the calls of a project; a call that no run came by is not there."""

Mentioning: TypeAlias = Callable[[frozenset[str]], Iterable[str]]
"""Gives the paths of the project's files that mention one of some names."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What is known, and in which files the analysis failed, with the error: a fault of ours."""

    table: Table
    failures: Mapping[str, Exception]


_NOTHING_MET: Final[Mapping[Position, tuple[Evidence, ...]]] = MappingProxyType({})


def with_runs(
    table: Table,
    met: Mapping[Position, tuple[Evidence, ...]],
    gone: Mapping[Position, tuple[Evidence, ...]],
) -> Table:
    """A table with what runs showed of some calls added: a None that met a value, a name that is gone."""
    nothing = Known(Meeting(Outcome.UNKNOWN))
    added = {
        position: dataclasses.replace(
            table.get(position, nothing), met=met.get(position, ()), gone=gone.get(position, ())
        )
        for position in met.keys() | gone.keys()
    }
    return {**table, **added}


def collect(
    project: Project,
    paths: Iterable[str],
    mentioning: Mentioning,
    met: Mapping[Position, tuple[Evidence, ...]] = _NOTHING_MET,
) -> Collected:
    """What is known of the many-tree maps in the files at `paths`.

    Further files are looked at where they mention a function that maps several trees. `met` are the
    calls in which a run met a None: their trees are suspected at other calls.
    """
    collector = _Collector(project, met)
    return Collected(collector.table(paths, mentioning), collector.failures)


class _Collector:
    def __init__(self, project: Project, met: Mapping[Position, tuple[Evidence, ...]]) -> None:
        self.failures: dict[str, Exception] = {}
        self._met = met
        self._project = project
        self._calls: dict[str, dict[ast.Call, TreeCall]] = {}
        self._known: dict[Position, Known] = {}
        self._entries: dict[str, Sequence[Closure]] = {}
        self._signs: dict[ast.Call, Evidence | None] = {}
        self._interpreter = Interpreter(project, self._calls_of)

    def table(self, paths: Iterable[str], mentioning: Mentioning) -> Table:
        wanted = _Wanted(self._project, self._calls_of)
        wanted.add_modules(self._modules(paths))
        self._interpreter.mapping = wanted.functions
        self._interpreter.budget = _BASE_STEPS + _STEPS_A_CALL * wanted.many
        searched: set[str] = set()
        for distance in range(_ROUNDS + 1):
            for module in wanted.modules:
                self._run(module, wanted, distance)
            if distance == _ROUNDS or self._interpreter.budget <= 0:
                break
            wanted.add_modules(self._modules(mentioning(frozenset(wanted.names - searched))))
            searched |= wanted.names
            wanted.add_users(distance + 1)
        return self._known

    def _run(self, module: Module, wanted: _Wanted, distance: int) -> None:
        if wanted.top.get(module.path) == distance:
            self._note_safely(module, lambda: self._interpreter.run_module(module))
        for closure in self._closures(module):
            if wanted.functions.get(closure.node) == distance:
                least = _LEAST_STEPS if distance == 0 else 0
                run = partial(self._interpreter.run, closure, least)
                self._note_safely(module, run)

    def _note_safely(self, module: Module, run: Callable[[], Notes]) -> None:
        """Note what a run shows; one that fails costs its file, not the others."""
        try:
            self._note(run())
        except Exception as error:
            self.failures.setdefault(module.path, error)

    def _closures(self, module: Module) -> Sequence[Closure]:
        if module.path not in self._entries:
            self._entries[module.path] = tuple(closures_in(module))
        return self._entries[module.path]

    def _modules(self, paths: Iterable[str]) -> list[Module]:
        found = (self._project.module(path) for path in sorted(paths))
        return [module for module in found if module is not None]

    def _calls_of(self, module: Module) -> dict[ast.Call, TreeCall]:
        if module.path not in self._calls:
            found = tree_calls(module, self._project)
            self._calls[module.path] = {call.node: call for call in found}
        return self._calls[module.path]

    def _note(self, notes: Notes) -> None:
        met = [
            (sighting, meeting(sighting.trees[0], sighting.trees[1:], self._interpreter.classes))
            for sighting in notes.sightings
            if len(sighting.trees) > 1
        ]
        met = [(s, weakened(s, found, notes.sightings)) for s, found in met]
        for sighting, found in met:
            self._mind(sighting, found, notes)
        for sighting, found in met:
            node = sighting.node
            position = (sighting.module.path, node.lineno, node.col_offset)
            suspicion = suspicion_of(sighting.trees[0], sighting.scope)
            minded = notes.minded_at(suspicion) if suspicion is not None else None
            first, others = sighting.trees[0], sighting.trees[1:]
            empty = found.outcome >= Outcome.MAY_MEET and meets_empty(first, others)
            known = Known(found, minded, empty)
            self._known[position] = _stronger(self._known.get(position), known)

    def _mind(self, sighting: Sighting, found: Meeting, notes: Notes) -> None:
        """A tree that may hold None at one call is suspected at the others of the function too.

        Else a second run would find there what the first one wrote here.
        """
        suspicion = suspicion_of(sighting.trees[0], sighting.scope)
        if suspicion is None or suspicion in notes.minded:
            return
        node = sighting.node
        met = self._met.get((sighting.module.path, node.lineno, node.col_offset))
        if met:
            evidence: Evidence | None = met[0]
        elif found.outcome >= Outcome.MAY_MEET:
            evidence = found.why[0] if found.why else None
        else:
            evidence = self._sign(sighting.call) if sighting.call is not None else None
        if evidence is not None:
            notes.minded[suspicion] = evidence

    def _sign(self, call: TreeCall) -> Evidence | None:
        if call.node not in self._signs:
            lines = self._project.text(call.module.path).split("\n")
            place = Place(call.scope, call.module, self._project)
            found = signs(call, place, lambda n: lines[n - 1] if 0 < n <= len(lines) else "")
            self._signs[call.node] = next(found, None)
        return self._signs[call.node]


@dataclass(frozen=True, slots=True)
class _Use:
    """A name or attribute that is read, with where it stands."""

    node: ast.Name | ast.Attribute
    scope: Scope
    module: Module


def _stronger(one: Known | None, other: Known) -> Known:
    if one is None:
        return other
    strongest = max(one.strongest, other.strongest, key=lambda m: m.outcome)
    return Known(strongest, one.minded or other.minded, one.meets_empty or other.meets_empty)


class _Wanted:
    """The functions worth running: those that map several trees, and those that use them.

    `functions` says how many calls each is away from a tree map, `top` the same for the statements of
    modules themselves, `names` what such functions, and the classes whose methods they are, go by;
    `many` counts the many-tree maps.
    """

    def __init__(
        self, project: Project, calls_of: Callable[[Module], Mapping[ast.Call, TreeCall]]
    ) -> None:
        self.modules: list[Module] = []
        self.names: set[str] = set()
        self._project = project
        self._calls_of = calls_of
        self.functions: dict[ast.AST, int] = {}
        self.top: dict[str, int] = {}
        self.many = 0
        self._owners: set[ast.AST] = set()

    def add_modules(self, modules: Iterable[Module]) -> None:
        """Look at further modules; those known already are passed over."""
        known = {module.path for module in self.modules}
        for module in modules:
            if module.path in known:
                continue
            self.modules.append(module)
            for call in self._calls_of(module).values():
                if call.many:
                    self.many += 1
                    self._add(_outermost(call.scope), module, 0)
            for attribute, scope in module.scopes.attributes:
                if attribute.attr == "flatten_up_to":
                    self.many += 1
                    self._add(_outermost(scope), module, 0)

    def add_users(self, distance: int) -> None:
        """Add the functions that use one of those there are, `distance` calls away from a tree map."""
        uses = list(self._uses())
        alike = Counter(use.node.attr for use in uses if isinstance(use.node, ast.Attribute))
        for use in uses:
            if self._is_meant(use, alike):
                self._add(_outermost(use.scope), use.module, distance)

    def _uses(self) -> Iterator[_Use]:
        """Every name and attribute that goes by one of the names."""
        names = frozenset(self.names)
        for module in self.modules:
            for name, scope in module.scopes.names:
                if name.id in names:
                    yield _Use(name, scope, module)
            for attribute, scope in module.scopes.attributes:
                if attribute.attr in names:
                    yield _Use(attribute, scope, module)

    def _is_meant(self, use: _Use, alike: Mapping[str, int]) -> bool:
        """Whether a name stands for one of the functions, or, as an attribute of who knows what, may."""
        entities = self._project.resolve(use.node, use.scope, use.module)
        if entities:
            nodes = [entity.node for entity in entities if isinstance(entity, Definition)]
            return any(node in self.functions or node in self._owners for node in nodes)
        return isinstance(use.node, ast.Attribute) and alike[use.node.attr] <= _MAX_ALIKE

    def _add(self, function: ast.AST | None, module: Module, distance: int) -> None:
        if function is None:
            self.top.setdefault(module.path, distance)
            return
        self.functions.setdefault(function, distance)
        self.names.add(getattr(function, "name", ""))
        owner = module.scopes.parents.get(function)
        if isinstance(owner, ast.ClassDef):
            self.names.add(owner.name)
            self._owners.add(owner)


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
