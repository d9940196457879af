"""Builds what names a placeholder: the question for it, the type that it is in an annotation."""

from __future__ import annotations

import libcst as cst

_LOOSE = (cst.Lambda, cst.IfExp, cst.BooleanOperation)


def ask_for(node: cst.Comparison, cls: str, expr: str) -> cst.BaseExpression:
    """`x is None` or `x is not None`, asked of an object of `cls`, or of the empty `()` or `{}`."""
    operand = _bare(node.left)
    negated = isinstance(node.comparisons[0].operator, cst.IsNot)
    if cls:
        asked: cst.BaseExpression = cst.Call(
            cst.Name("isinstance"), [cst.Arg(operand), cst.Arg(cst.parse_expression(cls))]
        )
    else:
        asked = _empty(operand, "tuple" if expr == "()" else "dict")
    if negated:
        asked = cst.UnaryOperation(cst.Not(), asked)
    if node.left.lpar and not node.lpar and not asked.lpar:
        # `if(x)is None`: what stands before may need no space because of the parenthesis.
        asked = asked.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return asked.with_changes(lpar=[*node.lpar, *asked.lpar], rpar=[*asked.rpar, *node.rpar])


def _bare(operand: cst.BaseExpression) -> cst.BaseExpression:
    """A name or a part of something without its parentheses."""
    if isinstance(operand, cst.Name | cst.Attribute | cst.Subscript | cst.Call):
        return operand.with_changes(lpar=[], rpar=[])
    return operand


def _empty(operand: cst.BaseExpression, kind: str) -> cst.BaseExpression:
    """`(type(x) is tuple and not x)`."""
    test = cst.Comparison(
        cst.Call(cst.Name("type"), [cst.Arg(operand)]),
        [cst.ComparisonTarget(cst.Is(), cst.Name(kind))],
    )
    empty = cst.UnaryOperation(cst.Not(), operand)
    return cst.BooleanOperation(
        test, cst.And(), empty, lpar=[cst.LeftParen()], rpar=[cst.RightParen()]
    )


def with_placeholder_type(node: cst.BaseExpression, cls: str, expr: str) -> cst.BaseExpression:
    """`Optional[T]` and `T | None` as `T | <placeholder's class>`."""
    type_ = cst.parse_expression(cls or ("tuple[()]" if expr == "()" else "dict"))
    if isinstance(node, cst.BinaryOperation):
        return node.with_changes(right=type_)
    assert isinstance(node, cst.Subscript)
    element = node.slice[0].slice
    assert isinstance(element, cst.Index)
    inner = element.value
    if isinstance(inner, _LOOSE) and not inner.lpar:
        inner = inner.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.BinaryOperation(inner, cst.BitOr(), type_, lpar=node.lpar, rpar=node.rpar)


def add_import(text: str, *, apart: bool) -> cst.BaseStatement:
    """The statement of an import, a blank line before it if it stands `apart`."""
    statement = cst.parse_statement(f"{text}\n")
    blank = [cst.EmptyLine(indent=False)] if apart else []
    return statement.with_changes(leading_lines=blank)
