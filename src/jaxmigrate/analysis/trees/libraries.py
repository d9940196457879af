"""What functions outside the project do to trees: data, and the few rules that read it.

Names are those of the libraries' documentation: JAX, NumPy, equinox, optax, flax, chex, the standard
library.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from jaxmigrate.analysis.jaxnames import FLATTEN, LEAVES, UNFLATTEN
from jaxmigrate.analysis.on_none import Known, callable_on_none
from jaxmigrate.analysis.trees import containers, gradients, invocation, objects
from jaxmigrate.analysis.trees.gradients import tree_token
from jaxmigrate.analysis.trees.paths import store
from jaxmigrate.analysis.trees.references import (
    Arguments,
    ExternalReference,
    Frame,
    Record,
    Structure,
)
from jaxmigrate.analysis.trees.rules import Rule
from jaxmigrate.analysis.trees.values import (
    LEAF,
    UNKNOWN,
    Is,
    Value,
    child,
    container,
    element,
    holds_none,
    join,
    joined,
    referring,
    replace,
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


_OPTAX_OBJECT: Final = "optax transformation"
"""What stands for the object that an optax optimizer or transformation is."""


def external(
    name: str, arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """What a call of something outside the project gives."""
    rule = _RULES.get(name)
    if rule is not None:
        return rule(arguments, node, frame, interpreter)
    if name in _KEEP_FUNCTION:
        return _same_function(arguments, name)
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


def _flatten(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    tree = arguments.at(0) or UNKNOWN
    leaves = _leaves(arguments, node, frame, interpreter)
    structure = Value(
        none=Is.NO, shape=("treedef", tree_token(tree)), leaf=True, reference=Structure(tree)
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
    return containers.unflattened(arguments.at(0) or UNKNOWN, arguments.at(1) or UNKNOWN)


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


def _empty(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    """A NamedTuple without fields."""
    return container({})


def _eval_shape(
    arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    function = arguments.at(0) or UNKNOWN
    given = Arguments(arguments.args[1:], arguments.keywords)
    return invocation.apply(function, given, node, frame, interpreter)


_RULES: Final[Mapping[str, Rule]] = {
    **containers.RULES,
    **gradients.RULES,
    "optax.GradientTransformation": _transformation,
    "optax.GradientTransformationExtraArgs": _transformation,
    f"{_OPTAX_OBJECT}.update": _optax_update,
    "jax.lax.scan": _scan,
    "jax.lax.fori_loop": _fori_loop,
    "jax.lax.while_loop": _while_loop,
    "jax.lax.cond": _cond,
    "jax.eval_shape": _eval_shape,
    "optax.EmptyState": _empty,
    "optax.MaskedNode": _empty,
    **dict.fromkeys(FLATTEN, _flatten),
    **dict.fromkeys(LEAVES, _leaves),
    **dict.fromkeys(UNFLATTEN, _unflatten),
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
