"""Objects of the project's classes: made, annotated, looked into."""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING, TypeAlias

from jaxmigrate.analysis.on_none import Place
from jaxmigrate.analysis.project import Definition, Module
from jaxmigrate.analysis.scopes import Scope, ScopeTree
from jaxmigrate.analysis.trees import invocation
from jaxmigrate.analysis.trees.annotations import admits_none, class_of
from jaxmigrate.analysis.trees.classes import Field, is_constructor
from jaxmigrate.analysis.trees.reach import Condition
from jaxmigrate.analysis.trees.references import (
    Arguments,
    ClassReference,
    Closure,
    Frame,
    Instance,
    Method,
    Record,
)
from jaxmigrate.analysis.trees.values import (
    UNKNOWN,
    Is,
    Key,
    Value,
    join,
    maybe_none,
    referring,
    replace,
    unknown,
)
from jaxmigrate.model import Evidence

if TYPE_CHECKING:
    from jaxmigrate.analysis.trees.interpreter import Interpreter

FoundMethod: TypeAlias = tuple[Definition, Definition]
"""A method's definition, and the class that defines it."""

_MAX_NESTED = 3


def construct(
    reference: ClassReference,
    arguments: Arguments,
    node: ast.AST,
    frame: Frame,
    interpreter: Interpreter,
) -> Value:
    """A new object of a class."""
    instance = Instance(reference)
    method = interpreter.classes.method(reference.definition, "__init__")
    if method is not None:
        return _initialised(method, instance, arguments, node, frame, interpreter)
    facts = interpreter.classes.facts(reference.definition)
    parts: dict[Key, Value] = {}
    for position, field in enumerate(facts.fields):
        given = arguments.keywords.get(field.name)
        if given is None and position < len(arguments.args):
            given = arguments.args[position]
        if given is None and field.default is not None:
            given = _default(field, interpreter)
        parts[field.name] = given or arguments.more or UNKNOWN
    made = Value(none=Is.NO, inside=Is.NO, parts=parts, reference=instance)
    return interpreter.made(made, node, frame.module)


def _initialised(
    method: FoundMethod,
    instance: Instance,
    arguments: Arguments,
    node: ast.AST,
    frame: Frame,
    interpreter: Interpreter,
) -> Value:
    """The object once `__init__` has run on it."""
    definition, _ = method
    function = definition.node
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    fresh = Value(none=Is.NO, inside=Is.NO, parts={}, rest=None, reference=instance)
    closure = Closure(function, definition.module, definition.scope, None)
    result = invocation.run_for_object(closure, fresh, arguments, node, frame, interpreter)
    return result or Value(none=Is.NO, reference=instance)


def _default(field: Field, interpreter: Interpreter) -> Value:
    home = Frame(field.module, field.scope, None)
    assert field.default is not None
    value = interpreter.evaluate(field.default, home)
    if value.none is Is.YES:
        note = f"field {field.name} is None by default"
        return replace(value, why=(Evidence(field.module.path, field.node.lineno, note),))
    return value


def annotated(
    annotation: ast.expr, value: Value, place: Place, interpreter: Interpreter, depth: int = 0
) -> Value:
    """An unknown value that an annotation says is an object of a class of the project."""
    definition = class_of(annotation, place)
    if definition is None or depth >= _MAX_NESTED:
        return value
    reference = interpreter.definition_value(definition).reference
    assert isinstance(reference, ClassReference)
    return replace(
        value,
        none=Is.NO,
        inside=Is.UNKNOWN,
        parts=_fields(reference, value, interpreter, depth),
        rest=UNKNOWN,
        reference=Instance(reference),
    )


def _fields(
    reference: ClassReference, owner: Value, interpreter: Interpreter, depth: int
) -> dict[Key, Value]:
    parts: dict[Key, Value] = {}
    for field in interpreter.classes.facts(reference.definition).fields:
        value = Value(shape=("child", owner.shape, field.name)) if owner.shape else UNKNOWN
        place = Place(field.scope, field.module, interpreter.project)
        if field.annotation is not None:
            value = annotated(field.annotation, value, place, interpreter, depth + 1)
        note = _admits_none(field, place)
        if note:
            evidence = Evidence(field.module.path, field.node.lineno, note)
            value = maybe_none(value, evidence)
        parts[field.name] = value
    return parts


def _admits_none(field: Field, place: Place) -> str:
    if isinstance(field.default, ast.Constant) and field.default.value is None:
        return f"field {field.name} is None by default"
    if admits_none(field.annotation, place):
        return f"field {field.name} may be None"
    return ""


def bound_method(method: FoundMethod, owner: Value, interpreter: Interpreter) -> Value:
    """A method as an attribute of an object; a property's value."""
    definition, _ = method
    function = definition.node
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    closure = Closure(function, definition.module, definition.scope, None)
    if invocation.has_decorator(closure, "staticmethod"):
        return referring(closure)
    if invocation.has_decorator(closure, "classmethod") and isinstance(owner.reference, Instance):
        return referring(Method(closure, referring(owner.reference.cls)))
    bound = referring(Method(closure, owner))
    if any(invocation.has_decorator(closure, n) for n in ("property", "cached_property")):
        home = Frame(definition.module, definition.scope, None)
        return invocation.apply(bound, Arguments(), function, home, interpreter)
    return bound


def class_variable(reference: ClassReference, name: str, interpreter: Interpreter) -> Value | None:
    """What a class's body assigns to a name, looked for in its bases too.

    Of a field that is only the default.
    """
    fields = {field.name for field in interpreter.classes.facts(reference.definition).fields}
    for owner in interpreter.classes.lineage(reference.definition):
        node = owner.node
        assert isinstance(node, ast.ClassDef)
        scope = owner.module.scopes.scope_of[node]
        values = [b.value for b in scope.bindings.get(name, ()) if b.value is not None]
        if values:
            value = interpreter.evaluate(values[-1], Frame(owner.module, scope, None))
            return join(value, UNKNOWN) if name in fields else value
    return None


def stored_attribute(
    reference: ClassReference, name: str, interpreter: Interpreter
) -> Value | None:
    """What the methods of a class may store in `self.name`, joined."""
    found: Value | None = None
    for owner in interpreter.classes.lineage(reference.definition):
        for method in getattr(owner.node, "body", ()):
            if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for value in _stored_in(method, name, owner, interpreter):
                found = value if found is None else join(found, value)
    return found


def _stored_in(
    method: ast.FunctionDef | ast.AsyncFunctionDef,
    name: str,
    owner: Definition,
    interpreter: Interpreter,
) -> list[Value]:
    """The values that a method's assignments to the attribute give, its parameters unknown."""
    assignments = interpreter.classes.stores(method).get(name)
    if not assignments:
        return []
    scopes = owner.module.scopes
    closure = Closure(method, owner.module, scopes.scope_of[owner.node], None)
    frame = invocation.entry_frame(closure, interpreter)
    found: list[Value] = []
    for value in assignments:
        by_setting = is_constructor(method) and _is_conditional(value, method, scopes)
        with interpreter.reach.under(Condition(value, by_setting=by_setting)):
            found.append(interpreter.evaluate(value, frame))
    return found


def _is_conditional(
    value: ast.expr, method: ast.FunctionDef | ast.AsyncFunctionDef, scopes: ScopeTree
) -> bool:
    """Whether it hangs on a test in the method that the value is stored."""
    inside = itertools.takewhile(lambda node: node is not method, scopes.enclosing(value))
    return any(isinstance(node, ast.If) for node in inside)


def instance_in(
    node: ast.ClassDef, module: Module, scope: Scope, interpreter: Interpreter
) -> Value:
    """The object a method of a class is run on, nothing known of it but its class."""
    reference = class_in(node, module, scope, interpreter).reference
    assert isinstance(reference, ClassReference)
    shape = ("self", module.path, node.lineno)
    fields = _fields(reference, unknown(shape), interpreter, 0)
    facts = interpreter.classes.facts(reference.definition)
    parts = fields if facts.children is not None else {}
    return Value(
        none=Is.NO,
        parts=parts,
        rest=UNKNOWN,
        shape=shape,
        reference=Instance(reference),
    )


def class_in(node: ast.ClassDef, module: Module, scope: Scope, interpreter: Interpreter) -> Value:
    """A class whose body is `scope`, as a value."""
    outer = scope.parent or scope
    return interpreter.definition_value(Definition(module, node, outer))


def parent_object(frame: Frame, interpreter: Interpreter) -> Value:
    """`super()` in a method: the object as one of its class's first base."""
    scope: Scope | None = frame.scope
    while scope is not None and not isinstance(scope.node, ast.ClassDef):
        scope = scope.parent
    if scope is None or not isinstance(scope.node, ast.ClassDef):
        return UNKNOWN
    reference = class_in(scope.node, frame.module, scope, interpreter).reference
    assert isinstance(reference, ClassReference)
    bases = interpreter.classes.facts(reference.definition).bases
    if not bases:
        return UNKNOWN
    base = interpreter.definition_value(bases[0]).reference
    assert isinstance(base, ClassReference)
    current = frame.home("self")
    parts = current.variables["self"].parts if current is not None else None
    return Value(none=Is.NO, parts=parts, rest=UNKNOWN, reference=Instance(base))


def record(reference: Record, arguments: Arguments) -> Value:
    """A new object of a class that only holds fields."""
    parts: dict[Key, Value] = {}
    without = len(reference.fields) - len(reference.defaults)
    for position, name in enumerate(reference.fields):
        given = arguments.at(position, name)
        if given is None and position >= without:
            given = reference.defaults[position - without]
        parts[name] = given or UNKNOWN
    return Value(none=Is.NO, inside=Is.NO, parts=parts)


def is_record(reference: Instance, interpreter: Interpreter) -> bool:
    """Whether objects of the class have `replace` or `_replace` that gives a changed copy."""
    return bool(interpreter.classes.facts(reference.cls.definition).fields)
