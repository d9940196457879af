"""Reads a project's modules into a flow of values, statement by statement, expression by expression.

Each function is read once, whoever calls it; a variable holds whatever is ever bound to it. Whatever
is done with a value that is not known to be harmless makes the placeholders in it leave sight.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from jaxmigrate.analysis.calls import TreeCall, tree_calls
from jaxmigrate.analysis.on_none import Place
from jaxmigrate.analysis.placeholders.flow import Flow
from jaxmigrate.analysis.placeholders.narrowing import (
    asked_for_none,
    bound_in,
    key_of,
    leaves,
    told,
    without,
)
from jaxmigrate.analysis.placeholders.things import (
    ANY,
    LEAF,
    Arguments,
    Bound,
    Box,
    Class,
    File,
    Form,
    Function,
    FunctionNode,
    Key,
    Leaf,
    Method,
    Node,
    Outside,
    Placeholder,
    Spot,
    Structure,
    Thing,
    Unseen,
    Wrapped,
    spot_of,
)
from jaxmigrate.analysis.project import Definition, Entity, External, Module, Project, Submodule
from jaxmigrate.analysis.scopes import Kind, Scope, all_parameters
from jaxmigrate.analysis.trees.classes import Classes


@dataclass(frozen=True, slots=True)
class Here:
    """Where an expression is read: what is known to be no placeholder, and whether errors are caught."""

    module: Module
    scope: Scope
    narrow: frozenset[str] = frozenset()
    trying: bool = False
    function: FunctionNode | None = None

    def knowing(self, narrow: frozenset[str]) -> Here:
        """The same place with more known."""
        return replace(self, narrow=self.narrow | narrow)


@dataclass(frozen=True, slots=True, eq=False)
class Asker:
    """`operand is None`, or `is not None`."""

    node: ast.Compare
    module: Module
    operand: Node
    positive: bool


@dataclass(frozen=True, slots=True, eq=False)
class Annotation:
    """An annotation, and the node of what it is about."""

    expr: ast.expr
    module: Module
    scope: Scope
    node: Node


@dataclass(frozen=True, slots=True)
class Leaving:
    """Where a placeholder leaves sight, and how."""

    spot: Spot
    words: str


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """A placeholder in the first tree of a map, and what stands opposite.

    `is_leaf` says that the map takes it for a leaf.
    """

    call: TreeCall
    placeholder: Placeholder
    others: tuple[Node, ...]
    is_leaf: bool


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A use whose answer may be another for another placeholder: a truth test, a class test."""

    node: Node
    spot: Spot
    classes: frozenset[str] = frozenset()


class Reader:
    """The flow of a project's values, and what was seen of its placeholders."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.flow = Flow()
        self.classes = Classes(project)
        self.variables: dict[tuple[Scope, str], Node] = {}
        self.returned: dict[FunctionNode, Node] = {}
        self.functions: dict[FunctionNode, Function] = {}
        self.called: set[FunctionNode] = set()
        self.out_of_sight: set[FunctionNode] = set()
        self.objects: dict[ast.AST, Box] = {}
        self.askers: list[Asker] = []
        self.annotations: list[Annotation] = []
        self.leavings: dict[Placeholder, list[Leaving]] = {}
        self.in_trees: set[Placeholder] = set()
        self.meetings: list[Meeting] = []
        self.truths: list[Use] = []
        self.class_tests: list[Use] = []
        self.equalities: list[tuple[Node, Node, Spot]] = []
        self.opposite: dict[Box, tuple[Node, ...]] = {}
        self._stricts: list[tuple[Node, Here, Spot]] = []
        self._caught: set[FunctionNode] = set()
        self._calls_of: dict[FunctionNode, set[FunctionNode]] = {}
        self._left: set[tuple[Node, Spot]] = set()
        self._marked: set[Node] = set()
        self._images: dict[tuple[Key, Box], Box] = {}
        self._imaged: set[tuple[Key, Box]] = set()
        self._calls: dict[Module, Mapping[ast.Call, TreeCall]] = {}

    def read(self, modules: Iterable[Module]) -> None:
        """Read modules and let everything flow, functions that nobody calls last."""
        for module in modules:
            self._calls[module] = {c.node: c for c in tree_calls(module, self.project)}
            self.block(module.tree.body, Here(module, module.scopes.module))
        self.flow.solve()
        for function in list(self.functions.values()):
            self._enter(function)
        self.flow.solve()
        self._catch()
        self.flow.solve()

    def tree_call(self, node: ast.Call, module: Module) -> TreeCall | None:
        """The tree map that a call is."""
        return self._calls.get(module, {}).get(node)

    def place(self, here: Here) -> Place:
        """The place to resolve names from."""
        return Place(here.scope, here.module, self.project)

    # What becomes of placeholders

    def leave(self, node: Node, spot: Spot, words: str) -> None:
        """What is at a node goes where the tool cannot look."""
        if (node, spot) in self._left:
            return
        self._left.add((node, spot))

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Placeholder):
                self._leaves(thing, Leaving(spot, words))
            elif isinstance(thing, Function):
                self.expose(thing, spot, words)
            elif isinstance(thing, Bound):
                self.expose(thing.function, spot, words)
            elif isinstance(thing, Wrapped):
                self.leave(thing.function, spot, words)
            elif isinstance(thing, Structure):
                self.leave(thing.tree, spot, words)

        self.flow.deep(node, arrived)

    def _leaves(self, placeholder: Placeholder, leaving: Leaving) -> None:
        found = self.leavings.setdefault(placeholder, [])
        if leaving not in found:
            found.append(leaving)

    def mark(self, node: Node) -> None:
        """What is at a node is a tree: the placeholders in it are placeholders in a tree."""
        if node in self._marked:
            return
        self._marked.add(node)

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Placeholder) and not isinstance(thing.node, ast.arg):
                self.in_trees.add(thing)

        def box(thing: Thing) -> None:
            if isinstance(thing, Box) and not thing.sealed:
                thing.watch(lambda _, part: self.flow.deep(part, arrived, seen_by_jax=True))

        self.flow.listen(node, box)

    def strict(self, node: Node, here: Here, expr: ast.AST) -> None:
        """A use that fails for None: harmless, unless the failure is caught."""
        self._stricts.append((node, here, spot_of(expr, here.module)))

    def _catch(self) -> None:
        """What fails for None where the failure is caught, there or in a caller, is asked for None by it."""
        caught = set(self._caught)
        waiting = list(caught)
        while waiting:
            more = self._calls_of.get(waiting.pop(), set()) - caught
            caught |= more
            waiting.extend(more)
        for node, here, spot in self._stricts:
            if here.trying or here.function in caught:
                self.shallow(node, spot, "used where its error is caught")

    def expose(self, function: Function, spot: Spot, words: str) -> None:
        """Anybody may call a function: nothing is known of its arguments, and its results leave sight."""
        if function.node in self.out_of_sight:
            return
        self.out_of_sight.add(function.node)
        scope = function.module.scopes.scope_of[function.node]
        unseen = Unseen(spot_of(function.node, function.module), "a parameter")
        for parameter in all_parameters(function.node.args):
            self.flow.add(self.variable(scope, parameter.arg), unseen)
        self._defaults(function, set())
        self.leave(self.results(function), spot, words)

    def _enter(self, function: Function) -> None:
        """A function that nothing in the project calls is called from elsewhere."""
        node = function.node
        if isinstance(node, ast.Lambda) or node in self.called or node in self.out_of_sight:
            return
        if node.name in ("tree_flatten", "tree_unflatten", "tree_flatten_with_keys"):
            return
        self.out_of_sight.add(node)
        scope = function.module.scopes.scope_of[node]
        owner = function.scope.node
        parameters = all_parameters(node.args)
        if isinstance(owner, ast.ClassDef) and parameters:
            definition = Definition(function.module, owner, function.scope.parent or function.scope)
            first = parameters.pop(0)
            self.flow.add(self.variable(scope, first.arg), self.object_of(definition))
        unseen = Unseen(spot_of(node, function.module), f"a parameter of {node.name}()")
        for parameter in parameters:
            self.flow.add(self.variable(scope, parameter.arg), unseen)
        self._defaults(function, set())
        found = [n for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
        spot = spot_of(found[0] if found else node, function.module)
        words = f"returned by {node.name}(), which nothing in the project calls"
        self.leave(self.results(function), spot, words)

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
        return Box("object", made, definition, children, sealed=facts.children is None)

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
            )
        is_new = (key, box) not in self._imaged
        self._imaged.add((key, box))
        return self._images[key, origin], is_new

    # Names

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

    def _name(self, name: str, scope: Scope, module: Module, node: ast.AST) -> Node:
        owner = scope.owner(name)
        if owner is None:
            return self._entities(
                self.project.lookup(name, scope, module), spot_of(node, module), name
            )
        kinds = {binding.kind for binding in owner.bindings[name]}
        if kinds == {Kind.IMPORT}:
            entities = self.project.lookup(name, scope, module)
            return self._entities(entities, spot_of(node, module), name)
        if Kind.IMPORT in kinds:
            joined = self.flow.node()
            self.flow.flow(self.variable(owner, name), joined)
            entities = self.project.lookup(name, scope, module)
            imported = [e for e in entities if not isinstance(e, Definition) or e.scope != owner]
            self.flow.flow(self._entities(imported, spot_of(node, module), name), joined)
            return joined
        return self.variable(owner, name)

    def _entities(self, entities: Sequence[Entity], spot: Spot, words: str) -> Node:
        node = self.flow.node()
        if not entities:
            self.flow.add(node, Unseen(spot, words))
        for entity in entities:
            if isinstance(entity, External):
                self.flow.add(node, Outside(entity.name))
            elif isinstance(entity, Submodule):
                self.flow.add(node, File(entity.module))
            elif isinstance(entity, Definition):
                self.flow.flow(self.variable(entity.scope, entity.node.name), node)
            else:
                names = [
                    name
                    for name, bindings in entity.scope.bindings.items()
                    if any(binding.value is entity.expr for binding in bindings)
                ]
                for name in names:
                    self.flow.flow(self.variable(entity.scope, name), node)
        return node

    # Statements

    def block(self, body: Sequence[ast.stmt], here: Here) -> Here:
        """Read statements in turn; gives what is known behind them."""
        for statement in body:
            here = self._statement(statement, here)
        return here

    def _statement(self, node: ast.stmt, here: Here) -> Here:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._function(node, here)
        elif isinstance(node, ast.ClassDef):
            self._class(node, here)
        elif isinstance(node, ast.Assign):
            form = _form_for(node.targets)
            value = self.value(node.value, here, form)
            for target in node.targets:
                self.assign(target, value, here)
        elif isinstance(node, ast.AnnAssign):
            self._annotated(node, here)
        elif isinstance(node, ast.AugAssign):
            self._augmented(node, here)
        elif isinstance(node, ast.Return):
            self._return(node, here)
        elif isinstance(node, ast.If):
            return self._if(node, here)
        elif isinstance(node, ast.While):
            inner = replace(here, narrow=without(here.narrow, bound_in(node)))
            self.truth(node.test, inner)
            self.block(node.body, inner.knowing(told(node.test, self.place(inner)).if_true))
            self.block(node.orelse, inner)
        elif isinstance(node, ast.For | ast.AsyncFor):
            inner = replace(here, narrow=without(here.narrow, bound_in(node)))
            items = self.flow.node()
            self.elements(self.value(node.iter, here), items, here, node.iter)
            self.assign(node.target, items, inner)
            self.block(node.body, inner)
            self.block(node.orelse, inner)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                value = self.value(item.context_expr, here)
                self.leave(value, spot_of(item.context_expr, here.module), "used in a with")
                if item.optional_vars is not None:
                    unseen = Unseen(spot_of(item.context_expr, here.module), "a with")
                    self.assign(item.optional_vars, self.flow.node(unseen), here)
            catching = any(_suppresses(item.context_expr) for item in node.items)
            self.block(node.body, replace(here, trying=here.trying or catching))
        elif isinstance(node, ast.Try | ast.TryStar):
            catching = any(_catches(handler.type) for handler in node.handlers)
            self.block(node.body, replace(here, trying=here.trying or catching))
            here = replace(here, narrow=without(here.narrow, bound_in(node)))
            for handler in node.handlers:
                if handler.name:
                    unseen = Unseen(spot_of(handler, here.module), "an exception")
                    self.flow.add(
                        self.variable(_home(here.scope, handler.name), handler.name), unseen
                    )
                self.block(handler.body, here)
            self.block(node.orelse, here)
            self.block(node.finalbody, here)
        elif isinstance(node, ast.Assert):
            self.truth(node.test, here)
            here = here.knowing(told(node.test, self.place(here)).if_true)
            if node.msg is not None:
                self.value(node.msg, here)
        elif isinstance(node, ast.Expr):
            self.value(node.value, here)
        else:
            for part in ast.iter_child_nodes(node):
                if isinstance(part, ast.Subscript) and isinstance(node, ast.Delete):
                    self.flow.listen(self.value(part.value, here), _shrink)
                elif isinstance(part, ast.expr) and not isinstance(node, ast.Delete):
                    value = self.value(part, here)
                    self.leave(value, spot_of(node, here.module), _words_of(node))
                elif isinstance(part, ast.match_case):
                    self._match_case(part, here)
        return replace(here, narrow=without(here.narrow, bound_in(node)))

    def _match_case(self, case: ast.match_case, here: Here) -> None:
        for node in ast.walk(case.pattern):
            name = getattr(node, "name", None) or getattr(node, "rest", None)
            if isinstance(name, str):
                unseen = Unseen(spot_of(case.pattern, here.module), "a match")
                self.flow.add(self.variable(_home(here.scope, name), name), unseen)
        if case.guard is not None:
            self.truth(case.guard, here)
        self.block(case.body, here)

    def _if(self, node: ast.If, here: Here) -> Here:
        self.truth(node.test, here)
        said = told(node.test, self.place(here))
        then = self.block(node.body, here.knowing(said.if_true))
        other = self.block(node.orelse, here.knowing(said.if_false))
        if leaves(node.body):
            return replace(here, narrow=other.narrow)
        if leaves(node.orelse):
            return replace(here, narrow=then.narrow)
        return replace(here, narrow=then.narrow & other.narrow)

    def _return(self, node: ast.Return, here: Here) -> None:
        if here.function is None:
            return
        results = self.results(self.functions[here.function])
        if node.value is not None:
            self.flow.flow(self.value(node.value, here, Form.RETURNED), results)
        else:
            spot = spot_of(node, here.module)
            self.flow.add(results, Placeholder(spot, Form.IMPLICIT, node, here.module))

    def _annotated(self, node: ast.AnnAssign, here: Here) -> None:
        if node.value is not None:
            form = _form_for([node.target])
            self.assign(node.target, self.value(node.value, here, form), here)
        if isinstance(node.target, ast.Name):
            variable = self.variable(_home(here.scope, node.target.id), node.target.id)
            self.annotations.append(Annotation(node.annotation, here.module, here.scope, variable))

    def _augmented(self, node: ast.AugAssign, here: Here) -> None:
        value = self.value(node.value, here)
        self.strict(value, here, node)
        joined = self.flow.node(LEAF)
        self.flow.flow_unless_placeholder(value, joined)
        self.assign(node.target, joined, here)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, here: Here) -> None:
        function = self._signature(node, here)
        scope = here.module.scopes.scope_of[node]
        result = self.results(function)
        if node.returns is not None:
            self.annotations.append(Annotation(node.returns, here.module, here.scope, result))
        self.block(node.body, Here(here.module, scope, function=node))
        if _is_generator(node):
            self.flow.add(
                result, Unseen(spot_of(node, here.module), f"the generator {node.name}()")
            )
        elif not leaves(node.body) and _gives_something(node):
            last = node.body[-1]
            spot = spot_of(last, here.module)
            self.flow.add(result, Placeholder(spot, Form.IMPLICIT, node, here.module))
        value = self.flow.node(function)
        for decorator in reversed(node.decorator_list):
            value = self._decorate(decorator, value, here)
        self.flow.flow(value, self.variable(_home(here.scope, node.name), node.name))

    def _decorate(self, decorator: ast.expr, value: Node, here: Here) -> Node:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = self.project.name_of(called, here.scope, here.module) or ""
        if name in _HARMLESS_DECORATORS or name.startswith("pytest.mark"):
            return value
        result = self.flow.node()
        function = self.value(decorator, here)
        self.call(function, Arguments((value,)), result, decorator, here)
        return result

    def _signature(self, node: FunctionNode, here: Here) -> Function:
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

    def _class(self, node: ast.ClassDef, here: Here) -> None:
        definition = Definition(here.module, node, here.scope)
        scope = here.module.scopes.scope_of[node]
        inner = Here(here.module, scope)
        for statement in node.body:
            if not isinstance(statement, ast.AnnAssign):
                self._statement(statement, inner)
        for own in self.classes.facts(definition).fields:
            if own.scope is not scope:
                continue
            variable = self.variable(scope, own.name)
            if own.annotation is not None:
                self.annotations.append(Annotation(own.annotation, here.module, scope, variable))
            if own.default is None:
                continue
            if isinstance(own.default, ast.Call) and not hasattr(own.default, "lineno"):
                self.call(self.value(own.default.func, inner), Arguments(), variable, node, inner)
            else:
                is_tree = self.classes.facts(definition).children is not None
                form = Form.BUILT if is_tree and not own.static else Form.ARGUMENT
                self.flow.flow(self.value(own.default, inner, form), variable)
        thing = Class(definition)
        self.flow.add(self.variable(_home(here.scope, node.name), node.name), thing)

    def assign(self, target: ast.expr, value: Node, here: Here) -> None:
        """Bind a target to what is at a node."""
        if isinstance(target, ast.Name):
            self.flow.flow(value, self.variable(_home(here.scope, target.id), target.id))
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value, here)
        elif isinstance(target, ast.Tuple | ast.List):
            starred = any(isinstance(item, ast.Starred) for item in target.elts)
            for index, item in enumerate(target.elts):
                part = self.flow.node()
                self.flow.load(value, ANY if starred else index, part)
                if isinstance(item, ast.Starred):
                    box = Box("list", spot_of(item, here.module))
                    self.flow.flow(part, box.rest)
                    part = self.flow.node(box)
                self.assign(item, part, here)
        elif isinstance(target, ast.Subscript):
            self.value(target.slice, here)
            owner = self.value(target.value, here)
            self.store(owner, _key(target.slice), value, spot_of(target, here.module))
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value, here)
            self.store(owner, target.attr, value, spot_of(target, here.module))

    def store(self, owner: Node, key: Key, value: Node, spot: Spot) -> None:
        """Put what is at a node into what is at another."""

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Box):
                thing.empty = None
                self.flow.flow(value, thing.field(key))
            elif isinstance(thing, File) and isinstance(key, str):
                self.flow.flow(value, self.variable(thing.module.scopes.module, key))
            elif not isinstance(thing, Leaf | Placeholder):
                self.leave(value, spot, "put into something that is not in sight")

        self.flow.listen(owner, arrived)

    # Expressions

    def value(self, expr: ast.expr, here: Here, form: Form = Form.BOUND) -> Node:
        """The node of what an expression gives; `form` is what a None in its place would be."""
        node = self._value(expr, here, form)
        known = isinstance(expr, ast.Name | ast.Subscript | ast.Attribute) and here.narrow
        if not known or key_of(expr) not in known:
            return node
        narrowed = self.flow.node()
        self.flow.flow_unless_placeholder(node, narrowed)
        return narrowed

    def _value(self, expr: ast.expr, here: Here, form: Form) -> Node:
        if isinstance(expr, ast.Constant):
            if expr.value is not None:
                return self.flow.node(LEAF)
            spot = spot_of(expr, here.module)
            return self.flow.node(Placeholder(spot, form, expr, here.module))
        if isinstance(expr, ast.Name):
            return self._name(expr.id, here.scope, here.module, expr)
        if isinstance(expr, ast.Attribute):
            result = self.flow.node()
            owner = self.value(expr.value, here)
            self.strict(owner, here, expr)
            self.attribute(owner, expr.attr, result, spot_of(expr, here.module))
            return result
        if isinstance(expr, ast.Subscript):
            result = self.flow.node()
            owner = self.value(expr.value, here)
            self.strict(owner, here, expr)
            self.value(expr.slice, here)
            if isinstance(expr.slice, ast.Slice):
                self.flow.flow_unless_placeholder(owner, result)
            else:
                self.flow.load(owner, _key(expr.slice), result)
            return result
        if isinstance(expr, ast.Dict):
            return self._dict(expr, here)
        if isinstance(expr, ast.List | ast.Tuple | ast.Set):
            return self._sequence(expr, here)
        if isinstance(expr, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            return self._comprehension(expr, here)
        if isinstance(expr, ast.IfExp):
            self.truth(expr.test, here)
            said = told(expr.test, self.place(here))
            result = self.flow.node()
            self.flow.flow(self.value(expr.body, here.knowing(said.if_true), form), result)
            self.flow.flow(self.value(expr.orelse, here.knowing(said.if_false), form), result)
            return result
        if isinstance(expr, ast.BoolOp):
            return self._bool(expr, here, form)
        if isinstance(expr, ast.UnaryOp):
            if isinstance(expr.op, ast.Not):
                self.truth(expr.operand, here)
            else:
                self.strict(self.value(expr.operand, here), here, expr)
            return self.flow.node(LEAF)
        if isinstance(expr, ast.BinOp):
            return self._binary(expr, here)
        if isinstance(expr, ast.Compare):
            return self._compare(expr, here)
        if isinstance(expr, ast.Call):
            from jaxmigrate.analysis.placeholders.calling import read_call

            return read_call(self, expr, here)
        if isinstance(expr, ast.Lambda):
            function = self._signature(expr, here)
            scope = here.module.scopes.scope_of[expr]
            body = self.value(expr.body, Here(here.module, scope, function=expr), Form.RETURNED)
            self.flow.flow(body, self.results(function))
            return self.flow.node(function)
        if isinstance(expr, ast.NamedExpr):
            value = self.value(expr.value, here, form)
            scope = _home(here.scope.function, expr.target.id)
            self.flow.flow(value, self.variable(scope, expr.target.id))
            return value
        if isinstance(expr, ast.Slice):
            for bound in (expr.lower, expr.upper, expr.step):
                if bound is not None:
                    self.value(bound, here)
            return self.flow.node(LEAF)
        for part in ast.iter_child_nodes(expr):
            if isinstance(part, ast.expr):
                value = self.value(part, here)
                self.leave(value, spot_of(expr, here.module), _words_of(expr))
        text = isinstance(expr, ast.JoinedStr | ast.FormattedValue)
        unseen = Unseen(spot_of(expr, here.module), _words_of(expr))
        return self.flow.node(LEAF if text else unseen)

    def truth(self, expr: ast.expr, here: Here) -> None:
        """Read an expression that is asked whether it is true."""
        if isinstance(expr, ast.BoolOp):
            narrow = here
            for part in expr.values:
                self.truth(part, narrow)
                said = told(part, self.place(narrow))
                narrow = narrow.knowing(
                    said.if_true if isinstance(expr.op, ast.And) else said.if_false
                )
        elif isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.Not):
            self.truth(expr.operand, here)
        else:
            self.truths.append(Use(self.value(expr, here), spot_of(expr, here.module)))

    def _bool(self, expr: ast.BoolOp, here: Here, form: Form) -> Node:
        result = self.flow.node()
        for part in expr.values[:-1]:
            value = self.value(part, here, form)
            self.truths.append(Use(value, spot_of(part, here.module)))
            if isinstance(expr.op, ast.Or):
                self.flow.flow_unless_placeholder(value, result)
            else:
                self.flow.flow(value, result)
            said = told(part, self.place(here))
            here = here.knowing(said.if_true if isinstance(expr.op, ast.And) else said.if_false)
        self.flow.flow(self.value(expr.values[-1], here, form), result)
        return result

    def _binary(self, expr: ast.BinOp, here: Here) -> Node:
        result = self.flow.node(LEAF)
        for part in (expr.left, expr.right):
            value = self.value(part, here)
            self.strict(value, here, expr)
            if isinstance(expr.op, ast.Add | ast.BitOr | ast.Mult):
                self.flow.flow_unless_placeholder(value, result)
            elif isinstance(expr.op, ast.Mod):
                self.leave(value, spot_of(expr, here.module), "put into text")
        return result

    def _compare(self, expr: ast.Compare, here: Here) -> Node:
        asked = asked_for_none(expr)
        if asked is not None:
            operand, positive = asked
            node = self.value(operand, here)
            self.askers.append(Asker(expr, here.module, node, positive))
            return self.flow.node(LEAF)
        sides = [expr.left, *expr.comparators]
        spot = spot_of(expr, here.module)
        equal = all(isinstance(op, ast.Eq | ast.NotEq) for op in expr.ops)
        values = [self.value(side, here, Form.ARGUMENT) for side in sides]
        if equal and len(values) == 2:
            self.equal(values[0], values[1], spot)
        elif all(isinstance(op, ast.In | ast.NotIn) for op in expr.ops) and len(values) == 2:
            self.shallow(values[0], spot, "looked for in something")
            self.flow.listen(values[1], lambda t: self._looked_in(t, spot))
        elif any(isinstance(op, ast.Is | ast.IsNot) for op in expr.ops):
            for value in values:
                self.shallow(value, spot, "compared by is")
        else:
            for value in values:
                self.strict(value, here, expr)
        return self.flow.node(LEAF)

    def _looked_in(self, thing: Thing, spot: Spot) -> None:
        """`x in t` compares the items of a sequence, the keys of a dictionary."""
        if isinstance(thing, Box) and thing.kind != "dict":
            self.leave(self.flow.node(thing), spot, "looked into by in")

    def shallow(self, node: Node, spot: Spot, words: str) -> None:
        """The placeholders at a node itself leave sight, not those in containers there."""

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Placeholder):
                self._leaves(thing, Leaving(spot, words))

        self.flow.listen(node, arrived)

    def equal(self, one: Node, other: Node, spot: Spot) -> None:
        """Two values are compared: what is a placeholder in one must stay one in the other."""
        self.equalities.append((one, other, spot))
        for node in (one, other):
            self.flow.listen(node, lambda thing: self._structure_compared(thing, spot))

    def _structure_compared(self, thing: Thing, spot: Spot) -> None:
        if isinstance(thing, Structure):
            self.leave(thing.tree, spot, "its structure is compared")

    def _dict(self, expr: ast.Dict, here: Here) -> Node:
        box = Box("dict", spot_of(expr, here.module), empty=None if expr.keys else "{}")
        result = self.flow.node()
        for key, item in zip(expr.keys, expr.values, strict=True):
            if key is None:
                self.flow.flow(self.value(item, here), result)
                self.merge(self.value(item, here), box)
                continue
            self.value(key, here, Form.ARGUMENT)
            self.flow.flow(self.value(item, here, Form.BUILT), box.field(_key(key)))
        return self.flow.node(box)

    def merge(self, source: Node, box: Box) -> None:
        """The parts of what is at a node are parts of a box too."""

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Box):
                thing.watch(lambda key, part: self.flow.flow(part, box.field(key)))
            elif isinstance(thing, Unseen):
                self.flow.add(box.rest, thing)

        self.flow.listen(source, arrived)

    def _sequence(self, expr: ast.List | ast.Tuple | ast.Set, here: Here) -> Node:
        kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(expr)]
        empty = "()" if kind == "tuple" and not expr.elts else None
        box = Box(kind, spot_of(expr, here.module), empty=empty)
        starred = any(isinstance(item, ast.Starred) for item in expr.elts)
        for index, item in enumerate(expr.elts):
            if isinstance(item, ast.Starred):
                self.elements(self.value(item.value, here), box.rest, here, item)
            else:
                node = box.rest if starred else box.field(index)
                self.flow.flow(self.value(item, here, Form.BUILT), node)
        return self.flow.node(box)

    def _comprehension(
        self, expr: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, here: Here
    ) -> Node:
        scope = here.module.scopes.scope_of[expr]
        inner = replace(here, scope=scope)
        for index, generator in enumerate(expr.generators):
            items = self.flow.node()
            source = self.value(generator.iter, here if index == 0 else inner)
            self.elements(source, items, here, generator.iter)
            names = bound_in(generator.target)
            inner = replace(inner, narrow=without(inner.narrow, names))
            self.assign(generator.target, items, inner)
            for condition in generator.ifs:
                self.truth(condition, inner)
                inner = inner.knowing(told(condition, self.place(inner)).if_true)
        kind = "dict" if isinstance(expr, ast.DictComp) else "list"
        box = Box(kind, spot_of(expr, here.module))
        if isinstance(expr, ast.DictComp):
            self.value(expr.key, inner)
            item = expr.value
        else:
            item = expr.elt
        self.flow.flow(self.value(item, inner, Form.BUILT), box.rest)
        return self.flow.node(box)

    def elements(self, source: Node, target: Node, here: Here, expr: ast.AST) -> None:
        """What iterating over what is at a node gives."""
        self.strict(source, here, expr)

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Box) and thing.kind == "dict":
                self.flow.add(target, LEAF)
            elif isinstance(thing, Box):
                thing.watch(lambda _, part: self.flow.flow(part, target))
            elif isinstance(thing, Leaf | Unseen):
                self.flow.add(target, thing)
            elif not isinstance(thing, Placeholder):
                self.flow.add(target, Unseen(spot_of(expr, here.module), "an iteration"))

        self.flow.listen(source, arrived)

    def attribute(self, owner: Node, name: str, target: Node, spot: Spot) -> None:
        """`target` is the attribute `name` of what is at `owner`."""

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Box) and thing.cls is not None:
                self._object_attribute(thing, thing.cls, name, target)
            elif isinstance(thing, Box):
                self.flow.add(target, Method(thing, name))
            elif isinstance(thing, Outside):
                self.flow.add(target, Outside(f"{thing.name}.{name}"))
            elif isinstance(thing, File):
                self._member(thing.module, name, target, spot)
            elif isinstance(thing, Class):
                self._class_attribute(thing.definition, name, target, spot)
            elif isinstance(thing, Leaf):
                self.flow.add(target, LEAF)
            elif isinstance(thing, Structure) and name == "unflatten":
                holder = self.flow.node(Outside("jax.tree.unflatten"))
                self.flow.add(target, Wrapped(holder, Arguments((self.flow.node(thing),))))
            elif isinstance(thing, Structure) and name.startswith("num_"):
                self.flow.add(target, LEAF)
            elif isinstance(thing, Structure):
                self.leave(self.flow.node(thing), spot, f"its structure is asked for {name}")
                self.flow.add(target, Unseen(spot, f".{name}"))
            elif isinstance(thing, Unseen):
                self.flow.add(target, Unseen(spot, f".{name}", thing.about_trees))
            elif not isinstance(thing, Placeholder):
                self.flow.add(target, Unseen(spot, f".{name}"))

        self.flow.listen(owner, arrived)

    def _member(self, module: Module, name: str, target: Node, spot: Spot) -> None:
        bound = module.scopes.module.bindings.get(name)
        if bound is not None and all(binding.kind is not Kind.IMPORT for binding in bound):
            self.flow.flow(self.variable(module.scopes.module, name), target)
            return
        entities = self.project.member(Submodule(module), name)
        self.flow.flow(self._entities(entities, spot, f".{name}"), target)

    def _object_attribute(self, box: Box, definition: Definition, name: str, target: Node) -> None:
        self.flow.flow(box.field(name), target)
        self.flow.flow(box.rest, target)
        found = self.classes.method(definition, name)
        owner = self.flow.node(box)
        if found is not None:
            method, _ = found
            self._bind(method, owner, target)
            return
        if name == "_replace":
            self.flow.add(target, Method(box, name))
            return
        outside = self._outside_bases(definition)
        if outside and not self._is_field(definition, name) and not box.field(name).things:
            self.flow.add(target, Outside(f"{outside[0]}.{name}"))
        for base in self.classes.lineage(definition):
            scope = base.module.scopes.scope_of[base.node]
            if name in scope.bindings and not self._is_field(definition, name):
                self.flow.flow(self.variable(scope, name), target)

    def _is_field(self, definition: Definition, name: str) -> bool:
        return any(f.name == name for f in self.classes.facts(definition).fields)

    def _outside_bases(self, definition: Definition) -> list[str]:
        found: list[str] = []
        for base in self.classes.lineage(definition):
            assert isinstance(base.node, ast.ClassDef)
            for expr in base.node.bases:
                name = self.project.name_of(expr, base.scope, base.module)
                if name is not None and name != "builtins.object":
                    found.append(name)
        return found

    def _bind(self, method: Definition, owner: Node, target: Node) -> None:
        node = method.node
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        names = {self.project.name_of(d, method.scope, method.module) for d in node.decorator_list}
        variable = self.variable(method.scope, node.name)
        here = Here(method.module, method.scope)
        if "builtins.staticmethod" in names:
            self.flow.flow(variable, target)
            return

        def arrived(thing: Thing) -> None:
            if isinstance(thing, Function) and names & _PROPERTIES:
                self.call(self.flow.node(Bound(thing, owner)), Arguments(), target, node, here)
            elif isinstance(thing, Function):
                self.flow.add(target, Bound(thing, owner))
            elif isinstance(thing, Wrapped):
                self.flow.add(target, Wrapped(self.flow.node(thing), Arguments((owner,))))
            else:
                self.flow.add(target, thing)

        self.flow.listen(variable, arrived)

    def _class_attribute(self, definition: Definition, name: str, target: Node, spot: Spot) -> None:
        for base in self.classes.lineage(definition):
            scope = base.module.scopes.scope_of[base.node]
            if name in scope.bindings:
                self.flow.flow(self.variable(scope, name), target)
                return
        outside = self._outside_bases(definition)
        if outside:
            self.flow.add(target, Outside(f"{outside[0]}.{name}"))
        else:
            self.flow.add(target, Unseen(spot, f".{name}"))

    # Calls of functions

    def call(
        self, callee: Node, arguments: Arguments, result: Node, expr: ast.AST, here: Here
    ) -> None:
        """Call whatever is at a node."""
        from jaxmigrate.analysis.placeholders.calling import call_thing

        self.flow.listen(
            callee, lambda thing: call_thing(self, thing, arguments, result, expr, here)
        )

    def invoke(self, function: Function, arguments: Arguments, result: Node, here: Here) -> None:
        """Call a function of the project."""
        node = function.node
        self.called.add(node)
        if here.trying:
            self._caught.add(node)
        if here.function is not None:
            self._calls_of.setdefault(here.function, set()).add(node)
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
            self.objects[arg] = Box(kind, spot_of(arg, function.module))
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
                value = self.value(default, here, Form.ARGUMENT)
                self.flow.flow(value, self.variable(scope, parameter.arg))


def _catches(classes: ast.expr | None) -> bool:
    """Whether a handler of these classes may catch what a use of None raises."""
    if isinstance(classes, ast.Tuple):
        return any(_catches(cls) for cls in classes.elts)
    name = classes.attr if isinstance(classes, ast.Attribute) else getattr(classes, "id", "")
    return name not in _OTHER_ERRORS


def _suppresses(context: ast.expr) -> bool:
    """Whether a `with` of this expression goes on after an error: `suppress(…)`, `pytest.raises(…)`."""
    function = context.func if isinstance(context, ast.Call) else context
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name.lower().startswith(("suppress", "raises", "assertraises"))


def _shrink(thing: Thing) -> None:
    if isinstance(thing, Box):
        thing.shrinks = True


def _home(scope: Scope, name: str) -> Scope:
    return scope.owner(name) or scope


def _key(expr: ast.expr) -> Key:
    if isinstance(expr, ast.Constant) and expr.value is not None:
        negative = isinstance(expr.value, int) and expr.value < 0
        return ANY if negative else expr.value
    return ANY


def _form_for(targets: Sequence[ast.expr]) -> Form:
    parts = all(isinstance(target, ast.Subscript) for target in targets)
    return Form.BUILT if parts else Form.BOUND


def _is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in _own_nodes(node))


def _gives_something(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(n, ast.Return) and n.value is not None for n in _own_nodes(node))


def _own_nodes(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterable[ast.AST]:
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        current = waiting.pop()
        yield current
        if not isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(current))


def _words_of(node: ast.AST) -> str:
    return {
        ast.Raise: "raised",
        ast.Yield: "yielded",
        ast.YieldFrom: "yielded",
        ast.Await: "awaited",
        ast.JoinedStr: "put into text",
        ast.FormattedValue: "put into text",
        ast.Match: "matched",
    }.get(type(node), f"used in a way that is not known ({type(node).__name__})")


_OTHER_ERRORS = frozenset(
    {
        *(
            "EOFError",
            "FileExistsError",
            "FileNotFoundError",
            "IOError",
            "ImportError",
            "IndexError",
        ),
        *("KeyError", "KeyboardInterrupt", "MemoryError", "ModuleNotFoundError", "NameError"),
        *("NotImplementedError", "OSError", "OverflowError", "PermissionError", "RecursionError"),
        *("StopIteration", "SystemExit", "TimeoutError", "UnicodeDecodeError", "ZeroDivisionError"),
    }
)
"""Errors that no use of None raises."""

_PROPERTIES = frozenset({"builtins.property", "functools.cached_property"})
_HARMLESS_DECORATORS = _PROPERTIES | {
    "builtins.staticmethod",
    "builtins.classmethod",
    "functools.wraps",
    "abc.abstractmethod",
    "typing.override",
    "typing.overload",
    "functools.lru_cache",
    "functools.cache",
}
