"""What a function gives when its first leaf is None: a small evaluator that never guesses.

It follows tests for None, `isinstance`, `and`/`or`/`not`, conditional expressions, early returns and
helpers that the project defines. Whatever could have an effect, or cannot be told, is `UNKNOWN`.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from jaxmigrate.analysis.project import Definition, Entity, External, Module, Project, Value
from jaxmigrate.analysis.scopes import Scope


class Unknown(enum.Enum):
    """The value of everything that cannot be told."""

    UNKNOWN = enum.auto()


UNKNOWN: Final = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True)
class Known:
    """A value that is certain: None, a truth value, a number or a string."""

    value: object


Outcome: TypeAlias = Known | Unknown
AnyFunction: TypeAlias = ast.Lambda | ast.FunctionDef
NONE: Final = Known(None)
_TRUE: Final = Known(True)
_FALSE: Final = Known(False)

_MAX_CALLS: Final = 4
_MAX_STATEMENTS: Final = 12

_NONE_CLASSES: Final = frozenset({"builtins.object", "types.NoneType", "typing.Hashable"})
_STRUCTURAL_MODULES: Final = ("typing.", "typing_extensions.", "collections.abc.")
_FALSE_FOR_NONE: Final = frozenset(
    {
        "builtins.callable",
        "equinox.is_array",
        "equinox.is_array_like",
        "equinox.is_inexact_array",
        "equinox.is_inexact_array_like",
        "jax.numpy.isscalar",
        "jax.tree_util.all_leaves",
        "numpy.isscalar",
        "dataclasses.is_dataclass",
    }
)
"""Functions outside the project that are known to give False for None (their own documentation)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression stands: its scope and module, in which project."""

    scope: Scope
    module: Module
    project: Project

    def at(self, scope: Scope, module: Module) -> Place:
        """The same project, seen from another scope."""
        return Place(scope, module, self.project)


def callable_on_none(function: ast.expr, place: Place, position: int = 0) -> Outcome:
    """What the function that `function` stands for returns if argument `position` is None.

    `position` counts from 0; the other arguments are unknown.
    """
    return _call(function, position, place, _MAX_CALLS)


def definitions_of(function: ast.expr, place: Place) -> list[tuple[AnyFunction, Place]]:
    """The lambda or `def` that `function` certainly is, with the place it stands in; else nothing."""
    if isinstance(function, ast.Lambda):
        return [(function, place)]
    if not isinstance(function, ast.Name | ast.Attribute):
        return []
    entities = place.project.resolve(function, place.scope, place.module)
    found = [_function_of(entity, place) for entity in entities]
    return [pair for pair in found if pair is not None] if None not in found else []


def _function_of(entity: Entity, place: Place) -> tuple[AnyFunction, Place] | None:
    if isinstance(entity, Definition) and isinstance(entity.node, ast.FunctionDef):
        return (entity.node, place.at(entity.scope, entity.module))
    if isinstance(entity, Value) and isinstance(entity.expr, ast.Lambda):
        return (entity.expr, place.at(entity.scope, entity.module))
    return None


def _call(function: ast.expr, position: int, place: Place, calls: int) -> Outcome:
    if calls <= 0:
        return UNKNOWN
    if not isinstance(function, ast.Lambda):
        name = place.project.name_of(function, place.scope, place.module)
        if name in _FALSE_FOR_NONE:
            return _FALSE
    outcomes = {
        _body(node, position, home, calls - 1)
        for node, home in definitions_of(function, place)
        if not getattr(node, "decorator_list", ())
    }
    return outcomes.pop() if len(outcomes) == 1 else UNKNOWN


def _body(function: AnyFunction, position: int, place: Place, calls: int) -> Outcome:
    name = parameter_at(function.args, position)
    if name is None or _is_generator(function):
        return UNKNOWN
    inner = place.at(place.module.scopes.scope_of[function], place.module)
    run = _Run(inner, {name: NONE}, calls)
    if isinstance(function, ast.Lambda):
        return run.value(function.body)
    result = run.block(function.body)
    return NONE if result is None else result


def _is_generator(function: AnyFunction) -> bool:
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for part in body for n in ast.walk(part))


def parameter_at(args: ast.arguments, position: int) -> str | None:
    """The name of positional parameter `position` (from 0), or None if there is none."""
    positional = [*args.posonlyargs, *args.args]
    return positional[position].arg if position < len(positional) else None


class _Run:
    """One run of a body with some names known."""

    def __init__(self, place: Place, known: Mapping[str, Outcome], calls: int) -> None:
        self.place = place
        self.known = dict(known)
        self.calls = calls

    def block(self, body: list[ast.stmt]) -> Outcome | None:
        """What the statements return; None if they run to their end."""
        for statement in body[:_MAX_STATEMENTS]:
            outcome = self._statement(statement)
            if outcome is not None:
                return outcome
        return UNKNOWN if len(body) > _MAX_STATEMENTS else None

    def _statement(self, statement: ast.stmt) -> Outcome | None:
        if isinstance(statement, ast.Return):
            return NONE if statement.value is None else self.value(statement.value)
        if isinstance(statement, ast.If):
            test = self.truth(statement.test)
            if test is None:
                return UNKNOWN
            return self.block(statement.body if test else statement.orelse)
        if isinstance(statement, ast.Pass) or _is_docstring(statement):
            return None
        return UNKNOWN

    def truth(self, expr: ast.expr) -> bool | None:
        """Whether the expression is true, or None if that cannot be told."""
        outcome = self.value(expr)
        return bool(outcome.value) if isinstance(outcome, Known) else None

    def value(self, expr: ast.expr) -> Outcome:
        """What the expression gives."""
        if isinstance(expr, ast.Constant):
            return Known(expr.value)
        if isinstance(expr, ast.Name):
            return self.known.get(expr.id, UNKNOWN)
        if isinstance(expr, ast.BoolOp):
            return self._bool(expr)
        if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.Not):
            truth = self.truth(expr.operand)
            return UNKNOWN if truth is None else Known(not truth)
        if isinstance(expr, ast.IfExp):
            truth = self.truth(expr.test)
            if truth is None:
                return UNKNOWN
            return self.value(expr.body if truth else expr.orelse)
        if isinstance(expr, ast.Compare):
            return self._compare(expr)
        if isinstance(expr, ast.Call):
            return self._call(expr)
        return UNKNOWN

    def _bool(self, expr: ast.BoolOp) -> Outcome:
        ends_on = isinstance(expr.op, ast.Or)
        outcome: Outcome = UNKNOWN
        for operand in expr.values:
            outcome = self.value(operand)
            if isinstance(outcome, Unknown) or bool(outcome.value) is ends_on:
                return outcome
        return outcome

    def _compare(self, expr: ast.Compare) -> Outcome:
        if len(expr.ops) != 1:
            return UNKNOWN
        left = self.value(expr.left)
        operator = expr.ops[0]
        if isinstance(operator, ast.In | ast.NotIn):
            return self._membership(left, expr.comparators[0], isinstance(operator, ast.In))
        if self._is_type_of_none(expr.left):
            return self._same_type(expr.comparators[0], operator)
        right = self.value(expr.comparators[0])
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return UNKNOWN
        if isinstance(operator, ast.Is | ast.IsNot):
            if left.value is not None and right.value is not None:
                return UNKNOWN
            return Known((left.value is right.value) is isinstance(operator, ast.Is))
        if isinstance(operator, ast.Eq | ast.NotEq):
            return Known((left.value == right.value) is isinstance(operator, ast.Eq))
        return UNKNOWN

    def _membership(self, left: Outcome, container: ast.expr, positive: bool) -> Outcome:
        if isinstance(left, Unknown) or not isinstance(container, ast.Tuple | ast.List | ast.Set):
            return UNKNOWN
        items = [self.value(item) for item in container.elts]
        if left in items:
            return Known(positive)
        if any(isinstance(item, Unknown) for item in items):
            return UNKNOWN
        return Known((left in items) is positive)

    def _is_type_of_none(self, expr: ast.expr) -> bool:
        return (
            isinstance(expr, ast.Call)
            and self._name(expr.func) == "builtins.type"
            and len(expr.args) == 1
            and self.value(expr.args[0]) == NONE
        )

    def _same_type(self, other: ast.expr, operator: ast.cmpop) -> Outcome:
        is_none_type = self._is_type_of_none(other) or self._name(other) == "types.NoneType"
        if not is_none_type and self._accepts_none(other) is not False:
            return UNKNOWN
        if isinstance(operator, ast.Is | ast.Eq):
            return Known(is_none_type)
        return Known(not is_none_type) if isinstance(operator, ast.IsNot | ast.NotEq) else UNKNOWN

    def _call(self, expr: ast.Call) -> Outcome:
        if expr.keywords or any(isinstance(arg, ast.Starred) for arg in expr.args):
            return UNKNOWN
        name = self._name(expr.func)
        values = [self.value(arg) for arg in expr.args]
        if name == "builtins.isinstance" and len(values) == 2 and values[0] == NONE:
            accepts = self._accepts_none(expr.args[1])
            return UNKNOWN if accepts is None else Known(accepts)
        if name == "builtins.hasattr" and len(values) == 2 and values[0] == NONE:
            attribute = values[1]
            if isinstance(attribute, Known) and isinstance(attribute.value, str):
                return Known(hasattr(None, attribute.value))
            return UNKNOWN
        if name == "builtins.bool" and len(values) == 1 and isinstance(values[0], Known):
            return Known(bool(values[0].value))
        if len(values) == 1 and values[0] == NONE:
            return _call(expr.func, 0, self.place, self.calls)
        return UNKNOWN

    def _accepts_none(self, classes: ast.expr) -> bool | None:
        """Whether None is an instance of the class, tuple or union of classes; None if not known."""
        if isinstance(classes, ast.Tuple):
            return _any(self._accepts_none(item) for item in classes.elts)
        if isinstance(classes, ast.BinOp) and isinstance(classes.op, ast.BitOr):
            return _any(self._accepts_none(item) for item in (classes.left, classes.right))
        if isinstance(classes, ast.Constant):
            return True if classes.value is None else None
        if self._is_type_of_none(classes):
            return True
        if isinstance(classes, ast.Name | ast.Attribute):
            return self._class_accepts_none(classes)
        return None

    def _class_accepts_none(self, name: ast.expr) -> bool | None:
        place = self.place
        verdicts = [
            _entity_accepts_none(entity, place)
            for entity in place.project.resolve(name, place.scope, place.module)
        ]
        return verdicts[0] if len(set(verdicts)) == 1 else None

    def _name(self, expr: ast.expr) -> str | None:
        if isinstance(expr, ast.Name) and expr.id in self.known:
            return None
        return self.place.project.name_of(expr, self.place.scope, self.place.module)


def _entity_accepts_none(entity: Entity, place: Place) -> bool | None:
    if isinstance(entity, External):
        return _external_accepts_none(entity.name)
    if isinstance(entity, Definition) and isinstance(entity.node, ast.ClassDef):
        home = place.at(entity.scope, entity.module)
        return False if _is_ordinary(entity.node, home) else None
    if isinstance(entity, Value):
        run = _Run(place.at(entity.scope, entity.module), {}, 0)
        return run._accepts_none(entity.expr)
    return None


def _external_accepts_none(name: str) -> bool | None:
    if name in _NONE_CLASSES:
        return True
    if name.startswith("builtins."):
        return False
    last = name.rpartition(".")[2]
    is_plain_class = last[:1].isupper() and "PyTree" not in last
    return False if is_plain_class and not name.startswith(_STRUCTURAL_MODULES) else None


def _is_ordinary(node: ast.ClassDef, place: Place) -> bool:
    """Whether a class takes for its instances just those of its subclasses, which None is none of."""
    hooks = {"__subclasshook__", "__instancecheck__"}
    if any(getattr(statement, "name", None) in hooks for statement in node.body):
        return False
    names = [place.project.name_of(b, place.scope, place.module) or "" for b in node.bases]
    metaclasses = [k.value for k in node.keywords if k.arg == "metaclass"]
    plain = all(
        place.project.name_of(m, place.scope, place.module) == "abc.ABCMeta" for m in metaclasses
    )
    return plain and not any(name.endswith(".Protocol") for name in names)


def _any(verdicts: Iterable[bool | None]) -> bool | None:
    found = list(verdicts)
    if True in found:
        return True
    return None if None in found else False


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
