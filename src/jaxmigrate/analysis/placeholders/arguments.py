"""The arguments of a call, and what they come to where nothing is known of the function."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxmigrate.analysis.placeholders.things import (
    Arguments,
    Box,
    Node,
    Spot,
)

if TYPE_CHECKING:
    from jaxmigrate.analysis.placeholders.reading import Reader


def give_away(reader: Reader, arguments: Arguments, spot: Spot, words: str) -> None:
    """The arguments of a call go where the tool cannot look."""
    for node in all_of(arguments):
        reader.leave(node, spot, words)


def all_of(arguments: Arguments) -> list[Node]:
    more = [n for n in (arguments.starred, arguments.double) if n is not None]
    return [*arguments.given, *arguments.named.values(), *more]


def called(expr: ast.AST) -> str:
    if isinstance(expr, ast.Call):
        words = ast.unparse(expr.func)
        return f"{words}()" if len(words) < 40 else "a function"
    return "a decorator"


def box_for(reader: Reader, expr: ast.AST, kind: str, spot: Spot) -> Box:
    if expr not in reader.objects:
        reader.objects[expr] = Box(kind, spot)
    return reader.objects[expr]
