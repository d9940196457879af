"""The changes that name placeholders, as they travel from the project's analysis to each file."""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from jaxmigrate.analysis.guards import Question
from jaxmigrate.model import Confidence, Evidence


class Deed(enum.Enum):
    """What is done at a place: a None is replaced, a question is, an annotation is, a map is guarded."""

    BUILD = enum.auto()
    ASK = enum.auto()
    ANNOTATE = enum.auto()
    GUARD = enum.auto()


@dataclass(frozen=True, slots=True)
class Change:
    """One change, as it is found again in its file.

    `expr` is what a builder writes, empty if nothing can be written here; `cls` is the class that an
    asker asks for, empty for `()` and `{}`;
    `imported` is the import that it takes.
    """

    deed: Deed
    expr: str
    cls: str
    imported: str | None
    confidence: Confidence
    reason: str
    evidence: tuple[Evidence, ...]


Place_: TypeAlias = tuple[str, int, int, Deed]
Table: TypeAlias = Mapping[Place_, Change]
"""The changes of a project by file, line (from 1), column (in bytes from 0) and kind."""


def question_of(expr: str, cls: str) -> Question:
    """How a guard asks whether something is the sentinel `expr`."""
    if cls:
        return Question(f"isinstance({{0}}, {cls})", "{0}")
    kind = "tuple" if expr == "()" else "dict"
    return Question(f"type({{0}}) is {kind} and not {{0}}", "{0}")


def optional_part(annotation: ast.expr) -> ast.expr | None:
    """What an annotation says that may be None: `T` of `Optional[T]` and `T | None`; None for others."""
    if isinstance(annotation, ast.Subscript):
        name = annotation.value
        last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
        quoted = any(isinstance(n, ast.Constant) for n in ast.walk(annotation.slice))
        return annotation.slice if last == "Optional" and not quoted else None
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        right = annotation.right
        if isinstance(right, ast.Constant) and right.value is None:
            return annotation.left
    return None
