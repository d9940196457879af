"""Finds `try: <tree map> except ValueError: if "Expected None" in …: <guarded tree map>`.

The message that such code looks for was JAX's from 0.4.34 to 0.10.1 and is another from 0.10.2 on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.on_none import NONE, Known, Place, callable_on_none
from jaxmigrate.analysis.project import Module, Project

_MESSAGES: Final = ("Expected None", "pytree structure error", "tree-prefix of non-None")
_CAUGHT: Final = frozenset({"ValueError", "Exception", "TypeError"})


@dataclass(frozen=True, slots=True)
class Fallback:
    """A fallback: its `try`, the tree map it tries, and the statement that holds the guarded one.

    `problem` says, in words, why the guarded one cannot stand alone; None if it can.
    """

    statement: ast.Try
    tried: TreeCall
    kept: ast.stmt
    problem: str | None


def fallbacks(module: Module, project: Project, calls: tuple[TreeCall, ...]) -> Iterator[Fallback]:
    """Every fallback of a module, `calls` being its tree-map calls."""
    by_try: dict[ast.Try, list[TreeCall]] = {}
    for call in calls:
        for outer in module.scopes.enclosing(call.node):
            if isinstance(outer, ast.Try):
                by_try.setdefault(outer, []).append(call)
                break
    for statement, inside in by_try.items():
        found = _fallback(statement, inside, project)
        if found is not None:
            yield found


def _fallback(statement: ast.Try, calls: list[TreeCall], project: Project) -> Fallback | None:
    if len(statement.handlers) != 1 or not _catches(statement.handlers[0]):
        return None
    kept = _kept(statement.handlers[0])
    tried = [c for c in calls if c.many and _within(c.node, statement.body)]
    if kept is None or len(tried) != 1:
        return None
    guarded = [c for c in calls if _within(c.node, [kept])]
    return Fallback(
        statement, tried[0], kept, _problem(statement, tried[0], kept, guarded, project)
    )


def _catches(handler: ast.ExceptHandler) -> bool:
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(isinstance(t, ast.Name) and t.id in _CAUGHT for t in types)


def _kept(handler: ast.ExceptHandler) -> ast.stmt | None:
    """The statement that runs when the message is the one looked for, all else being raised again."""
    body = handler.body
    if not body or not isinstance(body[0], ast.If):
        return None
    wanted = _looks_for_message(body[0].test)
    if wanted is None:
        return None
    yes, no = body[0].body, body[0].orelse or body[1:]
    chosen, other = (yes, no) if wanted else (no, yes)
    if len(other) != 1 or not _raises_again(other[0], handler.name) or len(chosen) != 1:
        return None
    return chosen[0]


def _raises_again(statement: ast.stmt, caught: str | None) -> bool:
    """Whether a statement raises what was caught, as it was."""
    if not isinstance(statement, ast.Raise) or statement.cause is not None:
        return False
    raised = statement.exc
    return raised is None or (isinstance(raised, ast.Name) and raised.id == caught)


def _looks_for_message(test: ast.expr) -> bool | None:
    """True if a test asks for the message, False if for its absence, None if for neither."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _looks_for_message(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        verdicts = {_looks_for_message(value) for value in test.values}
        return verdicts.pop() if len(verdicts) == 1 else None
    words = [n.value for n in ast.walk(test) if isinstance(n, ast.Constant)]
    if not any(isinstance(w, str) and any(m in w for m in _MESSAGES) for w in words):
        return None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return isinstance(test.ops[0], ast.In) or (
            False if isinstance(test.ops[0], ast.NotIn) else None
        )
    return True if isinstance(test, ast.Call) else None


def _problem(
    statement: ast.Try,
    tried: TreeCall,
    kept: ast.stmt,
    guarded: list[TreeCall],
    project: Project,
) -> str | None:
    if statement.orelse or statement.finalbody or len(statement.body) != 1:
        return "the try holds more than the tree map"
    if len(guarded) != 1:
        return "the fallback is not one guarded tree map"
    call = guarded[0]
    place = Place(call.scope, call.module, project)
    outcome = callable_on_none(call.is_leaf, place) if call.is_leaf is not None else None
    if not isinstance(outcome, Known) or not outcome.value:
        return "the fallback does not make None a leaf"
    if call.callback is None or callable_on_none(call.callback, place, call.leading) != NONE:
        return "the fallback gives something else than None for None"
    if not _calls_the_same(tried.callback, call.callback):
        return "the fallback calls something else"
    if tried.is_leaf is not None and not _is_none(tried.is_leaf):
        return "the tree map that is tried has an is_leaf of its own"
    if [ast.dump(tree) for tree in call.trees] != [ast.dump(tree) for tree in tried.trees]:
        return "the fallback maps other trees"
    if _around(statement.body[0], tried.node) != _around(kept, call.node):
        return "the fallback does something else with the result"
    return None


def _calls_the_same(tried: ast.expr | None, guarded: ast.expr) -> bool:
    """Whether a guarded callback is the tried one but for None: `None if x is None else f(x, y)`."""
    if tried is None:
        return False
    if ast.dump(tried) == ast.dump(guarded):
        return True
    if not isinstance(guarded, ast.Lambda) or not isinstance(guarded.body, ast.IfExp):
        return False
    branches = [b for b in (guarded.body.body, guarded.body.orelse) if not _is_none(b)]
    if len(branches) != 1:
        return False
    if isinstance(tried, ast.Lambda):
        same_parameters = ast.dump(tried.args) == ast.dump(guarded.args)
        return same_parameters and ast.dump(tried.body) == ast.dump(branches[0])
    called = branches[0]
    parameters = [arg.arg for arg in (*guarded.args.posonlyargs, *guarded.args.args)]
    return (
        isinstance(called, ast.Call)
        and ast.dump(called.func) == ast.dump(tried)
        and not called.keywords
        and [getattr(arg, "id", None) for arg in called.args] == parameters
    )


def _is_none(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Constant) and expr.value is None


def _around(statement: ast.stmt, call: ast.Call) -> str:
    """A statement with the call in it left out, as text to compare."""
    inner = ast.dump(call)
    return ast.dump(statement).replace(inner, "<call>")


def _within(node: ast.AST, body: list[ast.stmt]) -> bool:
    return any(node is inner for statement in body for inner in ast.walk(statement))
