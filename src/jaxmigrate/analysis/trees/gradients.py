"""Gradients and filters: trees with None in the place of what is left out."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from jaxmigrate.analysis.trees import invocation
from jaxmigrate.analysis.trees.references import (
    Arguments,
    Cotangent,
    Frame,
    Gradient,
    Instance,
)
from jaxmigrate.analysis.trees.rules import Rule
from jaxmigrate.analysis.trees.values import (
    LEAF,
    UNKNOWN,
    Is,
    Token,
    Value,
    child,
    container,
    referring,
    replace,
)
from jaxmigrate.model import Evidence

if TYPE_CHECKING:
    from jaxmigrate.analysis.trees.interpreter import Interpreter

_GRADIENTS: Final[Mapping[str, tuple[bool, bool]]] = {
    "jax.grad": (False, False),
    "jax.value_and_grad": (True, False),
    "equinox.filter_grad": (False, True),
    "equinox.filter_value_and_grad": (True, True),
}
"""Functions that give a gradient: whether the value comes first, whether it is filtered."""


def _gradient_of(
    arguments: Arguments,
    node: ast.AST,
    frame: Frame,
    interpreter: Interpreter,
    *,
    with_value: bool,
    filtered: bool,
) -> Value:
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
    shape = tree_token(tree)
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


def tree_token(tree: Value) -> Token | None:
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


def _vjp(arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter) -> Value:
    """What the function gives, what pulls cotangents back, and what it brings along."""
    primals = tuple(replace(p, reference=None, constant=None) for p in arguments.args[1:])
    result = invocation.apply(
        arguments.at(0) or UNKNOWN, Arguments(arguments.args[1:]), node, frame, interpreter
    )
    pull_back = referring(Cotangent(primals))
    if "has_aux" not in arguments.keywords:
        return container({0: result, 1: pull_back})
    parts = (child(result, 0) or UNKNOWN, pull_back, child(result, 1) or UNKNOWN)
    return container(dict(enumerate(parts)))


def _gradient_rules() -> Iterator[tuple[str, Rule]]:
    for name, (with_value, filtered) in _GRADIENTS.items():
        yield name, functools.partial(_gradient_of, with_value=with_value, filtered=filtered)


RULES: Final[Mapping[str, Rule]] = {
    "equinox.filter": _equinox_filter,
    "equinox.partition": _equinox_partition,
    "equinox.combine": _equinox_combine,
    "jax.vjp": _vjp,
    **dict(_gradient_rules()),
}
"""The functions that this module knows, by their dotted names."""
