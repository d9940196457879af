"""Runs statements on abstract values: branches are joined, loops run twice, checks are minded."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from jaxmigrate.analysis.trees import invocation
from jaxmigrate.analysis.trees.conditions import assume, is_setting, truth
from jaxmigrate.analysis.trees.paths import path_of, store, update
from jaxmigrate.analysis.trees.reach import Condition
from jaxmigrate.analysis.trees.references import Closure, Frame
from jaxmigrate.analysis.trees.values import (
    UNKNOWN,
    BySetting,
    InsteadOf,
    Is,
    Key,
    Value,
    child,
    element,
    join,
    replace,
    with_any_child,
    without_child,
)

if TYPE_CHECKING:
    from jaxmigrate.analysis.trees.interpreter import Interpreter

_UNROLLED: Final = 8
_Variables = dict[str, Value]


def execute(body: list[ast.stmt], frame: Frame, interpreter: Interpreter) -> bool:
    """Run statements in order; whether what follows them is reached."""
    for statement in body:
        handler = _HANDLERS.get(statement.__class__)
        if handler is not None and not handler(statement, frame, interpreter):
            return False
    return True


def assign(target: ast.expr, value: Value, frame: Frame, interpreter: Interpreter) -> None:
    """Bind a target, which may be a name, an attribute, an item or several of them."""
    if isinstance(target, ast.Name):
        frame.variables[target.id] = _instead_of(frame.variables.get(target.id), value)
    elif isinstance(target, ast.Starred):
        assign(target.value, value, frame, interpreter)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(target.elts, value, frame, interpreter)
    else:
        _assign_inside(target, value, frame, interpreter)


def _instead_of(before: Value | None, value: Value) -> Value:
    """A None that a setting puts in the place of what a variable held remembers that."""
    if before is None or before.shape is None or not isinstance(value.source, BySetting):
        return value
    return replace(value, source=InsteadOf(before.shape, value.source.source))


def _assign_inside(target: ast.expr, value: Value, frame: Frame, interpreter: Interpreter) -> None:
    path = path_of(target, frame)
    if path is None:
        return
    home = frame.home(path[0])
    if home is None:
        frame.variables[path[0]] = interpreter.global_value(path[0], frame)
    if _fills_by_index(target, frame):
        update(target.value, lambda old: _filled(old, value), frame)  # type: ignore[attr-defined]
        frame.filled.add(path[0])
    else:
        store(target, value, frame)
    if home is not None and home is not frame:
        home.variables[path[0]] = frame.variables.pop(path[0])


def _fills_by_index(target: ast.expr, frame: Frame) -> bool:
    """Whether this is `slots[i] = …` in `for i in range(…)`: every slot gets its value in turn."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Name):
        return False
    for outer in frame.module.scopes.enclosing(target):
        if isinstance(outer, ast.For) and isinstance(outer.iter, ast.Call):
            counted = getattr(outer.iter.func, "id", "") in ("range", "enumerate")
            names = [n.id for n in ast.walk(outer.target) if isinstance(n, ast.Name)]
            return counted and names[:1] == [target.slice.id]
    return False


def _filled(slots: Value, value: Value) -> Value:
    """A list of Nones only, once each is replaced."""
    only_none = not slots.parts and slots.rest is not None and slots.rest.none is Is.YES
    return replace(slots, rest=value) if only_none else with_any_child(slots, value)


def _unpack(targets: list[ast.expr], value: Value, frame: Frame, interpreter: Interpreter) -> None:
    star = next((n for n, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    behind = len(targets) - star - 1 if star is not None else 0
    for position, target in enumerate(targets):
        if position == star:
            part = _middle(value, position, behind)
        elif star is not None and position > star:
            part = _item(value, position - len(targets))
        else:
            part = _item(value, position)
        assign(target, part, frame, interpreter)


def _item(value: Value, position: int) -> Value:
    found = child(value, position)
    if found is not None:
        return found
    if value.parts and all(isinstance(key, str) for key in value.parts):
        # A NamedTuple is unpacked in the order of its fields.
        ordered = list(value.parts.values())
        if -len(ordered) <= position < len(ordered):
            return ordered[position]
    if value.shape is not None:
        return Value(shape=("child", value.shape, position))
    return UNKNOWN


def _middle(value: Value, start: int, behind: int) -> Value:
    if value.parts is None:
        return UNKNOWN
    parts = list(value.parts.values())
    stop = len(parts) - behind if value.rest is None else len(parts)
    return Value(
        none=value.none,
        inside=value.inside,
        parts=dict(enumerate(parts[start:stop])),
        rest=value.rest,
    )


def _assignment(node: ast.Assign, frame: Frame, interpreter: Interpreter) -> bool:
    value = interpreter.evaluate(node.value, frame)
    for target in node.targets:
        assign(target, value, frame, interpreter)
    return True


def _annotated(node: ast.AnnAssign, frame: Frame, interpreter: Interpreter) -> bool:
    if node.value is not None:
        value = interpreter.evaluate(node.value, frame)
        if value.none is not value.none.YES:
            value = invocation.with_annotation(value, node.annotation, frame, interpreter)
        assign(node.target, value, frame, interpreter)
    return True


def _augmented(node: ast.AugAssign, frame: Frame, interpreter: Interpreter) -> bool:
    read = ast.copy_location(ast.BinOp(_loaded(node.target), node.op, node.value), node)
    assign(node.target, interpreter.evaluate(read, frame), frame, interpreter)
    return True


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    return target


def _expression(node: ast.Expr, frame: Frame, interpreter: Interpreter) -> bool:
    interpreter.evaluate(node.value, frame)
    return not _never_returns(node.value)


def _never_returns(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Call) and ast.dump(expr.func) in _EXITS


_EXITS: Final = frozenset(
    ast.dump(ast.parse(text, mode="eval").body) for text in ("sys.exit", "exit", "os._exit")
)


def _return(node: ast.Return, frame: Frame, interpreter: Interpreter) -> bool:
    frame.returns.append(invocation.returned(node, frame, interpreter))
    return False


def _raise(node: ast.Raise, frame: Frame, interpreter: Interpreter) -> bool:
    return False


def _leave_loop(node: ast.stmt, frame: Frame, interpreter: Interpreter) -> bool:
    frame.exits.append(dict(frame.variables))
    return False


def _assert(node: ast.Assert, frame: Frame, interpreter: Interpreter) -> bool:
    assume(node.test, True, frame, interpreter)
    return not (isinstance(node.test, ast.Constant) and not node.test.value)


def _if(node: ast.If, frame: Frame, interpreter: Interpreter) -> bool:
    certain = truth(node.test, frame, interpreter)
    if certain is not None:
        assume(node.test, certain, frame, interpreter)
        return execute(node.body if certain else node.orelse, frame, interpreter)
    ways_out = len(frame.returns) + len(frame.exits)
    reached = _branches(
        [
            lambda: _branch(node, True, frame, interpreter),
            lambda: _branch(node, False, frame, interpreter),
        ],
        frame,
    )
    if len(frame.returns) + len(frame.exits) > ways_out:
        interpreter.reach.from_here(Condition(node, "left behind"))
    return reached


def _branch(node: ast.If, outcome: bool, frame: Frame, interpreter: Interpreter) -> bool:
    condition = Condition(node, outcome, is_setting(node.test, frame, interpreter))
    with interpreter.reach.under(condition):
        assume(node.test, outcome, frame, interpreter)
        return execute(node.body if outcome else node.orelse, frame, interpreter)


def _branches(branches: list[Callable[[], bool]], frame: Frame) -> bool:
    """Run each branch from the same variables; join those whose ends are reached."""
    before = dict(frame.variables)
    ends: list[_Variables] = []
    for branch in branches:
        frame.variables = dict(before)
        if branch():
            ends.append(frame.variables)
    frame.variables = _joined(ends) if ends else before
    return bool(ends)


def _joined(ends: list[_Variables]) -> _Variables:
    result = ends[0]
    for end in ends[1:]:
        result = {
            name: join(result[name], end[name])
            if name in result and name in end
            else result.get(name, end.get(name, UNKNOWN))
            for name in {**result, **end}
        }
    return result


def _for(node: ast.For | ast.AsyncFor, frame: Frame, interpreter: Interpreter) -> bool:
    iterated = interpreter.evaluate(node.iter, frame)
    outer, frame.exits = frame.exits, []
    few = iterated.parts is not None and iterated.rest is None and not _is_mapping(iterated)
    if few and 0 < len(iterated.parts or {}) <= _UNROLLED:
        for item in (iterated.parts or {}).values():
            _once(node, item, frame, interpreter)
    else:
        for _ in range(2):
            before = dict(frame.variables)
            _once(node, _any_item(iterated), frame, interpreter)
            filled = {name: frame.variables[name] for name in frame.filled & {*frame.variables}}
            frame.variables = {**_joined([before, frame.variables]), **filled}
    frame.variables = _joined([frame.variables, *frame.exits])
    frame.exits = outer
    execute(node.orelse, frame, interpreter)
    return True


def _once(
    node: ast.For | ast.AsyncFor, item: Value, frame: Frame, interpreter: Interpreter
) -> None:
    assign(node.target, item, frame, interpreter)
    with interpreter.reach.under(Condition(node)):
        reached = execute(node.body, frame, interpreter)
    ends = [*([frame.variables] if reached else []), *frame.exits]
    if ends:
        frame.variables = _joined(ends)


def _is_mapping(value: Value) -> bool:
    return any(isinstance(key, str) for key in value.parts or {})


def _any_item(iterated: Value) -> Value:
    if _is_mapping(iterated):
        return Value(none=iterated.none.NO, inside=iterated.none.NO, leaf=True)
    return element(iterated) or UNKNOWN


def _while(node: ast.While, frame: Frame, interpreter: Interpreter) -> bool:
    outer, frame.exits = frame.exits, []
    for _ in range(2):
        before = dict(frame.variables)
        interpreter.evaluate(node.test, frame)
        assume(node.test, True, frame, interpreter)
        with interpreter.reach.under(Condition(node)):
            reached = execute(node.body, frame, interpreter)
        frame.variables = _joined([before, *([frame.variables] if reached else [])])
    breaks = frame.exits
    assume(node.test, False, frame, interpreter)
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    ends = [*([] if endless and breaks else [frame.variables]), *breaks]
    frame.variables = _joined(ends)
    frame.exits = outer
    execute(node.orelse, frame, interpreter)
    return True


def _try(node: ast.Try, frame: Frame, interpreter: Interpreter) -> bool:
    before = dict(frame.variables)

    def tried() -> bool:
        with interpreter.reach.under(Condition(node)):
            return execute(node.body, frame, interpreter) and execute(
                node.orelse, frame, interpreter
            )

    def handled(handler: ast.ExceptHandler) -> Callable[[], bool]:
        def run() -> bool:
            # The body may have stopped anywhere.
            with interpreter.reach.under(Condition(node)):
                reached = execute(node.body, frame, interpreter)
            frame.variables = _joined([before, frame.variables]) if reached else dict(before)
            with interpreter.reach.under(Condition(handler)):
                return execute(handler.body, frame, interpreter)

        return run

    reached = _branches([tried, *(handled(h) for h in node.handlers)], frame)
    return execute(node.finalbody, frame, interpreter) and reached


def _with(node: ast.With | ast.AsyncWith, frame: Frame, interpreter: Interpreter) -> bool:
    for item in node.items:
        value = interpreter.evaluate(item.context_expr, frame)
        if item.optional_vars is not None:
            assign(item.optional_vars, value, frame, interpreter)
    return execute(node.body, frame, interpreter)


def _match(node: ast.Match, frame: Frame, interpreter: Interpreter) -> bool:
    interpreter.evaluate(node.subject, frame)
    before = dict(frame.variables)

    def case(chosen: ast.match_case, passed: list[ast.match_case]) -> Callable[[], bool]:
        def run() -> bool:
            for other in passed:
                if _is_none_pattern(other.pattern) and other.guard is None:
                    assume(_is_none(node.subject), False, frame, interpreter)
            if _is_none_pattern(chosen.pattern):
                assume(_is_none(node.subject), True, frame, interpreter)
            with interpreter.reach.under(Condition(chosen)):
                return execute(chosen.body, frame, interpreter)

        return run

    branches = [case(c, node.cases[:n]) for n, c in enumerate(node.cases)]
    if not any(_is_catch_all(c) for c in node.cases):
        branches.append(lambda: bool(before) or True)
    return _branches(branches, frame)


def _is_none_pattern(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchSingleton) and pattern.value is None


def _is_catch_all(case: ast.match_case) -> bool:
    pattern = case.pattern
    return case.guard is None and isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _is_none(subject: ast.expr) -> ast.expr:
    return ast.Compare(subject, [ast.Is()], [ast.Constant(None)])


def _delete(node: ast.Delete, frame: Frame, interpreter: Interpreter) -> bool:
    for target in node.targets:
        path = path_of(target, frame)
        if isinstance(target, ast.Subscript) and path is not None and path[1][-1] is not None:
            update(target.value, partial(_without, path[1][-1]), frame)
    return True


def _without(key: Key, value: Value) -> Value:
    return without_child(value, key)


def _function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame, interpreter: Interpreter
) -> bool:
    by_setting = interpreter.reach.by_setting
    closure = Closure(node, frame.module, frame.scope, frame, by_setting)
    frame.variables[node.name] = invocation.decorated(closure, interpreter, frame)
    return True


def _class(node: ast.ClassDef, frame: Frame, interpreter: Interpreter) -> bool:
    from jaxmigrate.analysis.project import Definition

    definition = Definition(frame.module, node, frame.scope)
    frame.variables[node.name] = interpreter.definition_value(definition)
    scope = frame.module.scopes.scope_of[node]
    execute(node.body, Frame(frame.module, scope, frame), interpreter)
    return True


_HANDLERS: Final[dict[type[ast.stmt], Callable[[Any, Frame, Any], bool]]] = {
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _leave_loop,
    ast.Continue: _leave_loop,
    ast.Assert: _assert,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Match: _match,
    ast.Delete: _delete,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
}
