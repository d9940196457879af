"""Calls: of functions and classes of the project, of containers' methods, of what libraries bring."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jaxmigrate.analysis.placeholders.mapping import read_map
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
    Spot,
    Structure,
    Thing,
    Unseen,
    Wrapped,
    spot_of,
)
from jaxmigrate.analysis.project import Definition

if TYPE_CHECKING:
    from jaxmigrate.analysis.placeholders.reading import Here, Reader

_LEAVES_OF: Final = ("jax.tree.leaves", "jax.tree_leaves", "jax.tree_util.tree_leaves")
_FLATTENED: Final = ("jax.tree.flatten", "jax.tree_flatten", "jax.tree_util.tree_flatten")
_UNFLATTENED: Final = ("jax.tree.unflatten", "jax.tree_unflatten", "jax.tree_util.tree_unflatten")
_STRUCTURES: Final = ("jax.tree.structure", "jax.tree_structure", "jax.tree_util.tree_structure")
_REDUCED: Final = ("jax.tree.reduce", "jax.tree_reduce", "jax.tree_util.tree_reduce")
_ALL: Final = ("jax.tree.all", "jax.tree_all", "jax.tree_util.tree_all")
_SAME: Final = frozenset(
    {
        "copy.copy",
        "copy.deepcopy",
        "jax.block_until_ready",
        "jax.device_get",
        "jax.device_put",
        "jax.lax.stop_gradient",
    }
)
"""Functions that give back the tree they are given: the same placeholders at the same places."""

_TRANSFORMS: Final = {
    "jax.jit": "",
    "jax.pjit": "",
    "jax.vmap": "",
    "jax.pmap": "",
    "jax.checkpoint": "",
    "jax.remat": "",
    "jax.named_call": "",
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
    f"builtins.{name}" for name in ("format", "hash", "issubclass", "print", "repr", "str")
)
EMPTY_NODES: Final = frozenset({"optax.MaskedNode", "optax.EmptyState"})
"""Classes of libraries whose objects are empty pytrees."""

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
        from jaxmigrate.analysis.placeholders.reading import Use

        classes = _classes_of(reader, expr.args[1], here)
        node = reader.value(expr.args[0], here)
        reader.class_tests.append(Use(node, spot_of(expr, here.module), classes))
        return reader.flow.node(LEAF)
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
            names.add(f"project.{entity.node.name}")
    return frozenset(names - {""}) or frozenset({"?"})


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
        _call_method(reader, thing, arguments, result, expr, here)
    elif isinstance(thing, Box) and thing.cls is not None:
        method = reader.flow.node()
        spot = spot_of(expr, here.module)
        reader.attribute(reader.flow.node(thing), "__call__", method, spot)
        reader.call(method, arguments, result, expr, here)
    elif not isinstance(thing, Placeholder):
        words = f"passed to {_called(expr)}"
        about_trees = isinstance(thing, Unseen) and thing.about_trees
        for node in _all(arguments) if about_trees else ():
            reader.mark(node)
        give_away(reader, arguments, spot_of(expr, here.module), words)
        unseen = Unseen(spot_of(expr, here.module), f"what {_called(expr)} gives", about_trees)
        reader.flow.add(result, LEAF if isinstance(thing, Leaf) else unseen)


def give_away(reader: Reader, arguments: Arguments, spot: Spot, words: str) -> None:
    """The arguments of a call go where the tool cannot look."""
    for node in _all(arguments):
        reader.leave(node, spot, words)


def _all(arguments: Arguments) -> list[Node]:
    more = [n for n in (arguments.starred, arguments.double) if n is not None]
    return [*arguments.given, *arguments.named.values(), *more]


def _called(expr: ast.AST) -> str:
    if isinstance(expr, ast.Call):
        words = ast.unparse(expr.func)
        return f"{words}()" if len(words) < 40 else "a function"
    return "a decorator"


def _make(
    reader: Reader, cls: Class, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> None:
    """An object of a class of the project."""
    definition = cls.definition
    facts = reader.classes.facts(definition)
    if facts.children is None:
        box = reader.object_of(definition)
    else:
        if expr not in reader.objects:
            reader.objects[expr] = reader.new_object(definition, spot_of(expr, here.module))
        box = reader.objects[expr]
        if not facts.fields and not _all(arguments):
            assert isinstance(definition.node, ast.ClassDef)
            box.empty = f"{definition.node.name}()"
    reader.flow.add(result, box)
    spot = spot_of(expr, here.module)
    found = reader.classes.method(definition, "__init__")
    if found is not None:
        method = Function(found[0].node, found[0].module, found[0].scope)  # type: ignore[arg-type]
        given = (reader.flow.node(box), *arguments.given)
        reader.invoke(method, replace(arguments, given=given), reader.flow.node(), here)
        return
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
            reader.leave(value, spot, f"passed to {_called(expr)}")
    for more in (arguments.starred, arguments.double):
        if more is not None:
            for name in names:
                reader.flow.flow(more, box.field(name))
    for value in arguments.given[len(names) :]:
        reader.leave(value, spot, f"passed to {_called(expr)}")
    for own in facts.fields:
        if own.name not in filled and own.default is not None:
            reader.flow.flow(reader.variable(own.scope, own.name), box.field(own.name))


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
    if not thing.transform:
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


def _call_outside(
    reader: Reader, name: str, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> None:
    spot = spot_of(expr, here.module)
    flow = reader.flow
    model = _MODELS.get(name)
    if (
        model is not None
        and arguments.starred is None
        and model(reader, arguments, result, expr, here)
    ):
        return
    if name in _HARMLESS:
        flow.add(result, LEAF)
    elif name in _ASKING:
        for value in arguments.given:
            reader.shallow(value, spot, f"passed to {_called(expr)}")
        flow.add(result, LEAF)
    elif name in EMPTY_NODES and not _all(arguments):
        flow.add(result, Box("object", spot, empty=f"{name}()"))
    elif name in _TRANSFORMS and arguments.given:
        transform = _TRANSFORMS[name]
        if transform == "call":
            rest = replace(arguments, given=arguments.given[1:])
            reader.call(arguments.given[0], rest, result, expr, here)
        elif "argnums" in arguments.named and transform:
            give_away(reader, arguments, spot, f"passed to {_called(expr)}")
            flow.add(result, Unseen(spot, "a gradient by argnums"))
        else:
            flow.add(result, Wrapped(arguments.given[0], transform=transform))
    elif name in _TRANSFORMS:
        flow.add(result, Wrapped(flow.node(Outside(name)), arguments))
    elif name in _COPIES and len(arguments.given) == len(_all(arguments)) == 1:
        box = _box_for(reader, expr, _COPIES[name], spot)
        reader.elements(arguments.given[0], box.rest, here, expr)
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
        for node in _all(arguments) if about_trees else ():
            reader.mark(node)
        give_away(reader, arguments, spot, f"passed to {_called(expr)}")
        is_leaf = numeric or name == "jax.ShapeDtypeStruct" or name in _GIVING_LEAVES
        unseen = Unseen(spot, f"what {_called(expr)} gives", about_trees)
        flow.add(result, LEAF if is_leaf else unseen)


def _box_for(reader: Reader, expr: ast.AST, kind: str, spot: Spot) -> Box:
    if expr not in reader.objects:
        reader.objects[expr] = Box(kind, spot)
    return reader.objects[expr]


def _call_method(
    reader: Reader, method: Method, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> None:
    """A method of a dictionary, a list, a tuple or a NamedTuple."""
    box, name, flow = method.box, method.name, reader.flow
    spot = spot_of(expr, here.module)
    key = _constant_key(expr)
    if name == "_replace":
        image, _ = reader.image(box, ("replace", expr))
        reader.merge(flow.node(box), image)
        for field, value in arguments.named.items():
            flow.flow(value, image.field(field))
        flow.add(result, image)
    elif name in ("get", "pop", "setdefault") and box.kind == "dict":
        box.shrinks = box.shrinks or name == "pop"
        flow.load(flow.node(box), key, result)
        for default in arguments.given[1:]:
            flow.flow(default, result)
            if name == "setdefault":
                box.empty = None
                flow.flow(default, box.field(key))
        if name == "get" and len(arguments.given) == 1:
            flow.add(result, Placeholder(spot, Form.IMPLICIT, expr, here.module))
    elif name == "pop" and box.kind == "list":
        flow.load(flow.node(box), ANY, result)
    elif name == "items" and box.kind == "dict":
        pairs = _box_for(reader, expr, "list", spot)
        pair = box.images.setdefault(("pair", expr), Box("tuple", spot))
        flow.add(pair.field(0), LEAF)
        box.watch(lambda _, part: flow.flow(part, pair.field(1)))
        flow.add(pairs.rest, pair)
        flow.add(result, pairs)
    elif name == "values" and box.kind == "dict":
        values = _box_for(reader, expr, "list", spot)
        box.watch(lambda _, part: flow.flow(part, values.rest))
        flow.add(result, values)
    elif name == "keys" and box.kind == "dict":
        flow.add(result, LEAF)
    elif name == "copy":
        image, _ = reader.image(box, ("copy", expr))
        reader.merge(flow.node(box), image)
        flow.add(result, image)
    elif name == "update" and box.kind == "dict":
        box.empty = None
        for source in arguments.given:
            reader.merge(source, box)
        for field, value in arguments.named.items():
            flow.flow(value, box.field(field))
        if arguments.starred or arguments.double:
            give_away(reader, arguments, spot, f"passed to {_called(expr)}")
    elif name in ("append", "insert") and box.kind == "list":
        for value in arguments.given[-1:]:
            flow.flow(value, box.rest)
    elif name == "extend" and box.kind == "list":
        for value in arguments.given:
            reader.elements(value, box.rest, here, expr)
    else:
        give_away(reader, arguments, spot, f"passed to {_called(expr)}")
        reader.leave(flow.node(box), spot, f"its method {name}() is called")
        flow.add(result, Unseen(spot, f"what {_called(expr)} gives"))


def _constant_key(expr: ast.AST) -> object:
    if isinstance(expr, ast.Call) and expr.args and isinstance(expr.args[0], ast.Constant):
        return expr.args[0].value
    return ANY


def none_is_leaf(reader: Reader, expr: ast.AST, position: int, here: Here) -> bool | None:
    """Whether a call's `is_leaf` makes None a leaf; None if that cannot be told."""
    from jaxmigrate.analysis.on_none import Known, callable_on_none

    if not isinstance(expr, ast.Call):
        return None
    given = next((k.value for k in expr.keywords if k.arg == "is_leaf"), None)
    if given is None and len(expr.args) > position:
        given = expr.args[position]
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        return False
    outcome = callable_on_none(given, reader.place(here))
    return bool(outcome.value) if isinstance(outcome, Known) else None


def _ask_leaf(reader: Reader, tree: Node, arguments: Arguments, expr: ast.AST, here: Here) -> None:
    """Let the predicate of a tree function see what is in the tree."""
    predicate = arguments.named.get("is_leaf")
    if predicate is None and len(arguments.given) > 1:
        predicate = arguments.given[1]
    if predicate is not None:
        seen = reader.flow.node()
        reader.flow.deep(tree, lambda thing: reader.flow.add(seen, thing), seen_by_jax=True)
        reader.call(predicate, Arguments((seen,)), reader.flow.node(), expr, here)


def _leaves_into(reader: Reader, tree: Node, target: Node, none: bool | None) -> None:
    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box) and not thing.sealed:
            return
        if isinstance(thing, Placeholder) and none is False:
            return
        reader.flow.add(target, thing)

    reader.flow.deep(tree, arrived, seen_by_jax=True)


_Model = Callable[["Reader", Arguments, Node, ast.AST, "Here"], bool]


def _leaves(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    if not arguments.given:
        return False
    tree = arguments.given[0]
    reader.mark(tree)
    _ask_leaf(reader, tree, arguments, expr, here)
    box = _box_for(reader, expr, "list", spot_of(expr, here.module))
    _leaves_into(reader, tree, box.rest, none_is_leaf(reader, expr, 1, here))
    reader.flow.add(result, box)
    return True


def _flattened(
    reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> bool:
    if not arguments.given:
        return False
    tree = arguments.given[0]
    reader.mark(tree)
    _ask_leaf(reader, tree, arguments, expr, here)
    none = none_is_leaf(reader, expr, 1, here)
    spot = spot_of(expr, here.module)
    pair = _box_for(reader, expr, "tuple", spot)
    items = pair.images.setdefault("leaves", Box("list", spot))
    _leaves_into(reader, tree, items.rest, none)
    reader.flow.add(pair.field(0), items)
    reader.flow.add(pair.field(1), Structure(tree, none))
    reader.flow.add(result, pair)
    return True


def _structure(
    reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> bool:
    if not arguments.given:
        return False
    reader.mark(arguments.given[0])
    _ask_leaf(reader, arguments.given[0], arguments, expr, here)
    none = none_is_leaf(reader, expr, 1, here)
    reader.flow.add(result, Structure(arguments.given[0], none))
    return True


def _unflattened(
    reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> bool:
    if len(arguments.given) != 2:
        return False
    structure, leaves = arguments.given
    items = reader.flow.node()
    reader.elements(leaves, items, here, expr)

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Structure):
            _rebuilt(reader, thing, thing.tree, items, result, expr)
        else:
            reader.leave(leaves, spot_of(expr, here.module), f"passed to {_called(expr)}")
            spot = spot_of(expr, here.module)
            reader.flow.add(result, Unseen(spot, "a tree of a structure out of sight"))

    reader.flow.listen(structure, arrived)
    return True


def _rebuilt(
    reader: Reader, structure: Structure, source: Node, items: Node, target: Node, expr: ast.AST
) -> None:
    """A tree of the same structure, other leaves in it."""

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Placeholder):
            if structure.none_is_leaf is not True:
                reader.flow.add(target, thing)
            if structure.none_is_leaf is not False:
                reader.flow.flow(items, target)
        elif isinstance(thing, Box) and not thing.sealed:
            image, is_new = reader.image(thing, ("rebuilt", expr))
            reader.flow.add(target, image)
            if is_new:
                thing.watch(
                    lambda key, part: _rebuilt(
                        reader, structure, part, items, image.field(key), expr
                    )
                )
        elif isinstance(thing, Box | Unseen):
            reader.flow.add(target, thing)
            reader.flow.flow(items, target)
        else:
            reader.flow.flow(items, target)

    reader.flow.listen(source, arrived)


def _same(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    if not arguments.given:
        return False
    reader.flow.flow(arguments.given[0], result)
    rest = replace(arguments, given=arguments.given[1:])
    give_away(reader, rest, spot_of(expr, here.module), f"passed to {_called(expr)}")
    return True


def _reduced(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    if len(arguments.given) < 2:
        return False
    function, tree = arguments.given[:2]
    reader.mark(tree)
    leaf = reader.flow.node()
    none = none_is_leaf(reader, expr, 3, here)
    _leaves_into(reader, tree, leaf, none)
    _ask_leaf(reader, tree, replace(arguments, given=()), expr, here)
    carry = reader.flow.node()
    if none is not True:
        reader.flow.flow_unless_placeholder(leaf, carry)
    else:
        reader.flow.flow(leaf, carry)
    for initial in arguments.given[2:3]:
        reader.flow.flow(initial, carry)
    reader.call(function, Arguments((carry, leaf)), carry, expr, here)
    reader.flow.flow(carry, result)
    return True


def _all_true(
    reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> bool:
    if len(arguments.given) != 1 or arguments.named:
        return False
    reader.mark(arguments.given[0])
    reader.flow.add(result, LEAF)
    return True


def _partial(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    if not arguments.given:
        return False
    rest = replace(arguments, given=arguments.given[1:])
    reader.flow.add(result, Wrapped(arguments.given[0], rest))
    return True


def _dict(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    box = _box_for(reader, expr, "dict", spot_of(expr, here.module))
    if not _all(arguments):
        box.empty = "{}"
    for name, value in arguments.named.items():
        reader.flow.flow(value, box.field(name))
    if arguments.double is not None:
        reader.flow.flow(arguments.double, box.rest)
    for source in arguments.given:
        _from_pairs(reader, source, box)
    reader.flow.add(result, box)
    return True


def _from_pairs(reader: Reader, source: Node, box: Box) -> None:
    """`dict(mapping)` or `dict(pairs)`."""

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box) and thing.kind != "dict":
            pair = reader.flow.node()
            thing.watch(lambda _, part: reader.flow.flow(part, pair))
            reader.flow.load(pair, 1, box.rest)
        else:
            reader.merge(reader.flow.node(thing), box)

    reader.flow.listen(source, arrived)


def _zip(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    spot = spot_of(expr, here.module)
    rows = _box_for(reader, expr, "list", spot)
    row = rows.images.setdefault("row", Box("tuple", spot))
    for index, source in enumerate(arguments.given):
        reader.elements(source, row.field(index), here, expr)
    reader.flow.add(rows.rest, row)
    reader.flow.add(result, rows)
    return True


def _enumerate(
    reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> bool:
    if not arguments.given:
        return False
    spot = spot_of(expr, here.module)
    rows = _box_for(reader, expr, "list", spot)
    row = rows.images.setdefault("row", Box("tuple", spot))
    reader.flow.add(row.field(0), LEAF)
    reader.elements(arguments.given[0], row.field(1), here, expr)
    reader.flow.add(rows.rest, row)
    reader.flow.add(result, rows)
    return True


def _replaced(
    reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> bool:
    """`dataclasses.replace(x, b=…)`."""
    if len(arguments.given) != 1 or arguments.double is not None:
        return False

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box):
            method = Method(thing, "_replace")
            _call_method(reader, method, arguments, result, expr, here)
        elif isinstance(thing, Unseen):
            reader.flow.add(result, thing)
            give_away(reader, arguments, spot_of(expr, here.module), f"passed to {_called(expr)}")

    reader.flow.listen(arguments.given[0], arrived)
    return True


def _bool(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    from jaxmigrate.analysis.placeholders.reading import Use

    for value in arguments.given:
        reader.truths.append(Use(value, spot_of(expr, here.module)))
    reader.flow.add(result, LEAF)
    return True


def _truths(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    """`all(xs)` and `any(xs)`."""
    from jaxmigrate.analysis.placeholders.reading import Use

    items = reader.flow.node()
    for value in arguments.given:
        reader.elements(value, items, here, expr)
    reader.truths.append(Use(items, spot_of(expr, here.module)))
    reader.flow.add(result, LEAF)
    return True


def _folded(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    """`sum(xs)`, `max(xs)`, `max(x, y)`: one of the items, or a number, and never None."""
    if arguments.named or arguments.double is not None or not arguments.given:
        return False
    items = reader.flow.node(LEAF)
    reader.elements(arguments.given[0], items, here, expr)
    for value in arguments.given if len(arguments.given) > 1 else ():
        reader.flow.flow(value, items)
    reader.strict(items, here, expr)
    reader.flow.flow_unless_placeholder(items, result)
    return True


def _models(*groups: tuple[Sequence[str], _Model]) -> dict[str, _Model]:
    return {name: model for names, model in groups for name in names}


_MODELS: Final = _models(
    (_LEAVES_OF, _leaves),
    (_FLATTENED, _flattened),
    (_STRUCTURES, _structure),
    (_UNFLATTENED, _unflattened),
    (_REDUCED, _reduced),
    (_ALL, _all_true),
    (sorted(_SAME), _same),
    (("functools.partial", "jax.tree_util.Partial"), _partial),
    (("builtins.dict",), _dict),
    (("builtins.zip",), _zip),
    (("builtins.enumerate",), _enumerate),
    (("dataclasses.replace",), _replaced),
    (("builtins.bool",), _bool),
    (("builtins.all", "builtins.any"), _truths),
    (("builtins.sum", "builtins.max", "builtins.min"), _folded),
)
