"""Runs functions on abstract values, and notes what meets in each many-tree map.

A function is run as an entry, with nothing known of its parameters but their defaults and annotations,
and again for calls of it that pass something known. Whatever is not understood gives an unknown value;
depth and number of steps are bounded, so that the cost grows with the code that is looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.on_none import Place
from jaxmigrate.analysis.project import (
    Definition,
    Entity,
    External,
    Module,
    Project,
    Submodule,
)
from jaxmigrate.analysis.project import Value as Assigned
from jaxmigrate.analysis.scopes import Kind, Scope
from jaxmigrate.analysis.trees import expressions, invocation, objects, statements
from jaxmigrate.analysis.trees.classes import Classes
from jaxmigrate.analysis.trees.memory import Memory
from jaxmigrate.analysis.trees.reach import Conditions, Reach
from jaxmigrate.analysis.trees.references import (
    ClassReference,
    Closure,
    ExternalReference,
    Frame,
    FunctionNode,
    ModuleReference,
)
from jaxmigrate.analysis.trees.values import (
    UNKNOWN,
    Fresh,
    Is,
    Token,
    Value,
    referring,
    replace,
    unknown,
)
from jaxmigrate.model import Evidence

MAX_CALLS: Final = 6
"""How many calls deep a function is followed into those it calls."""

MAX_ASIDE: Final = 4
"""The same for functions that do not lead to a tree map, but may make a tree for one."""

MAX_STEPS: Final = 2_500
"""How many expressions are looked at for one entry; what is left then counts as unknown."""


Suspicion: TypeAlias = tuple[Token, Is, ast.AST]
"""A tree, as it is known at some place in a function."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What met in a tree map once: its trees, starred ones taken apart where they are known.

    `call` is None for a `flatten_up_to`; `conditions` are what it hung on that it was reached.
    """

    node: ast.Call
    module: Module
    scope: Scope
    trees: tuple[Value, ...]
    call: TreeCall | None = None
    conditions: Conditions = ()


@dataclass(slots=True)
class Notes:
    """What running an entry showed: the tree maps met, and the values whose Nones are minded."""

    sightings: list[Sighting] = field(default_factory=list)
    minded: dict[Suspicion, Evidence] = field(default_factory=dict)

    def minded_at(self, suspicion: Suspicion) -> Evidence | None:
        """Evidence that the Nones of a tree are minded, or those of two others from the same tuple."""
        found = self.minded.get(suspicion)
        tuple_of = _tuple_of(suspicion)
        if found is not None or tuple_of is None:
            return found
        siblings = [e for other, e in self.minded.items() if _tuple_of(other) == tuple_of]
        return siblings[0] if len(siblings) >= _ENOUGH_SIBLINGS else None


_ENOUGH_SIBLINGS: Final = 2


def _tuple_of(suspicion: Suspicion) -> tuple[Token, ast.AST] | None:
    """The tuple that a tree is an item of, and the function where it is met."""
    shape, _, function = suspicion
    if isinstance(shape, tuple) and len(shape) == 3 and shape[0] == "child":
        return (shape[1], function) if isinstance(shape[2], int) else None
    return None


class Interpreter:
    """Runs the functions of one project. `mapping` are those known to lead to tree maps.

    `budget` is how many expressions may still be looked at, by all entries together.
    """

    def __init__(
        self, project: Project, calls_of: Callable[[Module], Mapping[ast.Call, TreeCall]]
    ) -> None:
        self.project = project
        self.classes = Classes(project)
        self.notes = Notes()
        self.memory = Memory()
        self.reach = Reach()
        self.mapping: Collection[ast.AST] = ()
        self.budget = MAX_STEPS
        self._globals: dict[tuple[str, str], Value] = {}
        self._calls_of = calls_of
        self._modules: dict[str, Frame] = {}
        self._closures: dict[ast.AST, Closure] = {}
        self._class_references: dict[ast.AST, ClassReference] = {}
        self._attributes: dict[tuple[ast.AST, str], Value] = {}
        self._active: list[FunctionNode] = []
        self._steps = MAX_STEPS
        self._tokens = 0

    def run(self, closure: Closure, least: int = 0) -> Notes:
        """Run a function as an entry, with `least` expressions even if the budget is used up."""
        self._begin(least)
        invocation.run_as_entry(closure, self)
        self.end()
        return self.notes

    def run_module(self, module: Module) -> Notes:
        """Run a module's own statements."""
        self._begin()
        self._modules.pop(module.path, None)
        self.module_frame(module)
        self.end()
        return self.notes

    @property
    def exhausted(self) -> bool:
        """Whether the steps of this entry are used up, so that what comes now is incomplete."""
        return self._steps < 0

    def evaluate(self, expr: ast.expr, frame: Frame) -> Value:
        """What an expression gives in a frame; unknown for what is not understood."""
        self._steps -= 1
        if self._steps < 0:
            return UNKNOWN
        handler = expressions.HANDLERS.get(expr.__class__)
        return handler(expr, frame, self) if handler is not None else UNKNOWN

    def execute(self, body: list[ast.stmt], frame: Frame) -> bool:
        """Run statements; whether what follows them is reached."""
        return statements.execute(body, frame, self)

    def tree_call(self, node: ast.Call, module: Module) -> TreeCall | None:
        """The tree map that a call is, or None."""
        return self._calls_of(module).get(node)

    def fresh(self, node: ast.AST, module: Module) -> Value:
        """An unknown value that nothing else is the same as."""
        self._tokens += 1
        return unknown(Fresh(module.path, getattr(node, "lineno", 0), self._tokens))

    @property
    def newest(self) -> int:
        """The number of the newest token."""
        return self._tokens

    def made(self, value: Value, node: ast.AST, module: Module) -> Value:
        """A container that was just made: its Nones are where no other's are, until it is mapped."""
        return replace(value, shape=self.fresh(node, module).shape)

    def place(self, frame: Frame) -> Place:
        """The place to resolve names from, in a frame."""
        return Place(frame.scope, frame.module, self.project)

    def module_frame(self, module: Module) -> Frame:
        """The frame of a module, its statements run the first time it is asked for."""
        if module.path not in self._modules:
            frame = Frame(module, module.scopes.module, None)
            self._modules[module.path] = frame
            statements.execute(module.tree.body, frame, self)
        return self._modules[module.path]

    def global_value(self, name: str, frame: Frame) -> Value:
        """The value of a name that no function binds: a module's own, imported, or built in."""
        module = frame.module
        bindings = module.scopes.module.bindings.get(name, ())
        if any(b.kind in (Kind.ASSIGN, Kind.OTHER) for b in bindings):
            home = self.module_frame(module)
            if name in home.variables:
                return home.variables[name]
        key = (module.path, name)
        if key not in self._globals:
            entities = self.project.lookup(name, module.scopes.module, module)
            self._globals[key] = self._of_entities(entities)
        return self._globals[key]

    def imported(self, name: str, frame: Frame) -> Value:
        """The value of a name that an import inside a function binds."""
        return self._of_entities(self.project.lookup(name, frame.scope, frame.module))

    def _of_entities(self, entities: tuple[Entity, ...]) -> Value:
        if not entities:
            return UNKNOWN
        return self.entity_value(entities[0])

    def entity_value(self, entity: Entity) -> Value:
        """The value of something that a name resolves to."""
        if isinstance(entity, External):
            return referring(ExternalReference(entity.name))
        if isinstance(entity, Submodule):
            return referring(ModuleReference(entity.module))
        if isinstance(entity, Assigned):
            return self._assigned(entity)
        return self.definition_value(entity)

    def definition_value(self, definition: Definition) -> Value:
        """The value of a function or class that stands in a module or a class body."""
        node = definition.node
        if isinstance(node, ast.ClassDef):
            if node not in self._class_references:
                self._class_references[node] = ClassReference(definition)
            return referring(self._class_references[node])
        if node not in self._closures:
            self._closures[node] = Closure(node, definition.module, definition.scope, None)
        return invocation.decorated(self._closures[node], self)

    def _assigned(self, entity: Assigned) -> Value:
        module = entity.module
        for name, bindings in module.scopes.module.bindings.items():
            if any(binding.value is entity.expr for binding in bindings):
                home = self.module_frame(module)
                return home.variables.get(name, UNKNOWN)
        return UNKNOWN

    def attribute_of_class(self, reference: ClassReference, name: str) -> Value | None:
        """What an object's attribute may hold by all that its class's methods store in it."""
        key = (reference.definition.node, name)
        if key not in self._attributes:
            self._attributes[key] = UNKNOWN
            self._attributes[key] = objects.stored_attribute(reference, name, self) or UNKNOWN
        found = self._attributes[key]
        return None if found is UNKNOWN else found

    def enter(self, node: FunctionNode) -> bool:
        """Begin an activation; False if it would go too deep, or round in a circle."""
        deepest = MAX_CALLS if node in self.mapping else MAX_ASIDE
        if isinstance(node, ast.Lambda):
            deepest = 2 * MAX_CALLS
        if len(self._active) >= deepest or self._active.count(node) > 1 or self._steps < 0:
            return False
        self._active.append(node)
        return True

    def leave(self) -> None:
        """End the activation begun last."""
        self._active.pop()

    def see(self, call: TreeCall, trees: tuple[Value, ...]) -> None:
        """Note what met in a tree map."""
        conditions = self.reach.conditions
        self.notes.sightings.append(
            Sighting(call.node, call.module, call.scope, trees, call, conditions)
        )

    def see_flatten(self, node: ast.Call, frame: Frame, trees: tuple[Value, ...]) -> None:
        """Note what met in a `flatten_up_to`."""
        self.notes.sightings.append(Sighting(node, frame.module, frame.scope, trees))

    def mind(self, value: Value, scope: Scope, evidence: Evidence) -> None:
        """Note that None is taken for a leaf of this value somewhere in the function around `scope`."""
        suspicion = suspicion_of(value, scope)
        if suspicion is not None:
            self.notes.minded.setdefault(suspicion, evidence)

    def _begin(self, least: int = 0) -> None:
        self.notes = Notes()
        self._active.clear()
        self._steps = min(MAX_STEPS, max(self.budget, least))
        self.budget -= self._steps

    def end(self) -> None:
        """End an entry: steps it did not need are free for others."""
        self.budget += max(self._steps, 0)


def suspicion_of(value: Value, scope: Scope) -> Suspicion | None:
    """What a value is the same as wherever the function around `scope` meets it again."""
    if value.shape is None:
        return None
    while scope.parent is not None and not isinstance(
        scope.node, ast.FunctionDef | ast.AsyncFunctionDef
    ):
        scope = scope.parent
    return value.shape, value.none, scope.node


def closures_in(module: Module) -> Iterator[Closure]:
    """The functions that stand at the top of a module or in its classes, as entries."""
    for node, scope in module.scopes.scope_of.items():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parent = scope.parent
            if parent is not None and isinstance(parent.node, ast.Module | ast.ClassDef):
                yield Closure(node, module, parent, None)
