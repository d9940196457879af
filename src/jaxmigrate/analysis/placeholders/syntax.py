"""Small questions about syntax that the reading of a project asks."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from jaxmigrate.analysis.on_none import Place
from jaxmigrate.analysis.placeholders.things import ANY, Form, Key
from jaxmigrate.analysis.project import Definition
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


_PASSING = frozenset(
    {
        *("builtins.open", "contextlib.nullcontext", "contextlib.redirect_stdout"),
        *("warnings.catch_warnings", "time.perf_counter", "threading.Lock", "threading.RLock"),
    }
)
_PASSING_MODULES = ("jax.", "numpy.", "tempfile.", "tqdm.", "flax.", "haiku.", "chex.")
"""What lets errors pass that happen in a `with` of it."""


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


def suppresses(context: ast.expr, place: Place) -> bool:
    """Whether a `with` of this expression may go on after an error, as that of `suppress(…)` does."""
    function = context.func if isinstance(context, ast.Call) else context
    found = place.project.resolve(function, place.scope, place.module)
    if found and all(isinstance(e, Definition) and _lets_errors_pass(e.node) for e in found):
        return False
    name = place.project.name_of(function, place.scope, place.module) or ""
    return name not in _PASSING and not name.startswith(_PASSING_MODULES)


def _lets_errors_pass(node: ast.AST) -> bool:
    """Whether an own context manager never says that an error is to be forgotten."""
    if isinstance(node, ast.ClassDef):
        exits = [s for s in node.body if getattr(s, "name", "") == "__exit__"]
        returned = [n.value for s in exits for n in ast.walk(s) if isinstance(n, ast.Return)]
        says_no = (v is None or (isinstance(v, ast.Constant) and not v.value) for v in returned)
        return bool(exits) and all(says_no)
    inner = [n for n in ast.walk(node) if isinstance(n, ast.Try | ast.TryStar | ast.With)]
    return isinstance(node, ast.FunctionDef) and bool(node.decorator_list) and not inner


def leaves_early(block: Sequence[ast.stmt]) -> bool:
    """Whether a `finally` may return, so that the error is forgotten."""
    return any(
        isinstance(node, ast.Return | ast.Break | ast.Continue)
        for statement in block
        for node in ast.walk(statement)
    )


def static_parameters(call: ast.AST) -> tuple[frozenset[str] | None, frozenset[int]]:
    """The names and positions that `static_argnames` and `static_argnums` of a call say.

    None for names if that is not known, or if nothing is said.
    """
    names: set[str] = set()
    numbers: set[int] = set()
    said = [
        keyword.value
        for node in ast.walk(call)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if (keyword.arg or "").startswith("static_")
    ]
    for value in said:
        try:
            given = ast.literal_eval(value)
        except (ValueError, TypeError):
            return None, frozenset()
        for item in given if isinstance(given, tuple | list) else (given,):
            (names if isinstance(item, str) else numbers).add(item)
    by_number_backwards = any(isinstance(number, int) and number < 0 for number in numbers)
    if not said or by_number_backwards:
        return None, frozenset()
    return frozenset(names), frozenset(numbers)
