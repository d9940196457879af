"""Reads a project's modules into a flow of values, and notes what becomes of its placeholders.

Each function is read once, whoever calls it; a variable holds whatever is ever bound to it. Whatever
is done with a value that is not known to be harmless makes the placeholders in it leave sight.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

from jaxmigrate.analysis.calls import TreeCall, tree_calls
from jaxmigrate.analysis.on_none import Place
from jaxmigrate.analysis.placeholders.calling import call_thing
from jaxmigrate.analysis.placeholders.expressions import read_truth, read_value
from jaxmigrate.analysis.placeholders.flow import Flow
from jaxmigrate.analysis.placeholders.leaving import Leavings
from jaxmigrate.analysis.placeholders.marking import Marks
from jaxmigrate.analysis.placeholders.methods import (
    FLATTENING,
    class_of,
    enter_special_methods,
    give_class_away,
    leave_module,
    receive,
)
from jaxmigrate.analysis.placeholders.narrowing import disturbs
from jaxmigrate.analysis.placeholders.objects import (
    merge_parts,
    read_attribute,
    read_elements,
    read_member,
    store_part,
)
from jaxmigrate.analysis.placeholders.records import Annotation, Asker, Here, Leaving, Meeting, Use
from jaxmigrate.analysis.placeholders.statements import read_block
from jaxmigrate.analysis.placeholders.syntax import static_parameters
from jaxmigrate.analysis.placeholders.things import (
    LEAF,
    Arguments,
    Box,
    Class,
    File,
    Form,
    Function,
    FunctionNode,
    Key,
    Node,
    Placeholder,
    Spot,
    Structure,
    Thing,
    Unseen,
    spot_of,
)
from jaxmigrate.analysis.project import Definition, Module, Project
from jaxmigrate.analysis.scopes import Scope, all_parameters
from jaxmigrate.analysis.trees.classes import Classes

_NOT_CATCHING: Final = tuple(f"passed to {name}." for name in ("jax", "lax", "jnp", "jax.lax"))
"""What is done with functions that lets their errors pass."""


def _may_be_caught(leaving: Leaving) -> bool:
    """Whether a function that leaves sight so may be called where its errors are caught."""
    words = leaving.words
    return words.startswith("passed to ") and not words.startswith(_NOT_CATCHING)


def _is_implicit(node: FunctionNode) -> bool:
    """Whether Python calls a function where no call is seen: `__len__`, `__iter__`, `__exit__`."""
    name = getattr(node, "name", "")
    return name.startswith("__") and name not in ("__init__", "__call__", "__post_init__")


class Reader:
    """The flow of a project's values, and what was seen of its placeholders."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.flow = Flow()
        self.classes = Classes(project)
        self.variables: dict[tuple[Scope, str], Node] = {}
        self.returned: dict[FunctionNode, Node] = {}
        self.functions: dict[FunctionNode, Function] = {}
        self.first_trees: dict[ast.Call, Node] = {}
        self.stored: set[str] = set()
        self.called: set[FunctionNode] = set()
        self.out_of_sight: set[FunctionNode] = set()
        self.objects: dict[ast.AST, Box] = {}
        self.shape = Box("tuple", Spot("", 0, 0))
        self.flow.add(self.shape.rest, LEAF)
        self.made: dict[tuple[ast.AST, ast.AST], Box] = {}
        self.modules: Sequence[Module] = ()
        self.definitions: list[Definition] = []
        self.askers: list[Asker] = []
        self.annotations: list[Annotation] = []
        self.leavings: Mapping[Placeholder, Sequence[Leaving]] = {}
        self.in_trees: Set[Placeholder] = frozenset()
        self.marks = Marks()
        self.as_trees: set[Placeholder] = set()
        self.meetings: list[Meeting] = []
        self.stand_ins: list[tuple[Node, Node]] = []
        self.truths: list[Use] = []
        self.class_tests: list[Use] = []
        self.equalities: list[tuple[Node, Node, Spot]] = []
        self.by_arrays: list[tuple[Node, Node, Spot]] = []
        self.hashed: list[Use] = []
        self.opposite: dict[Box, tuple[Node, ...]] = {}
        self.mapped_parts: dict[tuple[Box, Key], Node] = {}
        self._stored = Node()
        self._stored_parts: Node | None = None
        self._disturbing: dict[ast.AST, bool] = {}
        self._stricts: list[tuple[Node, Here, Spot]] = []
        self._caught: set[FunctionNode] = set()
        self._calls_of: dict[FunctionNode, set[FunctionNode]] = {}
        self._sight = Leavings(self.flow, self._expose, self._give)
        self._exposed: dict[Function, Node] = {}
        self._images: dict[tuple[Key, Box], Box] = {}
        self._given_by_default: dict[ast.expr, Node] = {}
        self._imaged: set[tuple[Key, Box]] = set()
        self._instances: dict[ast.AST, Node] = {}
        self._subclasses: dict[ast.AST, list[Definition]] = {}
        self._given: set[tuple[ast.AST, bool]] = set()
        self._calls: dict[Module, Mapping[ast.Call, TreeCall]] = {}

    def read(self, modules: Iterable[Module]) -> None:
        """Read modules and let everything flow, functions that nobody calls last."""
        modules = self.modules = list(modules)
        for module in modules:
            stores = (a.attr for a, _ in module.scopes.attributes if isinstance(a.ctx, ast.Store))
            self.stored.update(stores)
            for node, scope in module.scopes.scope_of.items():
                if isinstance(node, ast.ClassDef):
                    self.definitions.append(Definition(module, node, scope.parent or scope))
        for definition in self.definitions:
            for base in self.classes.lineage(definition):
                self._subclasses.setdefault(base.node, []).append(definition)
        for module in modules:
            self._calls[module] = {c.node: c for c in tree_calls(module, self.project)}
            read_block(self, module.tree.body, Here(module, module.scopes.module))
        enter_special_methods(self)
        self.flow.solve()
        for function in list(self.functions.values()):
            self._enter(function)
        self.flow.solve()
        self._caught.update(f.node for f in self._sight.functions(_may_be_caught))
        self._catch()
        self.leavings = self._sight.found(self._exposed)
        self.in_trees = self.marks.found()

    def tree_call(self, node: ast.Call, module: Module) -> TreeCall | None:
        """The tree map that a call is."""
        return self._calls.get(module, {}).get(node)

    def place(self, here: Here) -> Place:
        """The place to resolve names from."""
        return Place(here.scope, here.module, self.project)

    def leave(self, node: Node, spot: Spot, words: str) -> None:
        """What is at a node goes where the tool cannot look."""
        self._sight.leave(node, spot, words)

    def _give(self, thing: Thing) -> None:
        """What goes along with an object, a class or a module that leaves sight."""
        if isinstance(thing, Box):
            if thing.empty == "{}":
                thing.empty = None
                words = "what may be put into an empty dictionary"
                self.flow.add(thing.rest, Unseen(thing.made, words))
            if thing.cls is not None:
                self._give_away(thing.cls, whole=False)
        elif isinstance(thing, Class):
            self._give_away(thing.definition, whole=True)
        elif isinstance(thing, File):
            first = thing.module.tree.body[:1]
            spot = spot_of(first[0] if first else thing.module.tree, thing.module)
            self.leave_module(thing.module, spot, "in a module that is given away")

    def _give_away(self, definition: Definition, *, whole: bool) -> None:
        if (definition.node, whole) not in self._given:
            self._given.add((definition.node, whole))
            give_class_away(self, definition, "in a class that is given away", whole=whole)

    def leave_module(self, module: Module, spot: Spot, words: str) -> None:
        """Everything at the top of a module goes where the tool cannot look."""
        if (module.tree, True) not in self._given:
            self._given.add((module.tree, True))
            leave_module(self, module, spot, words)

    def mark(self, node: Node) -> None:
        """What is at a node is a tree: the placeholders in it are placeholders in a tree."""
        self.marks.tree(node)

    def note_tree(self, node: Node) -> None:
        """What is at a node is taken for a tree by a function of JAX."""

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Placeholder):
                self.as_trees.add(thing)

        self.flow.deep(node, arrived, seen_by_jax=True)

    def strict(self, node: Node, here: Here, expr: ast.AST) -> None:
        """A use that fails for None: harmless, unless the failure is caught."""
        self._stricts.append((node, here, spot_of(expr, here.module)))

    def _catch(self) -> None:
        """What fails for None where the failure is caught, there or in a caller, is asked for None by it."""
        caught = self._caught | {f for f in self.functions if _is_implicit(f)}
        waiting = list(caught)
        while waiting:
            more = self._calls_of.get(waiting.pop(), set()) - caught
            caught |= more
            waiting.extend(more)
        for node, here, spot in self._stricts:
            if here.trying or here.function in caught:
                self.shallow(node, spot, "used where its error is caught")

    def _expose(self, function: Function) -> None:
        """Anybody may call a function: nothing is known of its arguments, and its results leave sight."""
        if function.node in self.out_of_sight:
            return
        self.out_of_sight.add(function.node)
        scope = function.module.scopes.scope_of[function.node]
        receiver = receive(self, function)
        unseen = Unseen(spot_of(function.node, function.module), "a parameter")
        for parameter in all_parameters(function.node.args):
            if parameter is not receiver:
                self.flow.add(self.variable(scope, parameter.arg), unseen)
        self._defaults(function, set())
        self._exposed[function] = self.results(function)
        self._sight.follow(self.results(function))

    def _enter(self, function: Function) -> None:
        """A function that nothing in the project calls is called from elsewhere."""
        node = function.node
        if isinstance(node, ast.Lambda) or node in self.called or node in self.out_of_sight:
            return
        if node.name in FLATTENING and class_of(function) is not None:
            return
        words = f"returned by {node.name}(), which nothing in the project calls"
        self.enter(function, words)

    def enter(self, function: Function, words: str, others: Node | None = None) -> None:
        """A function is called from elsewhere: a method on any object, with `others` of its class."""
        node = function.node
        assert not isinstance(node, ast.Lambda)
        self.out_of_sight.add(node)
        scope = function.module.scopes.scope_of[node]
        parameters = all_parameters(node.args)
        definition, first = class_of(function), receive(self, function)
        if definition is not None and first is not None:
            parameters.remove(first)
            # An object that nothing in the project makes.
            if not self.instances(definition).things and others is None:
                self.flow.add(self.variable(scope, first.arg), self.object_of(definition))
        unseen = Unseen(spot_of(node, function.module), f"a parameter of {node.name}()")
        for parameter in parameters:
            self.flow.add(self.variable(scope, parameter.arg), unseen)
            if others is not None:
                self.flow.flow(others, self.variable(scope, parameter.arg))
        self._defaults(function, set())
        found = [n for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
        spot = spot_of(found[0] if found else node, function.module)
        self.leave(self.results(function), spot, words)

    def function_of(self, definition: Definition) -> Function | None:
        """The function that a definition was read as."""
        node = definition.node
        return None if isinstance(node, ast.ClassDef) else self.functions.get(node)

    def instances(self, definition: Definition) -> Node:
        """Every object of a class and of its subclasses."""
        if definition.node not in self._instances:
            self._instances[definition.node] = Node()
        return self._instances[definition.node]

    def subclasses(self, definition: Definition) -> Sequence[Definition]:
        """A class and those that come of it."""
        return self._subclasses.get(definition.node, [definition])

    def _register(self, box: Box) -> Box:
        """Note an object for the methods that nobody is seen to call."""
        if box.cls is not None:
            for base in self.classes.lineage(box.cls):
                self.flow.add(self.instances(base), box)
        return box

    def object_of(self, definition: Definition) -> Box:
        """The one box for the objects of a class that are not told apart."""
        node = definition.node
        if node not in self.objects:
            self.objects[node] = self.new_object(definition, spot_of(node, definition.module))
        return self.objects[node]

    def new_object(self, definition: Definition, made: Spot) -> Box:
        """A box for an object of a class."""
        facts = self.classes.facts(definition)
        every = facts.children is not None and facts.every_attribute
        children = None if every else (facts.children or frozenset())
        sealed = facts.children is None
        positions = self.classes.positions(definition)
        box = Box("object", made, definition, children, sealed, positions=positions)
        return self._register(box)

    def image(self, box: Box, key: Key) -> tuple[Box, bool]:
        """What the map or copy that `key` stands for makes of a box, and whether that is asked anew.

        What it makes of another box of the same origin is not told apart: else a tree that goes through
        the same map again and again would have no end of images.
        """
        origin = box.origin or box
        if (key, origin) not in self._images:
            self._images[key, origin] = Box(
                origin.kind,
                origin.made,
                origin.cls,
                origin.children,
                origin.sealed,
                origin,
                origin.empty,
                positions=origin.positions,
            )
            self._register(self._images[key, origin])
        self._images[key, origin].sources.add(box)
        is_new = (key, box) not in self._imaged
        self._imaged.add((key, box))
        return self._images[key, origin], is_new

    def variable(self, scope: Scope, name: str) -> Node:
        """The node of a variable."""
        key = (scope, name)
        if key not in self.variables:
            self.variables[key] = Node()
        return self.variables[key]

    def results(self, function: Function) -> Node:
        """The node of what a function gives."""
        if function.node not in self.returned:
            self.returned[function.node] = Node()
        return self.returned[function.node]

    def signature(self, node: FunctionNode, here: Here) -> Function:
        """A function, its annotations noted."""
        function = Function(node, here.module, here.scope)
        self.functions[node] = function
        scope = here.module.scopes.scope_of[node]
        for parameter in all_parameters(node.args):
            if parameter.annotation is not None:
                variable = self.variable(scope, parameter.arg)
                self.annotations.append(
                    Annotation(parameter.annotation, here.module, here.scope, variable)
                )
        return function

    def shallow(self, node: Node, spot: Spot, words: str) -> None:
        """The placeholders at a node itself leave sight, not those in containers there."""
        self._sight.shallow(node, spot, words)

    def equal(self, one: Node, other: Node, spot: Spot, *, by_array: bool = True) -> None:
        """Two values are compared: what is a placeholder in one must stay one in the other.

        `by_array` says that one of them may be an array, which compares each of its items.
        """
        self.equalities.append((one, other, spot))
        if by_array:
            self.by_arrays.append((one, other, spot))
        for node in (one, other):
            self.flow.deep(node, lambda thing: self._structure_compared(thing, spot))

    def _structure_compared(self, thing: Thing, spot: Spot) -> None:
        if isinstance(thing, Structure):
            self.leave(thing.tree, spot, "its structure is compared")

    def call(
        self, callee: Node, arguments: Arguments, result: Node, expr: ast.AST, here: Here
    ) -> None:
        """Call whatever is at a node."""
        self.flow.listen(
            callee, lambda thing: call_thing(self, thing, arguments, result, expr, here)
        )

    def invoke(self, function: Function, arguments: Arguments, result: Node, here: Here) -> None:
        """Call a function of the project."""
        node = function.node
        self.called.add(node)
        self.called_from(node, here)
        scope = function.module.scopes.scope_of[node]
        args = node.args
        positional = [*args.posonlyargs, *args.args]
        filled: set[str] = set()
        for index, value in enumerate(arguments.given):
            if index < len(positional):
                filled.add(positional[index].arg)
                self.flow.flow(value, self.variable(scope, positional[index].arg))
            elif args.vararg is not None:
                self.flow.flow(value, self._extra(function, args.vararg, "tuple").rest)
        if arguments.starred is not None:
            for parameter in positional[len(arguments.given) :]:
                self.flow.flow(arguments.starred, self.variable(scope, parameter.arg))
            if args.vararg is not None:
                self.flow.flow(arguments.starred, self._extra(function, args.vararg, "tuple").rest)
        known = {a.arg for a in (*args.args, *args.kwonlyargs)}
        for name, value in arguments.named.items():
            if name in known:
                filled.add(name)
                self.flow.flow(value, self.variable(scope, name))
            elif args.kwarg is not None:
                self.flow.flow(value, self._extra(function, args.kwarg, "dict").field(name))
        if arguments.double is not None:
            for name in known - filled:
                self.flow.flow(arguments.double, self.variable(scope, name))
            if args.kwarg is not None:
                self.flow.flow(arguments.double, self._extra(function, args.kwarg, "dict").rest)
        for arg, kind in ((args.vararg, "tuple"), (args.kwarg, "dict")):
            if arg is not None:
                self._extra(function, arg, kind)
        self._defaults(function, filled)
        self.flow.flow(self.results(function), result)

    def _extra(self, function: Function, arg: ast.arg, kind: str) -> Box:
        """The box of what `*args` or `**kwargs` takes."""
        if arg not in self.objects:
            self.objects[arg] = Box(kind, spot_of(arg, function.module), shrinks=True)
        scope = function.module.scopes.scope_of[function.node]
        self.flow.add(self.variable(scope, arg.arg), self.objects[arg])
        return self.objects[arg]

    def _defaults(self, function: Function, filled: set[str]) -> None:
        args = function.node.args
        positional = [*args.posonlyargs, *args.args]
        pairs = [
            *zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True),
            *zip(args.kwonlyargs, args.kw_defaults, strict=True),
        ]
        scope = function.module.scopes.scope_of[function.node]
        here = Here(function.module, function.scope)
        for parameter, default in pairs:
            if default is not None and parameter.arg not in filled:
                if default not in self._given_by_default:
                    self._given_by_default[default] = self.value(default, here, Form.ARGUMENT)
                value = self._given_by_default[default]
                self.flow.flow(value, self.variable(scope, parameter.arg))

    # What is read elsewhere

    def value(self, expr: ast.expr, here: Here, form: Form = Form.BOUND) -> Node:
        """The node of what an expression gives; `form` is what a None in its place would be."""
        return read_value(self, expr, here, form)

    def key(self, expr: ast.expr, here: Here) -> None:
        """Read an expression that something is looked up by."""
        value = self.value(expr, here, Form.ARGUMENT)
        if not isinstance(expr, ast.Constant) or expr.value is None:
            self.leave_key(value, spot_of(expr, here.module), "used as a key")

    def leave_key(self, node: Node, spot: Spot, words: str) -> None:
        """What is hashed or looked for is compared with what others hold, all that is in it included."""

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Placeholder | Box | Structure):
                self.leave(self.flow.node(thing), spot, words)

        self.flow.listen(node, arrived)

    def note_stored(self, node: Node) -> None:
        """What is at a node is put into something that others may hold."""
        self.flow.flow(node, self._stored)

    def flow_what_was_stored(self, source: Node, target: Node) -> None:
        """The placeholders at `source` that were put there after it was made are at `target`."""
        if self._stored_parts is None:
            parts = self._stored_parts = self.flow.node()
            self.flow.deep(self._stored, lambda thing: self.flow.add(parts, thing))
        stored = self._stored_parts

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Placeholder) and thing in source.things and thing in stored.things:
                self.flow.add(target, thing)

        self.flow.listen(source, arrived)
        self.flow.listen(stored, arrived)

    def disturbs(self, node: ast.AST, here: Here) -> bool:
        """Whether something may run in a node that changes what others hold."""
        if node not in self._disturbing:
            self._disturbing[node] = disturbs(node, self.place(here))
        return self._disturbing[node]

    def hash_parameters(self, node: Node, options: ast.AST) -> None:
        """The arguments of a function are hashed: those that `static_…` of a call name, all for a cache."""
        names, numbers = static_parameters(options)

        def arrived(thing: Thing) -> None:
            if not isinstance(thing, Function):
                return
            scope = thing.module.scopes.scope_of[thing.node]
            args = thing.node.args
            positional = [*args.posonlyargs, *args.args]
            for parameter in all_parameters(args):
                index = positional.index(parameter) if parameter in positional else None
                if names is None or parameter.arg in names or index in numbers:
                    variable = self.variable(scope, parameter.arg)
                    self.hashed.append(Use(variable, spot_of(thing.node, thing.module)))

        self.flow.listen(node, arrived)

    def called_from(self, node: FunctionNode, here: Here) -> None:
        """A function is called from somewhere: its errors may be caught there."""
        if here.trying:
            self._caught.add(node)
        if here.function is not None:
            self._calls_of.setdefault(here.function, set()).add(node)

    def truth(self, expr: ast.expr, here: Here) -> None:
        """Read an expression that is asked whether it is true."""
        read_truth(self, expr, here)

    def attribute(self, owner: Node, name: str, target: Node, spot: Spot) -> None:
        """`target` is the attribute `name` of what is at `owner`."""
        read_attribute(self, owner, name, target, spot)

    def elements(self, source: Node, target: Node, here: Here, expr: ast.AST) -> None:
        """What iterating over what is at a node gives."""
        read_elements(self, source, target, here, expr)

    def member(self, module: Module, name: str, target: Node, spot: Spot) -> None:
        """`target` is what a name at the top of a module stands for."""
        read_member(self, module, name, target, spot)

    def store(self, owner: Node, key: Key, value: Node, spot: Spot) -> None:
        """Put what is at a node into what is at another."""
        store_part(self, owner, key, value, spot)

    def merge(self, source: Node, box: Box) -> None:
        """The parts of what is at a node are parts of a box too."""
        merge_parts(self, source, box)
