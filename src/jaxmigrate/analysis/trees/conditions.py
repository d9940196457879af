"""What a test tells: whether it is certain, and what holds of a value where it came out one way."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxmigrate.analysis.retired import is_not_mapped
from jaxmigrate.analysis.trees.paths import refine
from jaxmigrate.analysis.trees.references import Frame
from jaxmigrate.analysis.trees.values import Is, Value, none, not_none, replace

if TYPE_CHECKING:
    from jaxmigrate.analysis.trees.interpreter import Interpreter


def truth(test: ast.expr, frame: Frame, interpreter: Interpreter) -> bool | None:
    """Whether a test is certainly true or false; None if neither."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(test.operand, frame, interpreter)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return _bool_truth(test, frame, interpreter)
    if isinstance(test, ast.Compare):
        return _compare_truth(test, frame, interpreter) if len(test.ops) == 1 else None
    value = interpreter.evaluate(test, frame)
    if value.none is Is.YES:
        return False
    if isinstance(value.constant, bool | int | str) and value.none is Is.NO:
        return bool(value.constant)
    if value.parts is not None and value.none is Is.NO and value.rest is None and not value.leaf:
        return bool(value.parts) if _is_plain(value) else None
    return None


def assume(test: ast.expr, outcome: bool, frame: Frame, interpreter: Interpreter) -> None:
    """Note in the frame what is known once `test` came out as `outcome`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        assume(test.operand, not outcome, frame, interpreter)
    elif isinstance(test, ast.BoolOp):
        # All parts of a true `and`, and of a false `or`, are certain; of the others only one is.
        if isinstance(test.op, ast.And) is outcome:
            for part in test.values:
                assume(part, outcome, frame, interpreter)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        _assume_compare(test, outcome, frame, interpreter)
    elif isinstance(test, ast.NamedExpr):
        if outcome:
            refine(test.target, not_none, frame)
    elif isinstance(test, ast.Call):
        if outcome and _is_instance_check(test):
            refine(test.args[0], not_none, frame)
    elif outcome:
        refine(test, not_none, frame)


def _bool_truth(test: ast.BoolOp, frame: Frame, interpreter: Interpreter) -> bool | None:
    verdicts = [truth(part, frame, interpreter) for part in test.values]
    ends_on = isinstance(test.op, ast.Or)
    if ends_on in verdicts:
        return ends_on
    return None if None in verdicts else not ends_on


def _compare_truth(test: ast.Compare, frame: Frame, interpreter: Interpreter) -> bool | None:
    left = interpreter.evaluate(test.left, frame)
    right = interpreter.evaluate(test.comparators[0], frame)
    operator = test.ops[0]
    if isinstance(operator, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        same = _same(left, right)
        if same is None:
            return None
        return same is isinstance(operator, ast.Is | ast.Eq)
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(left.constant, str):
        if right.parts is None or right.rest is not None or right.leaf:
            return None
        return (left.constant in right.parts) is isinstance(operator, ast.In)
    return None


def _same(left: Value, right: Value) -> bool | None:
    if Is.YES in (left.none, right.none):
        other = right if left.none is Is.YES else left
        return {Is.YES: True, Is.NO: False}.get(other.none)
    constants = (left.constant, right.constant)
    if None in constants:
        return None
    return constants[0] == constants[1]


def _assume_compare(
    test: ast.Compare, outcome: bool, frame: Frame, interpreter: Interpreter
) -> None:
    operator = test.ops[0]
    sides = (test.left, test.comparators[0])
    structures = [_structure_of(side, frame) for side in sides]
    if isinstance(operator, ast.Eq) and outcome and None not in structures:
        _same_structure(structures, frame)
        return
    if not isinstance(operator, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        return
    named = [side for side in sides if not _is_none(side, frame, interpreter)]
    if len(named) != 1:
        return
    path = named[0].target if isinstance(named[0], ast.NamedExpr) else named[0]
    if isinstance(operator, ast.Is | ast.Eq) is outcome:
        refine(path, lambda value: _surely_none(value), frame)
    else:
        refine(path, not_none, frame)


def _structure_of(expr: ast.expr, frame: Frame) -> ast.expr | None:
    """The tree whose structure an expression is: `tree_structure(tree)`, or a name bound to that."""
    if isinstance(expr, ast.Name):
        owner = frame.scope.owner(expr.id)
        values = [binding.value for binding in owner.bindings[expr.id]] if owner else []
        return _structure_of(values[0], frame) if len(values) == 1 and values[0] else None
    if not isinstance(expr, ast.Call) or not expr.args:
        return None
    last = getattr(expr.func, "attr", getattr(expr.func, "id", ""))
    return expr.args[0] if last in ("tree_structure", "structure") else None


def _same_structure(trees: list[ast.expr | None], frame: Frame) -> None:
    """Two trees of one structure hold None at the same places."""
    shape = ("structure", *(ast.dump(tree) for tree in trees if tree is not None), id(frame))
    for tree in trees:
        if tree is not None:
            refine(tree, lambda value: replace(value, shape=shape), frame)


def _surely_none(value: Value) -> Value:
    evidence = value.why[0] if value.why else None
    return none(evidence, value.source)


def _is_none(expr: ast.expr, frame: Frame, interpreter: Interpreter) -> bool:
    """Whether an expression is None, or the sentinel of JAX that was None."""
    if isinstance(expr, ast.Name | ast.Attribute):
        return is_not_mapped(expr, frame.scope, frame.module, interpreter.project)
    return isinstance(expr, ast.Constant) and expr.value is None


def _is_instance_check(call: ast.Call) -> bool:
    name = getattr(call.func, "id", "")
    if name not in ("isinstance", "callable", "hasattr", "len") or not call.args:
        return False
    if name != "isinstance" or len(call.args) < 2:
        return True
    dumped = ast.dump(call.args[1])
    return "NoneType" not in dumped and "'type'" not in dumped and "value=None" not in dumped


def _is_plain(value: Value) -> bool:
    return value.reference is None
