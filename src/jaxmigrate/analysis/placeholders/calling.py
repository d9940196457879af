"""Calls: of functions and classes of the project, and of what comes from outside."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jaxmigrate.analysis.placeholders.arguments import all_of, box_for, called, give_away
from jaxmigrate.analysis.placeholders.containers import call_method
from jaxmigrate.analysis.placeholders.library import MODELS
from jaxmigrate.analysis.placeholders.mapping import read_map
from jaxmigrate.analysis.placeholders.methods import leave_super
from jaxmigrate.analysis.placeholders.records import Here, Use
from jaxmigrate.analysis.placeholders.things import (
    ANY,
    LEAF,
    Arguments,
    Bound,
    Box,
    Class,
    Form,
    Function,
    Leaf,
    Method,
    Node,
    Outside,
    Placeholder,
    Thing,
    Unseen,
    Wrapped,
    spot_of,
)
from jaxmigrate.analysis.project import Definition
from jaxmigrate.analysis.scopes import all_parameters

if TYPE_CHECKING:
    from jaxmigrate.analysis.placeholders.reading import Reader

_TRANSFORMS: Final = {
    "jax.jit": "same",
    "jax.pjit": "same",
    "jax.vmap": "same",
    "jax.pmap": "same",
    "jax.checkpoint": "same",
    "jax.remat": "same",
    "jax.named_call": "same",
    "jax.eval_shape": "call",
    "jax.grad": "grad",
    "jax.value_and_grad": "value_and_grad",
}
_EQUALITIES: Final = (
    "assertEqual",
    "assertDictEqual",
    "chex.assert_trees_all_equal",
    "chex.assert_trees_all_close",
)
_NUMERIC: Final = (
    "jax.numpy.",
    "jax.random.",
    "jax.nn.",
    "jax.scipy.",
    "jax.lax.",
    "numpy.",
    "math.",
)
_ABOUT_TREES: Final = frozenset(
    {"jax", "optax", "flax", "equinox", "haiku", "chex", "orbax", "tree", "optree", "distrax"}
)
_CONTROL_FLOW: Final = frozenset(
    f"jax.lax.{name}"
    for name in ("associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop")
)
_GIVING_LEAVES: Final = frozenset(
    f"builtins.{name}" for name in ("format", "hash", "issubclass", "repr", "str")
)
_GIVING_NOTHING: Final = frozenset(
    {
        *("builtins.print", "builtins.setattr", "builtins.delattr", "builtins.exec"),
        *("numpy.copyto", "numpy.put", "numpy.place", "numpy.putmask", "numpy.fill_diagonal"),
        *("numpy.random.seed", "numpy.random.shuffle", "numpy.save", "numpy.savez"),
        *("jax.numpy.save", "jax.numpy.savez"),
    }
)
_NO_NUMBERS: Final = ("numpy.testing.", "numpy.set", "jax.numpy.set_")
"""Functions that give None."""
_MAY_GIVE_TREES: Final = ("jax.lax.", "jax.scipy.")
EMPTY_NODES: Final = frozenset({"optax.MaskedNode", "optax.EmptyState"})
"""Classes of libraries whose objects are empty pytrees."""
_ABOUT_CLASSES: Final = (
    "typing.",
    "jax.tree_util.register_",
    "builtins.issubclass",
    "dataclasses.fields",
    "dataclasses.is_dataclass",
)
"""Functions that make no object of a class and call none of its methods."""
_MAX_WRAPPERS: Final = 4
_HARMLESS: Final = frozenset({"builtins.len", "builtins.range"})
_ASKING: Final = frozenset(
    f"builtins.{name}"
    for name in ("abs", "callable", "complex", "float", "hasattr", "id", "int", "round", "type")
)
"""Functions that tell of a container nothing about its parts."""
_COPIES: Final = {
    "builtins.list": "list",
    "builtins.tuple": "tuple",
    "builtins.reversed": "list",
    "builtins.sorted": "list",
    "builtins.set": "set",
    "builtins.frozenset": "set",
    "builtins.iter": "list",
}


def read_call(reader: Reader, expr: ast.Call, here: Here) -> Node:
    """The node of what a call gives."""
    tree_call = reader.tree_call(expr, here.module)
    if tree_call is not None:
        return read_map(reader, tree_call, here)
    name = reader.project.name_of(expr.func, here.scope, here.module)
    result = reader.flow.node()
    if name == "builtins.isinstance" and len(expr.args) == 2:
        classes = _classes_of(reader, expr.args[1], here)
        node = reader.value(expr.args[0], here)
        reader.class_tests.append(Use(node, spot_of(expr, here.module), classes))
        return reader.flow.node(LEAF)
    if name == "builtins.super":
        leave_super(reader, expr, here)
    callee = reader.value(expr.func, here)
    reader.strict(callee, here, expr)
    arguments = _arguments(reader, expr, here, _form(reader, expr, here, name))
    reader.call(callee, arguments, result, expr, here)
    return result


def _form(reader: Reader, expr: ast.Call, here: Here, name: str | None) -> Form:
    """What a None among the arguments is: a tree's part, if that is what is made of them."""
    if name == "builtins.dict" or name in ("dataclasses.replace",):
        return Form.BUILT
    if isinstance(expr.func, ast.Attribute) and expr.func.attr in ("append", "_replace"):
        return Form.BUILT
    entities = reader.project.resolve(expr.func, here.scope, here.module)
    trees = [
        isinstance(entity, Definition)
        and isinstance(entity.node, ast.ClassDef)
        and reader.classes.facts(entity).children is not None
        for entity in entities
    ]
    return Form.BUILT if trees and all(trees) else Form.ARGUMENT


def _classes_of(reader: Reader, expr: ast.expr, here: Here) -> frozenset[str]:
    if isinstance(expr, ast.Tuple):
        return frozenset().union(*(_classes_of(reader, item, here) for item in expr.elts))
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.BitOr):
        return _classes_of(reader, expr.left, here) | _classes_of(reader, expr.right, here)
    entities = reader.project.resolve(expr, here.scope, here.module)
    names = {
        entity.name if isinstance(entity, Outside) else getattr(entity, "name", "")
        for entity in entities
    }
    for entity in entities:
        if isinstance(entity, Definition) and isinstance(entity.node, ast.ClassDef):
            own = any(_has_own_test(d) for d in reader.classes.lineage(entity))
            names.add("?" if own else f"project.{entity.node.name}")
    return frozenset(names - {""}) or frozenset({"?"})


def _has_own_test(definition: Definition) -> bool:
    """Whether a class says by itself what is an object of it: a Protocol, one with a metaclass."""
    assert isinstance(definition.node, ast.ClassDef)
    bases = " ".join(ast.unparse(base) for base in definition.node.bases)
    return bool(definition.node.keywords) or "Protocol" in bases or "ABC" in bases


def _arguments(reader: Reader, expr: ast.Call, here: Here, form: Form) -> Arguments:
    given: list[Node] = []
    named: dict[str, Node] = {}
    starred: Node | None = None
    double: Node | None = None
    for arg in expr.args:
        if isinstance(arg, ast.Starred):
            starred = starred or reader.flow.node()
            reader.elements(reader.value(arg.value, here), starred, here, arg)
        elif starred is not None:
            reader.flow.flow(reader.value(arg, here, form), starred)
        else:
            given.append(reader.value(arg, here, form))
    for keyword in expr.keywords:
        value = reader.value(keyword.value, here, form)
        if keyword.arg is None:
            double = double or reader.flow.node()
            reader.strict(value, here, expr)
            reader.flow.load(value, ANY, double)
        else:
            named[keyword.arg] = value
    return Arguments(tuple(given), named, starred, double)


def call_thing(
    reader: Reader, thing: Thing, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> None:
    """Call one thing."""
    if isinstance(thing, Function):
        reader.invoke(thing, arguments, result, here)
    elif isinstance(thing, Bound):
        given = (thing.owner, *arguments.given)
        reader.invoke(thing.function, replace(arguments, given=given), result, here)
    elif isinstance(thing, Class):
        _make(reader, thing, arguments, result, expr, here)
    elif isinstance(thing, Wrapped):
        _call_wrapped(reader, thing, arguments, result, expr, here)
    elif isinstance(thing, Outside):
        _call_outside(reader, thing.name, arguments, result, expr, here)
    elif isinstance(thing, Method):
        call_method(reader, thing, arguments, result, expr, here)
    elif isinstance(thing, Box) and thing.cls is not None:
        method = reader.flow.node()
        spot = spot_of(expr, here.module)
        reader.attribute(reader.flow.node(thing), "__call__", method, spot)
        reader.call(method, arguments, result, expr, here)
    elif not isinstance(thing, Placeholder):
        words = f"passed to {called(expr)}"
        about_trees = isinstance(thing, Unseen) and thing.about_trees
        for node in all_of(arguments) if about_trees else ():
            reader.mark(node)
        give_away(reader, arguments, spot_of(expr, here.module), words)
        unseen = Unseen(spot_of(expr, here.module), f"what {called(expr)} gives", about_trees)
        reader.flow.add(result, LEAF if isinstance(thing, Leaf) else unseen)


def _make(
    reader: Reader, cls: Class, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> None:
    """An object of a class of the project."""
    definition = cls.definition
    facts = reader.classes.facts(definition)
    if facts.children is None:
        box = reader.object_of(definition)
    else:
        key = (expr, definition.node)
        if key not in reader.made:
            reader.made[key] = reader.new_object(definition, spot_of(expr, here.module))
        box = reader.made[key]
        made = facts.fields or all_of(arguments) or reader.classes.method(definition, "__init__")
        if not made:
            assert isinstance(definition.node, ast.ClassDef)
            box.empty = f"{definition.node.name}()"
    reader.flow.add(result, box)
    spot = spot_of(expr, here.module)
    if reader.classes.method(definition, "__new__") is not None:
        give_away(reader, arguments, spot, f"passed to the __new__ of {called(expr)}")
        reader.leave(reader.flow.node(box), spot, f"made by the __new__ of {called(expr)}")
    found = reader.classes.method(definition, "__init__")
    if found is not None:
        method = Function(found[0].node, found[0].module, found[0].scope)  # type: ignore[arg-type]
        given = (reader.flow.node(box), *arguments.given)
        reader.invoke(method, replace(arguments, given=given), reader.flow.node(), here)
        return
    found = reader.classes.method(definition, "__post_init__")
    if found is not None:
        _give_init_vars(reader, found[0], box)
    names = [own.name for own in facts.fields]
    filled: set[str] = set()
    for name, value in zip(names, arguments.given, strict=False):
        filled.add(name)
        reader.flow.flow(value, box.field(name))
    for name, value in arguments.named.items():
        filled.add(name)
        if name in names:
            reader.flow.flow(value, box.field(name))
        else:
            reader.leave(value, spot, f"passed to {called(expr)}")
    for more in (arguments.starred, arguments.double):
        if more is not None:
            for name in names:
                reader.flow.flow(more, box.field(name))
    for value in arguments.given[len(names) :]:
        reader.leave(value, spot, f"passed to {called(expr)}")
    for own in facts.fields:
        if own.name not in filled and own.default is not None:
            reader.flow.flow(reader.variable(own.scope, own.name), box.field(own.name))


def _give_init_vars(reader: Reader, method: Definition, box: Box) -> None:
    """`__post_init__` is given the fields that are no attributes (`InitVar`) by name."""
    assert isinstance(method.node, ast.FunctionDef | ast.AsyncFunctionDef)
    scope = method.module.scopes.scope_of[method.node]
    for parameter in all_parameters(method.node.args)[1:]:
        reader.flow.flow(box.field(parameter.arg), reader.variable(scope, parameter.arg))


def _call_wrapped(
    reader: Reader, thing: Wrapped, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> None:
    before = thing.arguments
    if arguments.wrappers >= _MAX_WRAPPERS:
        call_thing(
            reader, Unseen(spot_of(expr, here.module), "a partial"), arguments, result, expr, here
        )
        return
    joined = Arguments(
        (*before.given, *arguments.given),
        {**before.named, **arguments.named},
        arguments.starred or before.starred,
        arguments.double or before.double,
        arguments.wrappers + 1,
    )
    if thing.transform == "same":
        for node in all_of(arguments):
            reader.note_tree(node)
    if thing.transform in ("", "same"):
        reader.call(thing.function, joined, result, expr, here)
        return
    given = reader.flow.node()
    reader.call(thing.function, joined, given, expr, here)
    spot = spot_of(expr, here.module)
    # The loss that is differentiated is a number; what comes beside it (has_aux) may be anything.
    gradient = reader.flow.node()
    if joined.given:
        reader.mark(joined.given[0])
        reader.flow.flow(joined.given[0], gradient)
    beside = Box("tuple", spot)
    reader.flow.flow(given, beside.rest)
    reader.flow.flow(gradient, beside.rest)
    reader.flow.add(result, beside)
    if thing.transform == "grad":
        reader.flow.flow(gradient, result)


def _but_classes(reader: Reader, arguments: Arguments) -> Arguments:
    """The arguments less the classes among them."""

    def rest(node: Node) -> Node:
        left = reader.flow.node()

        def arrived(thing: Thing) -> None:
            if not isinstance(thing, Class):
                reader.flow.add(left, thing)

        reader.flow.listen(node, arrived)
        return left

    given = tuple(rest(node) for node in arguments.given)
    named = {name: rest(node) for name, node in arguments.named.items()}
    return replace(arguments, given=given, named=named)


def _gives_trees(reader: Reader, thing: Thing, result: Node, expr: ast.AST, here: Here) -> None:
    """`psum` and its like give a tree for a tree."""
    if isinstance(thing, Box):
        reader.flow.add(
            result, Unseen(spot_of(expr, here.module), f"what {called(expr)} gives", True)
        )


def _call_outside(
    reader: Reader, name: str, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> None:
    spot = spot_of(expr, here.module)
    flow = reader.flow
    if name.startswith(_ABOUT_CLASSES) and name not in MODELS:
        arguments = _but_classes(reader, arguments)
    model = MODELS.get(name)
    if (
        model is not None
        and arguments.starred is None
        and model(reader, arguments, result, expr, here)
    ):
        return
    if name in _HARMLESS:
        for value in all_of(arguments):
            reader.strict(value, here, expr)
        flow.add(result, LEAF)
    elif name in _ASKING:
        for value in arguments.given:
            reader.shallow(value, spot, f"passed to {called(expr)}")
        flow.add(result, LEAF)
    elif name in EMPTY_NODES and not all_of(arguments):
        flow.add(result, Box("object", spot, empty=f"{name}()"))
    elif name in _TRANSFORMS and arguments.given:
        options = replace(arguments, given=() if name == "jax.eval_shape" else arguments.given[1:])
        give_away(reader, options, spot, f"passed to {called(expr)}")
        transform = _TRANSFORMS[name]
        if any(option.startswith("static_") for option in options.named):
            reader.hash_parameters(arguments.given[0], expr)
            transform = ""
        if transform == "call":
            rest = replace(arguments, given=arguments.given[1:])
            reader.call(arguments.given[0], rest, result, expr, here)
        elif transform.endswith("grad") and (
            "argnums" in arguments.named or len(arguments.given) > 1
        ):
            give_away(reader, arguments, spot, f"passed to {called(expr)}")
            flow.add(result, Unseen(spot, "a gradient by argnums"))
        else:
            flow.add(result, Wrapped(arguments.given[0], transform=transform))
    elif name in _TRANSFORMS:
        flow.add(result, Wrapped(flow.node(Outside(name)), arguments))
    elif name in _COPIES and len(arguments.given) == len(all_of(arguments)) == 1:
        box = box_for(reader, expr, _COPIES[name], spot)
        reader.elements(arguments.given[0], box.rest, here, expr)
        if box.kind == "set":
            reader.leave_key(box.rest, spot, "put into a set")
        flow.add(result, box)
    elif name.rpartition(".")[2] in _EQUALITIES or name in _EQUALITIES:
        for other in arguments.given[1:]:
            reader.equal(arguments.given[0], other, spot)
        for value in arguments.given:
            if name.startswith("chex"):
                reader.mark(value)
        flow.add(result, LEAF)
    else:
        numeric = name.startswith(_NUMERIC) and name not in _CONTROL_FLOW
        about_trees = name.partition(".")[0] in _ABOUT_TREES and not numeric
        for node in all_of(arguments) if about_trees else ():
            reader.mark(node)
        give_away(reader, arguments, spot, f"passed to {called(expr)}")
        if name in _GIVING_NOTHING or name.startswith(_NO_NUMBERS):
            flow.add(result, Placeholder(spot, Form.IMPLICIT, expr, here.module))
            return
        if name.startswith(_MAY_GIVE_TREES):
            for node in all_of(arguments):
                flow.listen(node, lambda thing: _gives_trees(reader, thing, result, expr, here))
        is_leaf = numeric or name == "jax.ShapeDtypeStruct" or name in _GIVING_LEAVES
        unseen = Unseen(spot, f"what {called(expr)} gives", about_trees)
        flow.add(result, LEAF if is_leaf else unseen)
