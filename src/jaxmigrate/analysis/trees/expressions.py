"""Evaluates expressions to abstract values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from jaxmigrate.analysis.jaxnames import NOT_MAPPED
from jaxmigrate.analysis.trees import invocation
from jaxmigrate.analysis.trees.conditions import assume, truth
from jaxmigrate.analysis.trees.references import (
    BoundBuiltin,
    ClassReference,
    Closure,
    ExternalReference,
    Frame,
    Instance,
    Method,
    ModuleReference,
)
from jaxmigrate.analysis.trees.values import (
    LEAF,
    UNKNOWN,
    Is,
    Key,
    OneOf,
    Value,
    child,
    container,
    element,
    join,
    joined,
    none,
    not_none,
    referring,
)
from jaxmigrate.model import Evidence

if TYPE_CHECKING:
    from jaxmigrate.analysis.trees.interpreter import Interpreter


def _constant(node: ast.Constant, frame: Frame, interpreter: Interpreter) -> Value:
    if node.value is not None:
        return Value(none=Is.NO, inside=Is.NO, constant=node.value, leaf=True)
    return _none_at(node, frame)


def _none_at(node: ast.expr, frame: Frame) -> Value:
    """The None that stands at a place in the source."""
    line = getattr(node, "lineno", 0)
    return none(Evidence(frame.module.path, line, _words(node, frame)), _spot(node, frame))


def _meant(value: Value, node: ast.expr, frame: Frame) -> Value:
    """What a name stands for: None for the sentinel of JAX that was None, else the value itself."""
    reference = value.reference
    retired = isinstance(reference, ExternalReference) and reference.name in NOT_MAPPED
    return _none_at(node, frame) if retired else value


def _spot(node: ast.expr, frame: Frame) -> tuple[str, int, int]:
    return (frame.module.path, getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


def _words(node: ast.expr, frame: Frame) -> str:
    """A few words on where a None stands, as it is spelled there."""
    parent, spelled = frame.module.scopes.parents.get(node), ast.unparse(node)
    if isinstance(parent, ast.Dict):
        for key, value in zip(parent.keys, parent.values, strict=True):
            if value is node and key is not None:
                return f"{ast.unparse(key)}: {spelled}"
    if isinstance(parent, ast.keyword) and parent.arg:
        return f"{parent.arg}={spelled}"
    if isinstance(parent, ast.arguments):
        return f"{_parameter_of(node, parent)}={spelled} by default"
    if isinstance(parent, ast.Assign):
        return f"{ast.unparse(parent.targets[0])} = {spelled}"
    if isinstance(parent, ast.Return):
        return f"returns {spelled}"
    return _shortened(ast.unparse(parent)) if isinstance(parent, ast.expr) else spelled


def _parameter_of(default: ast.expr, signature: ast.arguments) -> str:
    positional = [*signature.posonlyargs, *signature.args]
    pairs = [
        *zip(reversed(positional), reversed(signature.defaults), strict=False),
        *zip(signature.kwonlyargs, signature.kw_defaults, strict=True),
    ]
    return next((arg.arg for arg, value in pairs if value is default), "a parameter")


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_WORDS else f"{text[: _MAX_WORDS - 1]}…"


def _name(node: ast.Name, frame: Frame, interpreter: Interpreter) -> Value:
    home = frame.home(node.id)
    if home is not None:
        return home.variables[node.id]
    owner = frame.scope.owner(node.id)
    if owner is not None and owner.parent is not None:
        return _meant(interpreter.imported(node.id, frame), node, frame)
    return _meant(interpreter.global_value(node.id, frame), node, frame)


def _attribute(node: ast.Attribute, frame: Frame, interpreter: Interpreter) -> Value:
    value = attribute(interpreter.evaluate(node.value, frame), node.attr, interpreter)
    return _meant(value, node, frame)


def attribute(owner: Value, name: str, interpreter: Interpreter) -> Value:
    """Attribute `name` of a value."""
    reference = owner.reference
    if isinstance(reference, OneOf):
        found = [_of_reference(r, owner, name, interpreter) for r in reference.choices]
        known = [value for value in found if value is not None]
        return joined(known) if known else UNKNOWN
    value = _of_reference(reference, owner, name, interpreter)
    if value is not None:
        return value
    found_part = child(owner, name)
    if found_part is not None and found_part is not UNKNOWN:
        return found_part
    if name in _CONTAINER_METHODS:
        return referring(BoundBuiltin(name, owner))
    if owner.shape is not None:
        return Value(shape=("child", owner.shape, name))
    return UNKNOWN


def _of_reference(
    reference: object, owner: Value, name: str, interpreter: Interpreter
) -> Value | None:
    if isinstance(reference, ExternalReference):
        return referring(ExternalReference(f"{reference.name}.{name}"))
    if isinstance(reference, ModuleReference):
        home = interpreter.module_frame(reference.module)
        return home.variables.get(name) or interpreter.global_value(name, home)
    if isinstance(reference, ClassReference):
        return _class_attribute(reference, name, interpreter)
    if isinstance(reference, Instance):
        return _instance_attribute(reference, owner, name, interpreter)
    return None


def _class_attribute(
    reference: ClassReference, name: str, interpreter: Interpreter
) -> Value | None:
    method = interpreter.classes.method(reference.definition, name)
    if method is not None:
        definition, _ = method
        closure = Closure(definition.node, definition.module, definition.scope, None)  # type: ignore[arg-type]
        if invocation.has_decorator(closure, "classmethod"):
            return referring(Method(closure, referring(reference)))
        return referring(closure)
    return invocation.class_variable(reference, name, interpreter)


def _instance_attribute(
    reference: Instance, owner: Value, name: str, interpreter: Interpreter
) -> Value | None:
    part = (owner.parts or {}).get(name)
    if part is not None:
        return part
    method = interpreter.classes.method(reference.cls.definition, name)
    if method is not None:
        return invocation.bound_method(method, owner, interpreter)
    if name in ("replace", "_replace") and invocation.is_record(reference, interpreter):
        return referring(BoundBuiltin("_replace", owner))
    stored = interpreter.attribute_of_class(reference.cls, name)
    if stored is not None:
        return stored
    return invocation.class_variable(reference.cls, name, interpreter)


def _subscript(node: ast.Subscript, frame: Frame, interpreter: Interpreter) -> Value:
    owner = interpreter.evaluate(node.value, frame)
    if isinstance(node.slice, ast.Slice):
        return _sliced(owner, node.slice, frame, interpreter)
    key = interpreter.evaluate(node.slice, frame).constant
    if isinstance(node.slice, ast.UnaryOp):
        key = _negative(node.slice)
    if isinstance(key, str | int) and not isinstance(key, bool):
        found = child(owner, key) or _field_at(owner, key)
        if found is not None:
            return found
        if owner.shape is not None:
            return Value(shape=("child", owner.shape, key))
    elif owner.parts is not None:
        return element(owner) or UNKNOWN
    return LEAF if owner.leaf and owner.reference is None else UNKNOWN


def _field_at(owner: Value, key: Key) -> Value | None:
    """A NamedTuple's field by its position."""
    if not isinstance(key, int) or not isinstance(owner.reference, Instance):
        return None
    ordered = list((owner.parts or {}).values())
    return ordered[key] if -len(ordered) <= key < len(ordered) else None


def _negative(node: ast.UnaryOp) -> int | None:
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value if isinstance(node.operand.value, int) else None
    return None


def _sliced(owner: Value, part: ast.Slice, frame: Frame, interpreter: Interpreter) -> Value:
    if owner.parts is None or owner.rest is not None or part.step is not None:
        return container({}, element(owner)) if owner.parts is not None else UNKNOWN
    bounds: list[int | None] = []
    for bound in (part.lower, part.upper):
        if bound is None:
            bounds.append(None)
            continue
        constant = interpreter.evaluate(bound, frame).constant
        if isinstance(bound, ast.UnaryOp):
            constant = _negative(bound)
        if not isinstance(constant, int):
            return container({}, element(owner))
        bounds.append(constant)
    kept = list(owner.parts.values())[slice(*bounds)]
    return container(dict(enumerate(kept)))


def _dict(node: ast.Dict, frame: Frame, interpreter: Interpreter) -> Value:
    parts: dict[Key, Value] = {}
    rest: Value | None = None
    for key, item in zip(node.keys, node.values, strict=True):
        value = interpreter.evaluate(item, frame)
        if key is None:
            parts, rest = _merged(parts, rest, value)
            continue
        name = interpreter.evaluate(key, frame).constant
        if isinstance(name, str | int):
            parts[name] = value
        else:
            rest = value if rest is None else join(rest, value)
    return interpreter.made(container(parts, rest), node, frame.module)


def _merged(
    parts: dict[Key, Value], rest: Value | None, added: Value
) -> tuple[dict[Key, Value], Value | None]:
    """The children once those of another mapping are put over them."""
    if added.parts is None:
        more = UNKNOWN if added.inside is not Is.MAYBE else added
        return parts, more if rest is None else join(rest, more)
    merged = {**parts, **added.parts}
    if added.rest is None:
        return merged, rest
    return merged, added.rest if rest is None else join(rest, added.rest)


def _sequence(
    node: ast.Tuple | ast.List | ast.Set, frame: Frame, interpreter: Interpreter
) -> Value:
    parts: dict[Key, Value] = {}
    rest: Value | None = None
    for item in node.elts:
        if isinstance(item, ast.Starred):
            inner = interpreter.evaluate(item.value, frame)
            if inner.parts is None or inner.rest is not None or rest is not None:
                more = element(inner) or UNKNOWN
                rest = more if rest is None else join(rest, more)
                continue
            for value in inner.parts.values():
                parts[len(parts)] = value
        else:
            parts[len(parts)] = interpreter.evaluate(item, frame)
    return interpreter.made(container(parts, rest), node, frame.module)


def _conditional(node: ast.IfExp, frame: Frame, interpreter: Interpreter) -> Value:
    certain = truth(node.test, frame, interpreter)
    values: list[Value] = []
    for outcome, branch in ((True, node.body), (False, node.orelse)):
        if certain is None or certain is outcome:
            before = dict(frame.variables)
            assume(node.test, outcome, frame, interpreter)
            values.append(interpreter.evaluate(branch, frame))
            frame.variables = before
    return joined(values)


def _bool(node: ast.BoolOp, frame: Frame, interpreter: Interpreter) -> Value:
    """`a or b` is a where that is true; `a and b` is b where a is true."""
    before = dict(frame.variables)
    values: list[Value] = []
    for position, part in enumerate(node.values):
        value = interpreter.evaluate(part, frame)
        last = position == len(node.values) - 1
        if isinstance(node.op, ast.Or):
            certain = _certainly(value)
            if certain is not False or last:
                values.append(value if last else not_none(value))
            if certain is True:
                break
            assume(part, False, frame, interpreter)
        else:
            if last or value.none is not Is.NO:
                values.append(value)
            assume(part, True, frame, interpreter)
    frame.variables = before
    return joined(values)


def _certainly(value: Value) -> bool | None:
    """Whether a value is certainly true, or certainly false."""
    if value.none is Is.YES:
        return False
    known = value.constant is not None and value.none is Is.NO
    return bool(value.constant) if known else None


def _binary(node: ast.BinOp, frame: Frame, interpreter: Interpreter) -> Value:
    left = interpreter.evaluate(node.left, frame)
    right = interpreter.evaluate(node.right, frame)
    if isinstance(node.op, ast.BitOr) and (left.parts is not None or right.parts is not None):
        parts, rest = _merged(*_merged({}, None, left), right)
        return container(parts, rest)
    if isinstance(node.op, ast.Add) and left.parts is not None and right.parts is not None:
        return _concatenated(left, right)
    if isinstance(node.op, ast.Mult):
        repeated = left if left.parts is not None else right
        if repeated.parts is not None:
            return container({}, element(repeated))
    return LEAF if left.leaf or right.leaf or not _might_be_tree(left, right) else UNKNOWN


def _might_be_tree(left: Value, right: Value) -> bool:
    return left.parts is not None or right.parts is not None


def _concatenated(left: Value, right: Value) -> Value:
    if left.rest is not None or right.rest is not None:
        both = [value for value in (element(left), element(right)) if value is not None]
        return container({}, joined(both))
    return container(dict(enumerate([*(left.parts or {}).values(), *(right.parts or {}).values()])))


def _unary(node: ast.UnaryOp, frame: Frame, interpreter: Interpreter) -> Value:
    interpreter.evaluate(node.operand, frame)
    return LEAF


def _compare(node: ast.Compare, frame: Frame, interpreter: Interpreter) -> Value:
    certain = truth(node, frame, interpreter)
    if certain is None:
        return LEAF
    return Value(none=Is.NO, inside=Is.NO, constant=certain, leaf=True)


def _text(node: ast.JoinedStr, frame: Frame, interpreter: Interpreter) -> Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            interpreter.evaluate(part.value, frame)
    return LEAF


def _lambda(node: ast.Lambda, frame: Frame, interpreter: Interpreter) -> Value:
    return referring(Closure(node, frame.module, frame.scope, frame))


def _walrus(node: ast.NamedExpr, frame: Frame, interpreter: Interpreter) -> Value:
    value = interpreter.evaluate(node.value, frame)
    frame.variables[node.target.id] = value
    return value


def _comprehension(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
    frame: Frame,
    interpreter: Interpreter,
) -> Value:
    scope = frame.module.scopes.scope_of.get(node, frame.scope)
    inner = Frame(frame.module, scope, frame)
    only = node.generators[0] if len(node.generators) == 1 else None
    if only is not None and not only.ifs:
        spelled = _spelled_out(node, only, inner, interpreter)
        if spelled is not None:
            return spelled
    for generator in node.generators:
        iterated = interpreter.evaluate(generator.iter, inner)
        invocation.bind_item(generator.target, iterated, inner, interpreter)
        for condition in generator.ifs:
            assume(condition, True, inner, interpreter)
    return container({}, _element_of(node, inner, interpreter))


def _element_of(node: Any, frame: Frame, interpreter: Interpreter) -> Value:
    result: ast.expr = node.value if isinstance(node, ast.DictComp) else node.elt
    return interpreter.evaluate(result, frame)


def _spelled_out(
    node: Any, generator: ast.comprehension, frame: Frame, interpreter: Interpreter
) -> Value | None:
    """The children one by one, where what is iterated over is known item by item."""
    iterated = interpreter.evaluate(generator.iter, frame)
    items = iterated.parts
    if items is None or iterated.rest is not None or not 0 < len(items) <= 8:
        return None
    if any(isinstance(key, str) for key in items):
        keys = [Value(none=Is.NO, inside=Is.NO, constant=key, leaf=True) for key in items]
        values = keys
    else:
        values = list(items.values())
    parts: dict[Key, Value] = {}
    for item in values:
        invocation.assign_target(generator.target, item, frame, interpreter)
        key: object = len(parts)
        if isinstance(node, ast.DictComp):
            key = interpreter.evaluate(node.key, frame).constant
        if not isinstance(key, str | int):
            return None
        parts[key] = _element_of(node, frame, interpreter)
    return container(parts)


def _call(node: ast.Call, frame: Frame, interpreter: Interpreter) -> Value:
    return invocation.call(node, frame, interpreter)


def _await(node: ast.Await, frame: Frame, interpreter: Interpreter) -> Value:
    return interpreter.evaluate(node.value, frame)


def _yield(node: ast.Yield, frame: Frame, interpreter: Interpreter) -> Value:
    if node.value is not None:
        frame.yields.append(interpreter.evaluate(node.value, frame))
    return UNKNOWN


def _yield_from(node: ast.YieldFrom, frame: Frame, interpreter: Interpreter) -> Value:
    inner = element(interpreter.evaluate(node.value, frame))
    if inner is not None:
        frame.yields.append(inner)
    return UNKNOWN


def _starred(node: ast.Starred, frame: Frame, interpreter: Interpreter) -> Value:
    return interpreter.evaluate(node.value, frame)


_MAX_WORDS: Final = 60
_CONTAINER_METHODS: Final = frozenset(
    {"items", "values", "keys", "get", "copy", "pop", "update", "setdefault", "append", "extend"}
    | {"insert", "replace", "_replace", "unflatten", "clear", "flatten_up_to", "_asdict", "popitem"}
)

HANDLERS: Final[dict[type[ast.expr], Callable[[Any, Frame, Any], Value]]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Dict: _dict,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.IfExp: _conditional,
    ast.BoolOp: _bool,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.JoinedStr: _text,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Call: _call,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Starred: _starred,
}
"""What evaluates each kind of expression, given the frame and the interpreter."""
