"""One node's source to LibCST and back, byte-true."""

from __future__ import annotations

from typing import TypeVar

import libcst as cst

NodeT = TypeVar("NodeT", bound=cst.CSTNode)


class Unparsable(Exception):
    """A piece of source that LibCST cannot read or does not print back as it was."""


def parse_expression(source: str, newline: str) -> cst.BaseExpression:
    """The LibCST node of an expression as it stands in a file whose newline is `newline`.

    Raises Unparsable.
    """
    node = _parse(f"({source})", newline)
    bare = node.with_changes(lpar=list(node.lpar)[1:], rpar=list(node.rpar)[:-1])
    if not isinstance(bare, cst.BaseExpression):
        raise Unparsable(f"not an expression: {source!r}")
    return _checked(bare, source, newline)


def parse_small_statement(source: str, newline: str) -> cst.BaseSmallStatement:
    """The LibCST node of one simple statement, without a semicolon. Raises Unparsable."""
    config = cst.PartialParserConfig(default_newline=newline)
    try:
        line = cst.parse_statement(source, config=config)
    except (cst.ParserSyntaxError, cst.CSTValidationError) as error:
        raise Unparsable(str(error)) from error
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        raise Unparsable(f"not one simple statement: {source!r}")
    return _checked(line.body[0], source, newline)


def parse_compound(source: str, newline: str) -> cst.BaseCompoundStatement:
    """The LibCST node of a compound statement that begins in the first column. Raises Unparsable."""
    config = cst.PartialParserConfig(default_newline=newline)
    try:
        node = cst.parse_statement(source + newline, config=config)
    except (cst.ParserSyntaxError, cst.CSTValidationError) as error:
        raise Unparsable(str(error)) from error
    if not isinstance(node, cst.BaseCompoundStatement):
        raise Unparsable(f"not a compound statement: {source!r}")
    return node


def code(node: cst.CSTNode, newline: str) -> str:
    """The source text of a node; line breaks that LibCST adds are `newline`."""
    return cst.Module([], default_newline=newline).code_for_node(node)


def comments_of(node: cst.CSTNode) -> list[str]:
    """The comments in a node, in order."""
    found = [node.value] if isinstance(node, cst.Comment) else []
    for inner in node.children:
        found.extend(comments_of(inner))
    return found


def _parse(source: str, newline: str) -> cst.BaseExpression:
    config = cst.PartialParserConfig(default_newline=newline)
    try:
        return cst.parse_expression(source, config=config)
    except (cst.ParserSyntaxError, cst.CSTValidationError) as error:
        raise Unparsable(str(error)) from error


def _checked(node: NodeT, source: str, newline: str) -> NodeT:
    if code(node, newline) != source:
        raise Unparsable(f"LibCST does not print this back as it is: {source!r}")
    return node
