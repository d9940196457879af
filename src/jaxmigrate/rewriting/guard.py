"""Builds a guarded tree-map call from the call and its plan."""

from __future__ import annotations

import libcst as cst

from jaxmigrate.analysis.guards import (
    Guard,
    JoinedLeaf,
    LambdaGuard,
    LambdaLeaf,
    NewLeaf,
    WrapperGuard,
)
from jaxmigrate.rewriting.arguments import append_argument, argument_index, replace_argument


def guard_call(call: cst.Call, plan: Guard, *, first: int = 0) -> cst.Call:
    """The call as `plan` says; `first` is the position of the callback among the arguments, from 0."""
    if plan.callback is not None:
        index = argument_index(call, "f", first)
        argument = call.args[index]
        call = replace_argument(call, index, _callback(argument.value, plan.callback))
    return _with_leaf(call, plan.leaf)


def call_helper(call: cst.Call, name: str) -> cst.Call:
    """The same call of the helper `name`."""
    return call.with_changes(func=cst.Name(name))


def helper_function(name: str, function: str) -> cst.BaseStatement:
    """A helper that maps as JAX did up to 0.4.28, by the tree map that `function` spells."""
    source = (
        f"def {name}(f, tree, *rest):\n"
        '    """Map as JAX did up to 0.4.28: where `tree` holds None, so does the result."""\n'
        f"    return {function}(\n"
        "        lambda x, *xs: None if x is None else f(x, *xs),\n"
        "        tree,\n"
        "        *rest,\n"
        "        is_leaf=lambda x: x is None,\n"
        "    )\n"
    )
    return cst.parse_statement(source)


def guard_expression(test: str, value: cst.BaseExpression) -> cst.BaseExpression:
    """`None if <test> else <value>`."""
    return _guarded(test, value)


def with_none_leaf(call: cst.Call) -> cst.Call:
    """The call with `is_leaf=lambda x: x is None` behind its arguments."""
    return append_argument(call, "is_leaf", _expression("lambda x: x is None"))


def _callback(
    callback: cst.BaseExpression, guard: LambdaGuard | WrapperGuard
) -> cst.BaseExpression:
    if isinstance(guard, LambdaGuard):
        assert isinstance(callback, cst.Lambda)
        return callback.with_changes(body=_guarded(guard.test, callback.body, guard.result))
    function = callback if guard.default is None else cst.Name(guard.default)
    wrapper = _expression(f"lambda {_signature(guard)}: None")
    assert isinstance(wrapper, cst.Lambda)
    arguments = [_argument(name) for name in guard.parameters]
    body = _guarded(guard.test, cst.Call(function, arguments), guard.result)
    return _with_default(wrapper.with_changes(body=body), callback)


def _signature(guard: WrapperGuard) -> str:
    if guard.default is None:
        return ", ".join(guard.parameters)
    starred = guard.parameters[-1].startswith("*")
    return ", ".join([*guard.parameters, *([] if starred else ["*"]), f"{guard.default}=None"])


def _argument(name: str) -> cst.Arg:
    return cst.Arg(cst.Name(name.lstrip("*")), star="*" if name.startswith("*") else "")


def _guarded(test: str, value: cst.BaseExpression, result: str = "None") -> cst.IfExp:
    return cst.IfExp(body=_expression(result), test=_expression(test), orelse=value)


def _with_default(wrapper: cst.Lambda, value: cst.BaseExpression) -> cst.Lambda:
    """Put `value` where the wrapper's keyword-only default is, if it has one."""
    if not wrapper.params.kwonly_params:
        return wrapper
    parameter = wrapper.params.kwonly_params[0].with_changes(default=_bracketed(value))
    return wrapper.with_changes(params=wrapper.params.with_changes(kwonly_params=[parameter]))


def _bracketed(value: cst.BaseExpression) -> cst.BaseExpression:
    """In parentheses, where a default cannot stand, or cannot be read, without them."""
    if isinstance(value, cst.Lambda | cst.NamedExpr) and not value.lpar:
        return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return value


def _with_leaf(call: cst.Call, leaf: NewLeaf | LambdaLeaf | JoinedLeaf) -> cst.Call:
    index = argument_index(call, "is_leaf", None)
    if index is None:
        assert isinstance(leaf, NewLeaf)
        return append_argument(call, "is_leaf", _expression(leaf.text))
    given = call.args[index].value
    return replace_argument(call, index, _joined(given, leaf))


def _joined(
    given: cst.BaseExpression, leaf: NewLeaf | LambdaLeaf | JoinedLeaf
) -> cst.BaseExpression:
    if isinstance(leaf, NewLeaf):
        return _expression(leaf.text)
    if isinstance(leaf, LambdaLeaf):
        assert isinstance(given, cst.Lambda)
        return given.with_changes(body=_or(leaf.test, given.body))
    predicate = given if leaf.default is None else cst.Name(leaf.default)
    asked: cst.BaseExpression = cst.Call(predicate, [_argument(leaf.node)])
    if leaf.optional:
        asked = cst.BooleanOperation(
            left=cst.Comparison(
                predicate,
                [cst.ComparisonTarget(cst.IsNot(), cst.Name("None"))],
            ),
            operator=cst.And(),
            right=asked,
            lpar=[cst.LeftParen()],
            rpar=[cst.RightParen()],
        )
    signature = leaf.node if leaf.default is None else f"{leaf.node}, *, {leaf.default}=None"
    wrapper = _expression(f"lambda {signature}: None")
    assert isinstance(wrapper, cst.Lambda)
    return _with_default(wrapper.with_changes(body=_or(leaf.test, asked)), given)


def _or(test: str, value: cst.BaseExpression) -> cst.BooleanOperation:
    if isinstance(value, cst.IfExp | cst.Lambda) and not value.lpar:
        value = value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.BooleanOperation(left=_expression(test), operator=cst.Or(), right=value)


def _expression(text: str) -> cst.BaseExpression:
    return cst.parse_expression(text)
