"""Signs short of proof that a tree-map call may meet a None: each a small rule with a name."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias, cast

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.on_none import AnyFunction, Place, definitions_of, parameter_at
from jaxmigrate.model import Evidence

_PREFIX_NAME: Final = re.compile(r"(^|_)(in|out)_axes$|_specs$|_shardings?$")
_COMMENT: Final = re.compile(r"#.*\bNone\b")

LineText: TypeAlias = Callable[[int], str]
"""Gives a line of a file by its number from 1; empty where there is none."""

Sign: TypeAlias = Callable[[TreeCall, Place, LineText], Iterator[Evidence]]
"""Looks at a call, its place and the lines of its file; gives evidence or nothing."""


def signs(call: TreeCall, place: Place, lines: LineText) -> Iterator[Evidence]:
    """The evidence of every sign that speaks for a None in the first tree of `call`."""
    for sign in _SIGNS:
        yield from sign(call, place, lines)


def callback_minds_none(call: TreeCall, place: Place, lines: LineText) -> Iterator[Evidence]:
    """The callback tests its first leaf for None, though it never gets one.

    Not where it is called by name elsewhere in its module: the test may be for that call.
    """
    if call.callback is None:
        return
    for function, home in definitions_of(call.callback, place.at(*call.home_of(call.callback))):
        if _is_called_too(function, home):
            continue
        name = _first_leaf(function, call.leading)
        test = none_test_of(function, name) if name is not None else None
        if test is not None:
            note = f"the callback tests {name} for None, which it was never given"
            yield Evidence(home.module.path, test.lineno, note)


def prefix_by_name(call: TreeCall, place: Place, lines: LineText) -> Iterator[Evidence]:
    """The first tree is called as prefix trees are in which None has a meaning.

    Not where the callback asks for a sentinel of the project's own: that then has None's part.
    """
    if _asks_for_sentinel(call, place):
        return
    name = _last_name(call.trees[0]) if call.trees else None
    if name is not None and _PREFIX_NAME.search(name):
        note = f"None has a meaning in a tree called {name}"
        yield Evidence(place.module.path, call.node.lineno, note)


def prefix_by_docstring(call: TreeCall, place: Place, lines: LineText) -> Iterator[Evidence]:
    """The function's docstring calls the first tree a prefix, or says that None may stand in it."""
    tree = call.trees[0] if call.trees else None
    function = _function_around(call, place)
    if function is None or not isinstance(tree, ast.Name):
        return
    described = _paragraph_about(tree.id, ast.get_docstring(function) or "")
    if re.search(r"\bprefix\b|\bNone\b", described):
        note = f"the docstring speaks of {tree.id} as a tree with None or a prefix"
        yield Evidence(place.module.path, function.lineno, note)


def comment_speaks_of_none(call: TreeCall, place: Place, lines: LineText) -> Iterator[Evidence]:
    """A comment in the call, or on the line above it, speaks of None."""
    last = call.node.end_lineno or call.node.lineno
    for number in range(call.node.lineno - 1, last + 1):
        line = lines(number)
        alone = line.lstrip().startswith("#")
        if (number >= call.node.lineno or alone) and _COMMENT.search(line):
            yield Evidence(place.module.path, number, line[line.index("#") :].strip())


_SIGNS: Final[tuple[Sign, ...]] = (
    callback_minds_none,
    prefix_by_name,
    prefix_by_docstring,
    comment_speaks_of_none,
)


def _is_called_too(function: AnyFunction, home: Place) -> bool:
    """Whether a function is called by its name in the module it stands in."""
    if isinstance(function, ast.Lambda):
        return False
    memo = home.module.memo
    if "names called" not in memo:
        calls = (call.func for call, _ in home.module.scopes.calls)
        memo["names called"] = frozenset(f.id for f in calls if isinstance(f, ast.Name))
    return function.name in cast("frozenset[str]", memo["names called"])


def _first_leaf(function: AnyFunction, leading: int) -> str | None:
    return parameter_at(function.args, leading)


def none_test_of(function: AnyFunction, name: str) -> ast.expr | None:
    """Where a function compares its parameter `name` with None; None if it does not."""
    found = (node for node in _comparisons(function) if _compares_with_none(node, name))
    return next(found, None)


@lru_cache(maxsize=4096)
def _comparisons(function: AnyFunction) -> tuple[ast.Compare, ...]:
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    nodes = (node for part in body for node in ast.walk(part))
    return tuple(node for node in nodes if isinstance(node, ast.Compare))


def _asks_for_sentinel(call: TreeCall, place: Place) -> bool:
    """Whether the callback compares its first leaf, by identity, with a name."""
    if call.callback is None:
        return False
    for function, _ in definitions_of(call.callback, place.at(*call.home_of(call.callback))):
        name = _first_leaf(function, call.leading)
        for node in ast.walk(function):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot):
                sides = (node.left, node.comparators[0])
                ours = [s for s in sides if isinstance(s, ast.Name) and s.id == name]
                theirs = [s for s in sides if isinstance(s, ast.Name | ast.Attribute)]
                if ours and len(theirs) == 2:
                    return True
    return False


def _compares_with_none(node: ast.Compare, name: str) -> bool:
    sides = (node.left, node.comparators[0])
    named = any(isinstance(side, ast.Name) and side.id == name for side in sides)
    none = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
    return named and none and isinstance(node.ops[0], ast.Is | ast.IsNot | ast.Eq | ast.NotEq)


def _last_name(expr: ast.expr) -> str | None:
    if isinstance(expr, ast.Attribute):
        return expr.attr
    if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant):
        return expr.slice.value if isinstance(expr.slice.value, str) else None
    return expr.id if isinstance(expr, ast.Name) else None


def _function_around(call: TreeCall, place: Place) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    for node in place.module.scopes.enclosing(call.node):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return node
    return None


def _paragraph_about(name: str, docstring: str) -> str:
    """What a docstring says of a parameter: from its name to the next one, or to an empty line."""
    match = re.search(rf"^\s*`*{re.escape(name)}`*\s*(\(.*?\))?\s*:(.*)$", docstring, re.MULTILINE)
    if match is None:
        return ""
    rest = docstring[match.start() :].split("\n")
    kept = [rest[0]]
    for line in rest[1:]:
        if not line.strip() or re.match(r"^\s*`*\w+`*\s*(\(.*?\))?\s*:", line):
            break
        kept.append(line)
    return " ".join(kept)
