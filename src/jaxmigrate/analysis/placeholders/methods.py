"""Methods that Python, JAX and libraries call: no call in sight says which objects they see."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from jaxmigrate.analysis.placeholders.objects import bind, outside_bases
from jaxmigrate.analysis.placeholders.records import Here
from jaxmigrate.analysis.placeholders.things import (
    Arguments,
    Box,
    Class,
    Function,
    FunctionNode,
    Node,
    Spot,
    Thing,
    Unseen,
    spot_of,
)
from jaxmigrate.analysis.project import Definition, Module
from jaxmigrate.analysis.scopes import all_parameters

if TYPE_CHECKING:
    from jaxmigrate.analysis.placeholders.reading import Reader

_CALLED_IN_SIGHT: Final = frozenset({"__init__", "__new__", "__call__"})
"""Special methods whose calls are followed."""
_NO_OPERATORS: Final = _CALLED_IN_SIGHT | {
    *("__bool__", "__check_init__", "__enter__", "__exit__", "__getattr__", "__getitem__"),
    *("__hash__", "__init_subclass__", "__iter__", "__len__", "__post_init__", "__repr__"),
    *("__setattr__", "__setitem__", "__str__"),
}
_HOOKS: Final = frozenset({"setup", "setUp"})
_CONSTRUCTING: Final = frozenset({"__init__", "__new__", "__init_subclass__"})
_OF_THE_CLASS: Final = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})
"""Methods that are given the class, without a decorator."""
FLATTENING: Final = frozenset(
    {"tree_flatten", "tree_flatten_with_keys", "tree_unflatten", "flatten_with_keys"}
)
_HARMLESS_OF_BASES: Final = frozenset(
    {
        *("__init__", "__init_subclass__", "__post_init__"),
        *("setUp", "setUpClass", "tearDown", "tearDownClass"),
    }
)
"""Methods of bases out of sight that keep nothing of an object, as far as anybody minds."""


def class_of(function: Function) -> Definition | None:
    """The class that a function is a method of."""
    scope = function.scope
    if not isinstance(scope.node, ast.ClassDef):
        return None
    return Definition(function.module, scope.node, scope.parent or scope)


def first_parameter(node: FunctionNode) -> ast.arg | None:
    """The first parameter by position."""
    return next(iter([*node.args.posonlyargs, *node.args.args]), None)


def receive(reader: Reader, function: Function) -> ast.arg | None:
    """Let a method see every object, or class, that it may be called on; gives that parameter."""
    definition, first = class_of(function), first_parameter(function.node)
    node = function.node
    if definition is None or first is None or isinstance(node, ast.Lambda):
        return None
    names = {
        reader.project.name_of(d, function.scope, function.module) for d in node.decorator_list
    }
    if "builtins.staticmethod" in names:
        return None
    variable = reader.variable(function.module.scopes.scope_of[node], first.arg)
    if "builtins.classmethod" in names or node.name in _OF_THE_CLASS:
        for cls in reader.subclasses(definition):
            reader.flow.add(variable, Class(cls))
    else:
        reader.flow.flow(reader.instances(definition), variable)
    return first


def enter_special_methods(reader: Reader) -> None:
    """Special methods are called by Python whenever it likes; JAX flattens and rebuilds objects."""
    for function in list(reader.functions.values()):
        node, definition = function.node, class_of(function)
        if isinstance(node, ast.Lambda) or definition is None:
            continue
        special = node.name.startswith("__") and node.name.endswith("__")
        if (special and node.name not in _CALLED_IN_SIGHT) or node.name in _HOOKS:
            reader.enter(
                function,
                f"returned by {node.name}(), which Python calls",
                reader.instances(definition),
            )
        elif node.name not in FLATTENING and outside_bases(reader, definition):
            receive(reader, function)
    for definition in reader.definitions:
        _flatten(reader, definition)


def operators(reader: Reader, values: Sequence[Node], spot: Spot) -> None:
    """Operators of a class see the other side, whatever it is."""
    for value in values:
        others = [other for other in values if other is not value]

        def arrived(thing: Thing, others: list[Node] = others) -> None:
            if isinstance(thing, Box) and thing.cls is not None and _operates(reader, thing.cls):
                for other in others:
                    reader.leave(other, spot, "given to an operator of a class")

        reader.flow.listen(value, arrived)


def _operates(reader: Reader, definition: Definition) -> bool:
    return any(
        name.startswith("__") and name not in _NO_OPERATORS
        for base in reader.classes.lineage(definition)
        for name, bindings in base.module.scopes.scope_of[base.node].bindings.items()
        if any(isinstance(b.node, ast.FunctionDef) for b in bindings)
    )


def _flatten(reader: Reader, definition: Definition) -> None:
    """JAX takes the objects of a class apart and puts new ones together."""
    flow = reader.flow
    built = reader.classes.method(definition, "tree_unflatten")
    for name in ("tree_flatten", "tree_flatten_with_keys"):
        taken = reader.classes.method(definition, name)
        if taken is None or built is None:
            continue
        flatten, unflatten = reader.function_of(taken[0]), reader.function_of(built[0])
        if flatten is None or unflatten is None:
            continue
        if _is_plain(reader, definition, flatten, unflatten):
            continue
        assert not isinstance(unflatten.node, ast.Lambda)
        names = {
            reader.project.name_of(d, built[0].scope, built[0].module)
            for d in unflatten.node.decorator_list
        }
        static = "builtins.staticmethod" in names
        leading = () if static else (flow.node(Class(definition)),)
        functions = flow.node(flatten), Arguments(leading), flow.node(unflatten)
        here = Here(flatten.module, flatten.scope)
        keyed = name != "tree_flatten"
        _flatten_by(reader, definition, functions, flatten.node, here, keyed=keyed)


def flatten_by_functions(reader: Reader, arguments: Arguments, expr: ast.AST, here: Here) -> None:
    """`register_pytree_node(cls, flatten, unflatten)`: JAX calls these functions on the objects."""
    flow = reader.flow
    keyed = isinstance(expr, ast.Call) and "with_keys" in ast.unparse(expr.func)
    flatten, unflatten, *others = arguments.given[1:]
    functions = flatten, Arguments(), unflatten

    def arrived(thing: Thing) -> None:
        if not isinstance(thing, Class):
            return
        written = [
            next((t for t in node.things if isinstance(t, Function)), None)
            for node in (flatten, unflatten)
        ]
        definition = thing.definition
        plain = (
            written[0] is not None
            and written[1] is not None
            and _is_plain(reader, definition, written[0], written[1])
        )
        if not plain:
            _flatten_by(reader, definition, functions, expr, here, keyed=keyed)
        for other in (*others, *arguments.named.values()):
            owner = Arguments((reader.instances(definition),))
            reader.call(other, owner, flow.node(), expr, here)

    flow.listen(arguments.given[0], arrived)


def _flatten_by(
    reader: Reader,
    definition: Definition,
    functions: tuple[Node, Arguments, Node],
    expr: ast.AST,
    here: Here,
    *,
    keyed: bool,
) -> None:
    """Follow the parts of the objects of a class through the functions that JAX calls."""
    flow = reader.flow
    flatten, leading, unflatten = functions
    pair, children, parts, beside = flow.node(), flow.node(), flow.node(), flow.node()
    reader.call(flatten, Arguments((reader.instances(definition),)), pair, expr, here)
    flow.load(pair, 0, children)
    flow.load(pair, 1, beside)
    spot = spot_of(expr, here.module)
    reader.leave(beside, spot, "kept beside the tree by what flattens it")
    if keyed:
        keys = Box("list", spot)
        reader.elements(children, parts, here, expr)
        flow.load(parts, 1, keys.rest)
        children = flow.node(keys)
    made = flow.node()
    given = Arguments((*leading.given, beside, children))
    reader.call(unflatten, given, made, expr, here)

    def remade(thing: Thing) -> None:
        if isinstance(thing, Box) and thing.origin is not None:
            reader.merge(made, thing)

    flow.listen(reader.instances(definition), remade)


def _is_plain(
    reader: Reader, definition: Definition, flatten: Function, unflatten: Function
) -> bool:
    """Whether the parts are attributes and are put back as they were, so that a map need not ask."""
    first, pair = first_parameter(flatten.node), _given(flatten.node)
    if first is None or not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        return False
    children = pair.elts[0]
    if not isinstance(children, ast.Tuple | ast.List):
        return False
    parts = [
        item.elts[1] if isinstance(item, ast.Tuple) and len(item.elts) == 2 else item
        for item in children.elts
    ]
    attributes = [
        part.attr
        for part in parts
        if isinstance(part, ast.Attribute)
        and isinstance(part.value, ast.Name)
        and part.value.id == first.arg
    ]
    if len(attributes) != len(parts) or not _keeps(pair.elts[1], attributes):
        return False
    call = _given(unflatten.node)
    parameters = [a.arg for a in all_parameters(unflatten.node.args)]
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    if call.func.id not in (definition.node.name, *parameters[:1]) or len(call.args) != 1:
        return False
    star = call.args[0]
    if not isinstance(star, ast.Starred) or not isinstance(star.value, ast.Name):
        return False
    return star.value.id == parameters[-1] and _makes_as_given(reader, definition, attributes)


def _keeps(beside: ast.expr, attributes: list[str]) -> bool:
    """Whether what is kept beside the tree is nothing of it."""
    return not any(
        isinstance(n, ast.Call) or (isinstance(n, ast.Attribute) and n.attr in attributes)
        for n in ast.walk(beside)
    )


def _makes_as_given(reader: Reader, definition: Definition, attributes: list[str]) -> bool:
    """Whether a new object has the arguments for attributes and does nothing else with them."""
    found = reader.classes.method(definition, "__init__")
    if found is None:
        fields = [own.name for own in reader.classes.facts(definition).fields]
        return fields[: len(attributes)] == attributes
    node = found[0].node
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    names = [a.arg for a in all_parameters(node.args)][1:]
    stored = [
        (s.targets[0].attr, s.value.id)
        for s in _code(node)
        if isinstance(s, ast.Assign)
        and isinstance(s.targets[0], ast.Attribute)
        and isinstance(s.value, ast.Name)
    ]
    plain = len(stored) == len(_code(node)) and all(a == n for a, n in stored)
    return plain and names[: len(attributes)] == attributes


def _given(node: FunctionNode) -> ast.expr | None:
    """The expression that is all of a function."""
    if isinstance(node, ast.Lambda):
        return node.body
    code = _code(node)
    return code[0].value if len(code) == 1 and isinstance(code[0], ast.Return) else None


def _code(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """The statements of a function without its docstring."""
    return [
        s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
    ]


def give_class_away(reader: Reader, definition: Definition, words: str, *, whole: bool) -> None:
    """Anybody may call the methods of a class, and make objects of it if it goes as a `whole`."""
    node = definition.node
    spot = spot_of(node, definition.module)
    for base in reader.classes.lineage(definition):
        scope = base.module.scopes.scope_of[base.node]
        for name, bindings in scope.bindings.items():
            is_method = any(
                isinstance(b.node, ast.FunctionDef | ast.AsyncFunctionDef) for b in bindings
            )
            if name not in FLATTENING and (whole or (is_method and name not in _CONSTRUCTING)):
                reader.leave(reader.variable(scope, name), spot, words)
    if not whole:
        return
    box = reader.object_of(definition)
    for own in reader.classes.facts(definition).fields:
        reader.flow.add(box.field(own.name), Unseen(spot, "a class that is given away"))
        reader.flow.flow(reader.variable(own.scope, own.name), box.field(own.name))


def is_super(reader: Reader, expr: ast.expr, here: Here) -> bool:
    """Whether an expression is a call of `super`."""
    if not isinstance(expr, ast.Call):
        return False
    return reader.project.name_of(expr.func, here.scope, here.module) == "builtins.super"


def read_super(reader: Reader, expr: ast.Attribute, here: Here) -> Node:
    """`super().name`: of whatever class comes next, bound to the object."""
    assert isinstance(expr.value, ast.Call)
    target, spot = reader.flow.node(), spot_of(expr, here.module)
    function = reader.functions.get(here.function) if here.function is not None else None
    definition = class_of(function) if function is not None else None
    first = first_parameter(function.node) if function is not None else None
    arguments = expr.value.args
    own = not arguments or (
        len(arguments) == 2
        and first is not None
        and isinstance(arguments[1], ast.Name)
        and arguments[1].id == first.arg
    )
    if function is None or definition is None or first is None or not own:
        leave_super(reader, expr.value, here)
        reader.flow.add(target, Unseen(spot, f".{expr.attr}"))
        return target
    scope = function.module.scopes.scope_of[function.node]
    owner = reader.variable(scope, first.arg)
    is_found = False
    for base in _next_classes(reader, definition, expr.attr):
        is_found = True
        body = base.module.scopes.scope_of[base.node]
        for binding in body.bindings[expr.attr]:
            if isinstance(binding.node, ast.FunctionDef | ast.AsyncFunctionDef):
                bind(reader, Definition(base.module, binding.node, body), owner, target)
            else:
                reader.flow.flow(reader.variable(body, expr.attr), target)
    if not is_found:
        if expr.attr not in _HARMLESS_OF_BASES:
            reader.leave(owner, spot, f"given to {expr.attr} of a base that is not in sight")
        reader.flow.add(target, Unseen(spot, f".{expr.attr}"))
    return target


def leave_super(reader: Reader, expr: ast.Call, here: Here) -> None:
    """`super()` that is not followed: the object goes where the tool cannot look."""
    spot = spot_of(expr, here.module)
    for argument in expr.args:
        reader.leave(reader.value(argument, here), spot, "passed to super()")
    for scope in here.scope.chain():
        node = scope.node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            first = first_parameter(node)
            if first is not None:
                reader.leave(reader.variable(scope, first.arg), spot, "passed to super()")


def _next_classes(reader: Reader, definition: Definition, name: str) -> Iterator[Definition]:
    """The classes that `super()` in a class may find a name in, whatever class the object is of."""
    given: set[ast.AST] = set()
    for cls in reader.subclasses(definition):
        lineage = list(reader.classes.lineage(cls))
        several = any(len(reader.classes.facts(c).bases) > 1 for c in lineage)
        for base in lineage if several else reader.classes.lineage(definition):
            above = {c.node for c in reader.classes.lineage(base)}
            if definition.node in above:
                continue
            if name in base.module.scopes.scope_of[base.node].bindings:
                if base.node not in given:
                    given.add(base.node)
                    yield base
                if not several:
                    break


def leave_module(reader: Reader, module: Module, spot: Spot, words: str) -> None:
    """Everything at the top of a module goes where the tool cannot look."""
    for name in module.scopes.module.bindings:
        found = reader.flow.node()
        reader.member(module, name, found, spot)
        reader.leave(found, spot, words)
    for source in module.scopes.module.star_imports:
        path = reader.project.file_of(source, module)
        other = reader.project.module(path) if path is not None else None
        if other is not None and other is not module:
            reader.leave_module(other, spot, words)
