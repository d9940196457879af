"""What functions of JAX and Python do with the trees they are given."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jaxmigrate.analysis.on_none import Known, callable_on_none
from jaxmigrate.analysis.placeholders.arguments import all_of, box_for, called, give_away
from jaxmigrate.analysis.placeholders.containers import call_method
from jaxmigrate.analysis.placeholders.methods import flatten_by_functions
from jaxmigrate.analysis.placeholders.namespaces import read_import, read_namespace, read_vars
from jaxmigrate.analysis.placeholders.operators import fill_from
from jaxmigrate.analysis.placeholders.records import Here, Use
from jaxmigrate.analysis.placeholders.things import (
    LEAF,
    Arguments,
    Box,
    Method,
    Node,
    Placeholder,
    Structure,
    Thing,
    Unseen,
    Wrapped,
    spot_of,
)

if TYPE_CHECKING:
    from jaxmigrate.analysis.placeholders.reading import Reader

_LEAVES_OF: Final = ("jax.tree.leaves", "jax.tree_leaves", "jax.tree_util.tree_leaves")
_FLATTENED: Final = ("jax.tree.flatten", "jax.tree_flatten", "jax.tree_util.tree_flatten")
_UNFLATTENED: Final = ("jax.tree.unflatten", "jax.tree_unflatten", "jax.tree_util.tree_unflatten")
_STRUCTURES: Final = ("jax.tree.structure", "jax.tree_structure", "jax.tree_util.tree_structure")
_REDUCED: Final = ("jax.tree.reduce", "jax.tree_reduce", "jax.tree_util.tree_reduce")
_ALL: Final = ("jax.tree.all", "jax.tree_all", "jax.tree_util.tree_all")
_REGISTERING: Final = (
    "jax.tree_util.register_pytree_node",
    "jax.tree_util.register_pytree_with_keys",
)
_IMPORTING: Final = (
    "importlib.import_module",
    "builtins.__import__",
    *(f"sys.modules.{name}" for name in ("get", "pop", "setdefault", "items", "values", "copy")),
)
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
_Model = Callable[["Reader", Arguments, Node, ast.AST, "Here"], bool]


def none_is_leaf(reader: Reader, expr: ast.AST, position: int, here: Here) -> bool | None:
    """Whether a call's `is_leaf` makes None a leaf; None if that cannot be told."""

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


def _leaves(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    if not arguments.given:
        return False
    tree = arguments.given[0]
    reader.mark(tree)
    _ask_leaf(reader, tree, arguments, expr, here)
    box = box_for(reader, expr, "list", spot_of(expr, here.module))
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
    pair = box_for(reader, expr, "tuple", spot)
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
            reader.leave(leaves, spot_of(expr, here.module), f"passed to {called(expr)}")
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
    give_away(reader, rest, spot_of(expr, here.module), f"passed to {called(expr)}")
    return True


def _reduced(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    if len(arguments.given) < 2:
        return False
    function, tree = arguments.given[:2]
    reader.mark(tree)
    leaf = reader.flow.node()
    none = none_is_leaf(reader, expr, 3, here)
    _leaves_into(reader, tree, leaf, none)
    _ask_leaf(reader, tree, replace(arguments, given=(tree, *arguments.given[3:4])), expr, here)
    carry = reader.flow.node()
    if none is not True:
        reader.flow.flow_unless_placeholder(leaf, carry)
    else:
        reader.flow.flow(leaf, carry)
    initials = [*arguments.given[2:3], *(v for k, v in arguments.named.items() if k != "is_leaf")]
    for initial in initials:
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
    box = box_for(reader, expr, "dict", spot_of(expr, here.module))
    if not all_of(arguments):
        box.empty = "{}"
        box.shrinks = True
    for name, value in arguments.named.items():
        reader.flow.flow(value, box.field(name))
    if arguments.double is not None:
        reader.flow.flow(arguments.double, box.rest)
    for source in arguments.given:
        reader.strict(source, here, expr)
        fill_from(reader, source, box)
    reader.flow.add(result, box)
    return True


def _zip(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    spot = spot_of(expr, here.module)
    rows = box_for(reader, expr, "list", spot)
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
    rows = box_for(reader, expr, "list", spot)
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
            call_method(reader, method, arguments, result, expr, here)
        elif isinstance(thing, Unseen):
            reader.flow.add(result, thing)
            give_away(reader, arguments, spot_of(expr, here.module), f"passed to {called(expr)}")

    reader.flow.listen(arguments.given[0], arrived)
    return True


def _bool(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    for value in arguments.given:
        reader.truths.append(Use(value, spot_of(expr, here.module)))
    reader.flow.add(result, LEAF)
    return True


def _truths(reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here) -> bool:
    """`all(xs)` and `any(xs)`."""
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


def _registered(
    reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> bool:
    """`register_pytree_node(cls, flatten, unflatten)`."""
    if len(arguments.given) < 3:
        return False
    flatten_by_functions(reader, arguments, expr, here)
    reader.flow.add(result, LEAF)
    return True


def _models(*groups: tuple[Sequence[str], _Model]) -> dict[str, _Model]:
    return {name: model for names, model in groups for name in names}


MODELS: Final = _models(
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
    (_REGISTERING, _registered),
    (
        ("builtins.globals", "builtins.locals", "builtins.eval", "builtins.exec"),
        read_namespace,
    ),
    (("builtins.vars", "builtins.dir"), read_vars),
    (_IMPORTING, read_import),
)
"""Functions that are followed, by their dotted names."""
