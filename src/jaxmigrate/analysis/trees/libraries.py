"""What functions outside the project do to trees: data, and the few rules that read it.

Names are those of the libraries' documentation: JAX, NumPy, equinox, optax, flax, chex, the standard
library.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from jaxmigrate.analysis.on_none import Known, callable_on_none
from jaxmigrate.analysis.trees import invocation, objects
from jaxmigrate.analysis.trees.paths import store, update
from jaxmigrate.analysis.trees.references import (
    Arguments,
    Bound,
    BoundBuiltin,
    ExternalReference,
    Frame,
    Gradient,
    Instance,
    Record,
    Structure,
)
from jaxmigrate.analysis.trees.values import (
    LEAF,
    UNKNOWN,
    Is,
    Key,
    Token,
    Value,
    child,
    container,
    element,
    holds_none,
    join,
    joined,
    maybe_none,
    none,
    referring,
    replace,
    with_any_child,
    with_child,
    without_child,
)
from jaxmigrate.model import Evidence

if TYPE_CHECKING:
    from jaxmigrate.analysis.trees.interpreter import Interpreter

_LEAF_MODULES: Final = (
    "jax.numpy.",
    "numpy.",
    "jax.random.",
    "jax.nn.",
    "jax.lax.",
    "jax.scipy.",
    "math.",
    "time.",
    "os.",
    "random.",
)
_LEAF_BUILTINS: Final = frozenset(
    f"builtins.{name}"
    for name in (
        *("len", "int", "float", "str", "bool", "abs", "round", "range", "isinstance", "hasattr"),
        *("callable", "id", "hash", "repr", "print", "open", "type", "any", "all", "sum"),
    )
)
_KEEP_FIRST: Final = frozenset(
    {
        "copy.copy",
        "copy.deepcopy",
        "jax.block_until_ready",
        "jax.device_get",
        "jax.device_put",
        "jax.device_put_replicated",
        "jax.lax.all_gather",
        "jax.lax.pmax",
        "jax.lax.pmean",
        "jax.lax.pmin",
        "jax.lax.psum",
        "jax.lax.stop_gradient",
        "jax.lax.with_sharding_constraint",
        "flax.core.freeze",
        "flax.core.frozen_dict.freeze",
        "flax.core.frozen_dict.unfreeze",
        "flax.core.unfreeze",
        "flax.jax_utils.replicate",
        "flax.jax_utils.unreplicate",
        "optax.apply_updates",
        "optax.global_norm",
        "optax.incremental_update",
        "optax.safe_increment",
        "optax.tree_utils.tree_add",
        "optax.tree_utils.tree_cast",
        "optax.tree_utils.tree_ones_like",
        "optax.tree_utils.tree_zeros_like",
        "builtins.dict",
        "builtins.list",
        "builtins.tuple",
        "builtins.sorted",
        "builtins.reversed",
        "collections.OrderedDict",
        "flax.core.FrozenDict",
        "flax.core.frozen_dict.FrozenDict",
        "types.MappingProxyType",
    }
)
"""Functions that give a tree with the Nones of their first argument."""

_KEEP_FUNCTION: Final = frozenset(
    {
        "jax.jit",
        "jax.pmap",
        "jax.vmap",
        "jax.checkpoint",
        "jax.remat",
        "jax.named_call",
        "jax.custom_vjp",
        "jax.custom_jvp",
        "jax.experimental.pjit.pjit",
        "jax.tree_util.Partial",
        "jax.named_scope",
        "equinox.filter_jit",
        "equinox.filter_vmap",
        "equinox.filter_pmap",
        "equinox.filter_checkpoint",
        "functools.lru_cache",
        "functools.cache",
        "functools.wraps",
        "chex.assert_max_traces",
        "contextlib.contextmanager",
        "flax.linen.compact",
        "flax.linen.nowrap",
    }
)
"""Functions that give a function which does what the one they are given does."""

_GRADIENTS: Final[Mapping[str, tuple[bool, bool]]] = {
    "jax.grad": (False, False),
    "jax.value_and_grad": (True, False),
    "equinox.filter_grad": (False, True),
    "equinox.filter_value_and_grad": (True, True),
}
"""Functions that give a gradient: whether the value comes first, whether it is filtered."""

_FLATTEN: Final = frozenset({"jax.tree_util.tree_flatten", "jax.tree.flatten", "jax.tree_flatten"})
_LEAVES: Final = frozenset({"jax.tree_util.tree_leaves", "jax.tree.leaves", "jax.tree_leaves"})
_UNFLATTEN: Final = frozenset(
    {"jax.tree_util.tree_unflatten", "jax.tree.unflatten", "jax.tree_unflatten"}
)
_REPLACE: Final = frozenset({"dataclasses.replace", "copy.replace", "chex.dataclass_replace"})

_OPTAX_OBJECT: Final = "optax transformation"
"""What stands for the object that an optax optimizer or transformation is."""

_Rule: TypeAlias = Callable[[Arguments, ast.AST, Frame, "Interpreter"], Value]


def external(
    name: str, arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """What a call of something outside the project gives."""
    rule = _RULES.get(name)
    if rule is not None:
        return rule(arguments, node, frame, interpreter)
    if name in _KEEP_FUNCTION:
        return _same_function(arguments, name)
    if name in _GRADIENTS:
        return _gradient_of(name, arguments)
    first = arguments.at(0)
    if name in _KEEP_FIRST:
        return replace(first, constant=None) if first is not None else container({})
    if name.startswith(_LEAF_MODULES) or name in _LEAF_BUILTINS:
        return LEAF
    if name.startswith("optax.") and name.count(".") == 1:
        return replace(referring(ExternalReference(_OPTAX_OBJECT)), leaf=False)
    return _same_maker(name, arguments, node, frame, interpreter)


def _same_maker(
    name: str, arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """An unknown value, the same as any other that the same function gives for the same trees."""
    shapes = [value.shape for value in arguments.args if value.shape is not None]
    if shapes and all(value.leaf or value.shape is not None for value in arguments.args):
        return Value(shape=("made by", name, tuple(shapes)))
    return interpreter.fresh(node, frame.module)


def _same_function(arguments: Arguments, name: str) -> Value:
    first = arguments.at(0)
    if first is not None and first.reference is not None:
        return first
    if name == "functools.wraps" or first is None:
        return UNKNOWN
    return first


def _gradient_of(name: str, arguments: Arguments) -> Value:
    with_value, filtered = _GRADIENTS[name]
    function = arguments.at(0, "fun")
    if function is None:
        return UNKNOWN
    position = arguments.at(1, "argnums")
    aux = arguments.keywords.get("has_aux")
    constant = position.constant if position is not None else 0
    return referring(
        Gradient(
            function=function,
            argument=constant if isinstance(constant, int) else 0,
            with_value=with_value,
            has_aux=aux is not None and aux.constant is not False,
            filtered=filtered,
        )
    )


def gradient(
    reference: Gradient, arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """What calling a gradient function gives."""
    argument = arguments.at(reference.argument) or UNKNOWN
    value = LEAF
    aux = UNKNOWN
    if reference.function.reference is not None:
        result = invocation.apply(reference.function, arguments, node, frame, interpreter)
        aux = child(result, 1) or UNKNOWN if reference.has_aux else UNKNOWN
    grads = _filtered_like(argument, node, frame) if reference.filtered else argument
    grads = replace(grads, reference=None, constant=None) if grads.parts is None else grads
    if reference.with_value:
        first = container({0: value, 1: aux}) if reference.has_aux else value
        return container({0: first, 1: grads})
    return container({0: grads, 1: aux}) if reference.has_aux else grads


def _filtered_like(argument: Value, node: ast.AST, frame: Frame) -> Value:
    note = "a filtered gradient holds None where nothing is differentiable"
    return _filtered(argument, _INEXACT, note, node, frame)


_INEXACT: Final = "inexact arrays"


def _filtered(tree: Value, spec: Token, note: str, node: ast.AST, frame: Frame) -> Value:
    """A tree with None in the place of what a filter leaves out."""
    shape = _tree_token(tree)
    token = ("filtered", shape, spec) if shape is not None else None
    if token is not None and spec in _specs_of(shape):
        # Filtered once, nothing more is left out the second time.
        return replace(tree, reference=None)
    evidence = Evidence(frame.module.path, getattr(node, "lineno", 1), note)
    includes = tree.includes | ({shape} if shape is not None else set())
    return Value(
        none=Is.NO, inside=Is.MAYBE, why=(evidence,), shape=token, includes=frozenset(includes)
    )


def _specs_of(shape: Token) -> tuple[Token, ...]:
    if isinstance(shape, tuple) and len(shape) == 3 and shape[0] == "filtered":
        return (shape[2], *_specs_of(shape[1]))
    return ()


def _tree_token(tree: Value) -> Token | None:
    """What stands for a tree in the tokens of trees made from it."""
    if tree.shape is not None:
        return tree.shape
    if isinstance(tree.reference, Instance):
        return ("object", id(tree.reference.cls))
    if tree.parts is not None:
        return ("display", tuple(tree.parts))
    return None


def _spec_token(spec: Value | None) -> Token:
    name = getattr(spec.reference, "name", "") if spec is not None else ""
    if name in ("equinox.is_inexact_array", "equinox.is_inexact_array_like"):
        return _INEXACT
    if name:
        return str(name)
    if spec is not None and spec.shape is not None:
        return spec.shape
    return id(spec.reference) if spec is not None and spec.reference is not None else "?"


def _equinox_filter(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    tree = arguments.at(0, "pytree") or UNKNOWN
    spec = _spec_token(arguments.at(1, "filter_spec"))
    replaced = arguments.keywords.get("replace")
    if replaced is not None and replaced.none is Is.NO:
        return replace(tree, reference=None)
    if "inverse" in arguments.keywords:
        spec = ("not", spec)
    return _filtered(
        tree, spec, "eqx.filter leaves None in the place of what it drops", node, frame
    )


def _equinox_partition(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    tree = arguments.at(0, "pytree") or UNKNOWN
    spec = _spec_token(arguments.at(1, "filter_spec"))
    note = "eqx.partition leaves None in each half where the other has the leaf"
    halves = [_filtered(tree, kind, note, node, frame) for kind in (spec, ("not", spec))]
    return container(dict(enumerate(halves)))


def _equinox_combine(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """Halves of one tree, put together again, are that tree."""
    for value in arguments.args:
        shape = value.shape
        if isinstance(shape, tuple) and len(shape) == 3 and shape[0] == "filtered":
            return Value(none=Is.NO, shape=shape[1])
    return interpreter.fresh(node, frame.module)


def _partial(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    """A function with arguments given; it is run with them, whoever calls it in the end."""
    if not arguments.args:
        return UNKNOWN
    function = arguments.args[0]
    bound = referring(Bound(function, arguments.args[1:], arguments.keywords))
    if any(holds_none(v) for v in (*arguments.args[1:], *arguments.keywords.values())):
        invocation.apply(bound, Arguments(), node, frame, interpreter)
    return bound


def _namedtuple(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """`namedtuple("P", ["x", "y"], defaults=…)`, and `NamedTuple("P", [("x", int)])`."""
    given = arguments.at(1, "field_names") or UNKNOWN
    if isinstance(given.constant, str):
        names = given.constant.replace(",", " ").split()
    else:
        names = [_field_name(part) for part in (given.parts or {}).values()]
    defaults = arguments.keywords.get("defaults")
    values = tuple((defaults.parts or {}).values()) if defaults is not None else ()
    return referring(Record(tuple(names), values))


def _field_name(part: Value) -> str:
    named = child(part, 0) if part.parts is not None else part
    return str(named.constant) if named is not None else ""


def _transformation(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """optax's pair of functions: `update` gets the state that `init` makes of the parameters."""
    pair = objects.record(Record(("init", "update")), arguments)
    init, update_function = child(pair, "init") or UNKNOWN, child(pair, "update") or UNKNOWN
    params = interpreter.fresh(node, frame.module)
    state = invocation.apply(init, Arguments((params,)), node, frame, interpreter)
    given = Arguments((interpreter.fresh(node, frame.module), state, params))
    invocation.apply(update_function, given, node, frame, interpreter)
    return pair


def _optax_update(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """An optax transformation gives updates of the structure of the gradients, and its state."""
    updates = arguments.at(0, "updates") or UNKNOWN
    return container({0: updates, 1: interpreter.fresh(node, frame.module)})


def _fromkeys(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    value = arguments.at(1)
    if value is None:
        line = getattr(node, "lineno", 1)
        value = none(Evidence(frame.module.path, line, "dict.fromkeys fills with None"))
    return container({}, value)


def _dict_call(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    parts: dict[Key, Value] = {}
    rest: Value | None = None
    first = arguments.at(0)
    if first is not None:
        if first.parts is None:
            rest = first if first.inside is Is.MAYBE else UNKNOWN
        elif any(isinstance(key, str) for key in first.parts):
            parts, rest = dict(first.parts), first.rest
        else:
            rest = _second_of_pairs(first)
    parts.update(arguments.keywords)
    return container(parts, rest)


def _second_of_pairs(pairs: Value) -> Value:
    pair = element(pairs)
    found = child(pair, 1) if pair is not None else None
    return found or UNKNOWN


def _zip(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    lengths = [
        len(v.parts) if v.parts is not None and v.rest is None and not v.leaf else None
        for v in arguments.args
    ]
    known = [length for length in lengths if length is not None]
    if known and len(known) == len(lengths) and min(known) <= 8:
        rows = [
            container(
                {n: list((v.parts or {}).values())[row] for n, v in enumerate(arguments.args)}
            )
            for row in range(min(known))
        ]
        return container(dict(enumerate(rows)))
    columns: dict[Key, Value] = {
        n: element(value) or UNKNOWN for n, value in enumerate(arguments.args)
    }
    return container({}, container(columns))


def _enumerate(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    return container({}, container({0: LEAF, 1: element(arguments.at(0) or UNKNOWN) or UNKNOWN}))


def _map_builtin(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    if len(arguments.args) < 2:
        return UNKNOWN
    items = tuple(element(value) or UNKNOWN for value in arguments.args[1:])
    return container(
        {}, invocation.apply(arguments.args[0], Arguments(items), node, frame, interpreter)
    )


def _filter_builtin(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """`filter` may drop the Nones: what is left is not known to hold any."""
    items = element(arguments.at(1) or UNKNOWN)
    kept = replace(items, none=Is.UNKNOWN, why=()) if items is not None else UNKNOWN
    return container({}, kept)


def _reduce(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    if len(arguments.args) < 2:
        return UNKNOWN
    function, items = arguments.args[:2]
    item = element(items) or UNKNOWN
    start = arguments.at(2) or child(items, 0) or item
    result = start
    for _ in range(2):
        pair = Arguments((result, item))
        result = join(result, invocation.apply(function, pair, node, frame, interpreter))
    return result


def _replaced(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    return with_fields(arguments.at(0) or UNKNOWN, arguments.keywords)


def with_fields(value: Value, fields: Mapping[str, Value]) -> Value:
    """A record with some fields replaced."""
    for name, new in fields.items():
        value = with_child(value, name, new)
    return value


def _flatten(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    tree = arguments.at(0) or UNKNOWN
    leaves = _leaves(arguments, node, frame, interpreter)
    structure = Value(
        none=Is.NO, shape=("treedef", _tree_token(tree)), leaf=True, reference=Structure(tree)
    )
    return container({0: leaves, 1: structure})


def _leaves(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    """The leaves of a tree: no None among them, unless None is taken for one."""
    tree = arguments.at(0) or UNKNOWN
    if isinstance(node, ast.Call):
        given = next((k.value for k in node.keywords if k.arg == "is_leaf"), None)
        if given is not None:
            outcome = callable_on_none(given, interpreter.place(frame))
            if isinstance(outcome, Known) and outcome.value:
                note = "None is taken for a leaf of it"
                interpreter.mind(tree, frame.scope, Evidence(frame.module.path, node.lineno, note))
                why = holds_none(tree)
                return container({}, Value(none=Is.MAYBE, why=why) if why else UNKNOWN)
    return container({}, LEAF)


def _unflatten(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """A tree made of leaves holds a None where a leaf is one; else it is as the structure says."""
    structure, leaves = arguments.at(0) or UNKNOWN, arguments.at(1) or UNKNOWN
    why = holds_none(leaves)
    shape = structure.shape
    of = shape[1] if isinstance(shape, tuple) and shape[:1] == ("treedef",) else None
    if why:
        return Value(none=Is.NO, inside=Is.MAYBE, why=why, includes=frozenset({of} if of else ()))
    return Value(shape=of)


def _scan(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    function = arguments.at(0, "f") or UNKNOWN
    carry = arguments.at(1, "init") or UNKNOWN
    items = arguments.at(2, "xs") or UNKNOWN
    given = Arguments((carry, replace(items, shape=None, reference=None)))
    result = invocation.apply(function, given, node, frame, interpreter)
    return container({0: join(carry, child(result, 0) or UNKNOWN), 1: child(result, 1) or UNKNOWN})


def _fori_loop(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    body, start = arguments.at(2, "body_fun") or UNKNOWN, arguments.at(3, "init_val") or UNKNOWN
    result = invocation.apply(body, Arguments((LEAF, start)), node, frame, interpreter)
    return join(start, result)


def _while_loop(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    body, start = arguments.at(1, "body_fun") or UNKNOWN, arguments.at(2, "init_val") or UNKNOWN
    return join(start, invocation.apply(body, Arguments((start,)), node, frame, interpreter))


def _cond(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    given = Arguments(arguments.args[3:])
    branches = [value for value in arguments.args[1:3] if value.reference is not None]
    if not branches:
        return UNKNOWN
    return joined([invocation.apply(b, given, node, frame, interpreter) for b in branches])


def _eval_shape(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    function = arguments.at(0) or UNKNOWN
    given = Arguments(arguments.args[1:], arguments.keywords)
    return invocation.apply(function, given, node, frame, interpreter)


_RULES: Final[Mapping[str, _Rule]] = {
    "equinox.filter": _equinox_filter,
    "equinox.partition": _equinox_partition,
    "equinox.combine": _equinox_combine,
    "functools.partial": _partial,
    "collections.namedtuple": _namedtuple,
    "typing.NamedTuple": _namedtuple,
    "optax.GradientTransformation": _transformation,
    "optax.GradientTransformationExtraArgs": _transformation,
    f"{_OPTAX_OBJECT}.update": _optax_update,
    "functools.reduce": _reduce,
    "builtins.dict": _dict_call,
    "builtins.dict.fromkeys": _fromkeys,
    "collections.OrderedDict": _dict_call,
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.map": _map_builtin,
    "builtins.filter": _filter_builtin,
    "jax.lax.scan": _scan,
    "jax.lax.fori_loop": _fori_loop,
    "jax.lax.while_loop": _while_loop,
    "jax.lax.cond": _cond,
    "jax.eval_shape": _eval_shape,
    **dict.fromkeys(_REPLACE, _replaced),
    **dict.fromkeys(_FLATTEN, _flatten),
    **dict.fromkeys(_LEAVES, _leaves),
    **dict.fromkeys(_UNFLATTEN, _unflatten),
}


def special_call(
    name: str, node: ast.Call, arguments: Arguments, frame: Frame, interpreter: Interpreter
) -> Value | None:
    """Calls that change a variable of the caller, or look at the source: `setattr`, `getattr`."""
    if name == "builtins.setattr" and len(arguments.args) == 3 and node.args:
        attribute = arguments.args[1].constant
        if isinstance(attribute, str):
            target = ast.Attribute(node.args[0], attribute, ast.Store())
            store(target, arguments.args[2], frame)
        return LEAF
    if name == "builtins.getattr" and len(arguments.args) >= 2:
        attribute = arguments.args[1].constant
        if isinstance(attribute, str):
            return child(arguments.args[0], attribute) or arguments.at(2)
        return element(arguments.args[0])
    return None


def container_method(
    method: BoundBuiltin,
    node: ast.Call,
    arguments: Arguments,
    frame: Frame,
    interpreter: Interpreter,
) -> Value:
    """A method of a dictionary, list or record, in place where it works in place."""
    if not isinstance(node.func, ast.Attribute):
        # bound to a name first, so what it works on in place has none here
        return interpreter.fresh(node, frame.module)
    structure = method.owner.reference
    if method.name == "flatten_up_to" and isinstance(structure, Structure) and arguments.args:
        interpreter.see_flatten(node, frame, (structure.tree, arguments.args[0]))
    rule = _METHODS.get(method.name)
    if rule is None:
        return interpreter.fresh(node, frame.module)
    return rule(method.owner, node, arguments, frame)


def _items(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    if owner.parts is None:
        return UNKNOWN
    if owner.rest is None and len(owner.parts) <= 8:
        pairs = [
            container({0: Value(none=Is.NO, inside=Is.NO, constant=key, leaf=True), 1: value})
            for key, value in owner.parts.items()
        ]
        return container(dict(enumerate(pairs)))
    return container({}, container({0: LEAF, 1: element(owner) or UNKNOWN}))


def _values(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    if owner.parts is None:
        return UNKNOWN
    return container(dict(enumerate(owner.parts.values())), owner.rest)


def _keys(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    keys = [Value(none=Is.NO, inside=Is.NO, constant=key, leaf=True) for key in owner.parts or {}]
    return container(dict(enumerate(keys))) if owner.rest is None else container({}, LEAF)


def _get(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    """`d.get(k)`: None where the key is missing and no other default is given."""
    key = arguments.args[0].constant if arguments.args else None
    found = child(owner, key) if isinstance(key, str | int) else element(owner)
    default = arguments.at(1, "default")
    certain = isinstance(key, str | int) and owner.parts is not None and key in owner.parts
    if certain and found is not None:
        return found
    if default is None:
        if owner.parts is None or owner.rest is not None:
            return found or UNKNOWN
        note = f"{ast.unparse(node)} gives None for a missing key"
        return maybe_none(found or UNKNOWN, Evidence(frame.module.path, node.lineno, note))
    if owner.parts is not None and owner.rest is None and isinstance(key, str | int):
        return default
    return join(found, default) if found is not None else default


def _pop(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    assert isinstance(node.func, ast.Attribute)
    key = arguments.args[0].constant if arguments.args else None
    known = isinstance(key, str | int)
    result = _get(owner, node, arguments, frame) if len(arguments.args) > 1 else None
    if result is None:
        result = (child(owner, key) if isinstance(key, str | int) else element(owner)) or UNKNOWN
    if known and isinstance(key, str):
        update(node.func.value, lambda value: without_child(value, key), frame)
    return result


def _update(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    assert isinstance(node.func, ast.Attribute)
    added = arguments.at(0)

    def changed(value: Value) -> Value:
        if added is not None and added.parts is not None:
            value = with_fields(value, {str(k): v for k, v in added.parts.items()})
            if added.rest is not None:
                value = with_any_child(value, added.rest)
        elif added is not None and holds_none(added):
            value = with_any_child(value, added)
        return with_fields(value, arguments.keywords)

    update(node.func.value, changed, frame)
    return LEAF


def _setdefault(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    assert isinstance(node.func, ast.Attribute)
    key = arguments.args[0].constant if arguments.args else None
    new = arguments.at(1)
    if new is None:
        note = "setdefault puts None"
        new = none(Evidence(frame.module.path, node.lineno, note))
    if not isinstance(key, str | int):
        update(node.func.value, lambda value: with_any_child(value, new), frame)
        return element(owner) or new
    found = child(owner, key)
    if owner.parts is not None and key in owner.parts and found is not None:
        return found
    value = new if owner.parts is not None and owner.rest is None else join(found or UNKNOWN, new)
    update(node.func.value, lambda old: with_child(old, key, value), frame)
    return value


def _append(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    assert isinstance(node.func, ast.Attribute)
    new = arguments.at(0) or UNKNOWN
    if owner.parts is not None and owner.rest is None and len(owner.parts) < 4:
        position = len(owner.parts)
        update(node.func.value, lambda value: with_child(value, position, new), frame)
    else:
        update(node.func.value, lambda value: with_any_child(value, new), frame)
    return LEAF


def _extend(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    assert isinstance(node.func, ast.Attribute)
    new = element(arguments.at(0) or UNKNOWN) or UNKNOWN
    update(node.func.value, lambda value: with_any_child(value, new), frame)
    return LEAF


def _copy(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    """`d.copy()`, and flax's `d.copy({…})`."""
    added = arguments.at(0, "add_or_replace")
    if added is None or added.parts is None:
        return owner
    return with_fields(owner, {str(k): v for k, v in added.parts.items()})


def _record(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    if not arguments.keywords:
        return LEAF
    return with_fields(owner, arguments.keywords)


def _unflatten_method(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    why = holds_none(arguments.at(0) or UNKNOWN)
    shape = owner.shape
    of = shape[1] if isinstance(shape, tuple) and shape[:1] == ("treedef",) else None
    if why:
        return Value(none=Is.NO, inside=Is.MAYBE, why=why, includes=frozenset({of} if of else ()))
    return Value(shape=of)


def _as_it_is(owner: Value, node: ast.Call, arguments: Arguments, frame: Frame) -> Value:
    return owner


_METHODS: Final[Mapping[str, Callable[[Value, ast.Call, Arguments, Frame], Value]]] = {
    "items": _items,
    "values": _values,
    "keys": _keys,
    "get": _get,
    "pop": _pop,
    "update": _update,
    "setdefault": _setdefault,
    "append": _append,
    "extend": _extend,
    "copy": _copy,
    "replace": _record,
    "_replace": _record,
    "_asdict": _as_it_is,
    "unflatten": _unflatten_method,
}
