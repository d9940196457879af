"""The form of a rule on what a function outside the project gives."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from jaxmigrate.analysis.trees.references import Arguments, Frame
from jaxmigrate.analysis.trees.values import Value

if TYPE_CHECKING:
    from jaxmigrate.analysis.trees.interpreter import Interpreter

Rule: TypeAlias = Callable[[Arguments, ast.AST, Frame, "Interpreter"], Value]
"""Gives the value of a call from its arguments, the call, its frame and the interpreter."""
