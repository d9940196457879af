"""Small questions about syntax that the reading of a project asks."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from jaxmigrate.analysis.placeholders.things import ANY, Form, Key
from jaxmigrate.analysis.scopes import Scope

_OTHER_ERRORS = frozenset(
    {
        *(
            "EOFError",
            "FileExistsError",
            "FileNotFoundError",
            "IOError",
            "ImportError",
            "IndexError",
        ),
        *("KeyError", "KeyboardInterrupt", "MemoryError", "ModuleNotFoundError", "NameError"),
        *("NotImplementedError", "OSError", "OverflowError", "PermissionError", "RecursionError"),
        *("StopIteration", "SystemExit", "TimeoutError", "UnicodeDecodeError", "ZeroDivisionError"),
    }
)
"""Errors that no use of None raises."""


def home_of(scope: Scope, name: str) -> Scope:
    """The scope that a name is bound in."""
    return scope.owner(name) or scope


def key_at(expr: ast.expr) -> Key:
    """The key that a subscript asks for."""
    if isinstance(expr, ast.Constant) and expr.value is not None:
        negative = isinstance(expr.value, int) and expr.value < 0
        return ANY if negative else expr.value
    return ANY


def form_for(targets: Sequence[ast.expr]) -> Form:
    """What a None that is assigned to these targets is."""
    parts = all(isinstance(target, ast.Subscript) for target in targets)
    return Form.BUILT if parts else Form.BOUND


def is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is a generator."""
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in _own_nodes(node))


def _own_nodes(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterable[ast.AST]:
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        current = waiting.pop()
        yield current
        if not isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(current))


def words_of(node: ast.AST) -> str:
    """How a use that is not known is called."""
    return {
        ast.Raise: "raised",
        ast.Yield: "yielded",
        ast.YieldFrom: "yielded",
        ast.Await: "awaited",
        ast.JoinedStr: "put into text",
        ast.FormattedValue: "put into text",
        ast.Match: "matched",
    }.get(type(node), f"used in a way that is not known ({type(node).__name__})")


def catches(classes: ast.expr | None) -> bool:
    """Whether a handler of these classes may catch what a use of None raises."""
    if isinstance(classes, ast.Tuple):
        return any(catches(cls) for cls in classes.elts)
    name = classes.attr if isinstance(classes, ast.Attribute) else getattr(classes, "id", "")
    return name not in _OTHER_ERRORS


def suppresses(context: ast.expr) -> bool:
    """Whether a `with` of this expression goes on after an error: `suppress(…)`, `pytest.raises(…)`."""
    function = context.func if isinstance(context, ast.Call) else context
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name.lower().startswith(("suppress", "raises", "assertraises"))
