"""Writes into a migrated program what no rule of the engine could have, to see that it is found out.

Each saboteur changes only what the migration put in, and gives None where it finds nothing. Rules that
the engine can do without are left out in `tests.semantics.rules`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

Saboteur = Callable[[str, str], str | None]
SABOTEURS: dict[str, Saboteur] = {}


class _Added:
    """The parts of `after` that `before` does not have."""

    def __init__(self, before: str, after: str) -> None:
        self.tree = ast.parse(after)
        self._old = {ast.dump(node) for node in ast.walk(ast.parse(before))}
        self.changed = False

    def is_new(self, node: ast.AST) -> bool:
        return ast.dump(node) not in self._old

    def lambdas(self) -> list[ast.Lambda]:
        found = (node for node in ast.walk(self.tree) if isinstance(node, ast.Lambda))
        return [node for node in found if self.is_new(node)]

    def guards(self) -> Iterator[tuple[ast.Lambda, ast.IfExp]]:
        """Lambdas of the shape `lambda …: None if … is None … else …`."""
        for node in self.lambdas():
            body = node.body
            if (
                isinstance(body, ast.IfExp)
                and _is_none(body.body)
                and _compared(body.test) is not None
            ):
                yield node, body

    def text(self) -> str | None:
        return ast.unparse(ast.fix_missing_locations(self.tree)) if self.changed else None


def _is_none(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _compared(test: ast.expr) -> ast.expr | None:
    """What `test` holds against None, first of all."""
    if isinstance(test, ast.BoolOp):
        test = test.values[0]
    if (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Is)
        and _is_none(test.comparators[0])
    ):
        return test.left
    return None


def _positional(node: ast.Lambda) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args]


def _called(value: ast.expr) -> ast.Call | None:
    return value if isinstance(value, ast.Call) else None


def _wrapped_call(node: ast.Lambda, guard: ast.IfExp) -> ast.Call | None:
    """The call in a wrapper: it passes on exactly the wrapper's parameters."""
    call = _called(guard.orelse)
    if call is None or call.keywords:
        return None
    given = [ast.unparse(argument) for argument in call.args]
    wanted = [parameter.arg for parameter in _positional(node)]
    if node.args.vararg is not None:
        wanted.append("*" + node.args.vararg.arg)
    return call if given == wanted else None


def saboteur(change: Callable[[_Added], None]) -> Saboteur:
    """Register `change`, which works on the tree of the migrated program."""

    def run(before: str, after: str) -> str | None:
        added = _Added(before, after)
        change(added)
        return added.text()

    SABOTEURS[change.__name__] = run
    return run


@saboteur
def guard_asks_truth(added: _Added) -> None:
    """`if not x` instead of `if x is None`."""
    for _, guard in added.guards():
        asked = _compared(guard.test)
        if asked is not None:
            guard.test = ast.UnaryOp(ast.Not(), asked)
            added.changed = True


@saboteur
def one_parameter_too_few(added: _Added) -> None:
    """The wrapper does not count a tree."""
    for node, guard in list(added.guards()):
        call = _wrapped_call(node, guard)
        if call is None or node.args.vararg is not None or not node.args.args:
            continue
        node.args.args.pop()
        call.args.pop()
        added.changed = True


@saboteur
def arguments_swapped(added: _Added) -> None:
    """The wrapper passes its parameters on in another order."""
    for node, guard in list(added.guards()):
        call = _wrapped_call(node, guard)
        if call is not None and len(call.args) > 1 and not isinstance(call.args[-1], ast.Starred):
            call.args.reverse()
            added.changed = True


@saboteur
def star_not_passed_on(added: _Added) -> None:
    """`f(xs)` for `f(*xs)`."""
    for node, guard in list(added.guards()):
        call = _wrapped_call(node, guard)
        if call is not None and call.args and isinstance(call.args[-1], ast.Starred):
            call.args[-1] = call.args[-1].value
            added.changed = True
