"""Calls: what is called, with what, and what comes back."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Final

from jaxmigrate.analysis.trees import (
    containers,
    gradients,
    libraries,
    mapping,
    objects,
    statements,
)
from jaxmigrate.analysis.trees.annotations import admits_none
from jaxmigrate.analysis.trees.memory import Key
from jaxmigrate.analysis.trees.paths import path_of, update
from jaxmigrate.analysis.trees.reach import Condition
from jaxmigrate.analysis.trees.references import (
    Arguments,
    Bound,
    BoundBuiltin,
    ClassReference,
    Closure,
    Cotangent,
    ExternalReference,
    Frame,
    Gradient,
    Instance,
    Method,
    PartialMap,
    Record,
)
from jaxmigrate.analysis.trees.values import (
    UNKNOWN,
    AnyItem,
    Is,
    OneOf,
    Value,
    container,
    element,
    holds_none,
    joined,
    maybe_none,
    none,
    referring,
    told,
)
from jaxmigrate.analysis.trees.values import (
    Key as ChildKey,
)
from jaxmigrate.model import Evidence

if TYPE_CHECKING:
    from jaxmigrate.analysis.trees.interpreter import Interpreter

_TRANSPARENT: Final = frozenset({"staticmethod", "classmethod", "property", "cached_property"})


def call(node: ast.Call, frame: Frame, interpreter: Interpreter) -> Value:
    """What a call gives."""
    tree_call = interpreter.tree_call(node, frame.module)
    if tree_call is not None and tree_call.is_partial:
        return referring(PartialMap(tree_call, frame))
    if tree_call is not None:
        return mapping.tree_map(tree_call, frame, interpreter)
    if isinstance(node.func, ast.Name) and node.func.id == "super":
        return objects.parent_object(frame, interpreter)
    function = interpreter.evaluate(node.func, frame)
    arguments = arguments_of(node, frame, interpreter)
    if isinstance(function.reference, BoundBuiltin) and isinstance(node.func, ast.Attribute):
        return containers.container_method(function.reference, node, arguments, frame, interpreter)
    if isinstance(function.reference, ExternalReference):
        special = libraries.special_call(
            function.reference.name, node, arguments, frame, interpreter
        )
        if special is not None:
            return special
    return apply(function, arguments, node, frame, interpreter)


def arguments_of(node: ast.Call, frame: Frame, interpreter: Interpreter) -> Arguments:
    """The values of a call's arguments, starred ones taken apart where they are known."""
    args: list[Value] = []
    more: Value | None = None
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            inner = interpreter.evaluate(argument.value, frame)
            if inner.parts is not None and inner.rest is None:
                args.extend(inner.parts.values())
            else:
                more = element(inner) or _any_item_of(inner)
        else:
            args.append(interpreter.evaluate(argument, frame))
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = interpreter.evaluate(keyword.value, frame)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif value.parts is not None:
            keywords.update({str(key): part for key, part in value.parts.items()})
    return Arguments(tuple(args), keywords, more)


def _any_item_of(several: Value) -> Value:
    if several.shape is None:
        return UNKNOWN
    return Value(shape=AnyItem(several.shape))


def apply(
    function: Value, arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """What calling a function value gives; `node` and `frame` are where it is called."""
    reference = function.reference
    if isinstance(reference, Instance):
        return _call_object(function, arguments, node, frame, interpreter)
    if isinstance(reference, OneOf):
        results = [
            _apply(choice, arguments, node, frame, interpreter) for choice in reference.choices
        ]
        return joined(results)
    return _apply(reference, arguments, node, frame, interpreter)


def _apply(
    reference: object, arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    if isinstance(reference, Closure):
        return _run(reference, arguments, node, frame, interpreter)
    if isinstance(reference, Method):
        bound = Arguments((reference.instance, *arguments.args), arguments.keywords, arguments.more)
        return _run(reference.function, bound, node, frame, interpreter)
    if isinstance(reference, ClassReference):
        return objects.construct(reference, arguments, node, frame, interpreter)
    if isinstance(reference, Bound):
        merged = Arguments(
            (*reference.args, *arguments.args),
            {**reference.keywords, **arguments.keywords},
            arguments.more,
        )
        return apply(reference.function, merged, node, frame, interpreter)
    if isinstance(reference, Cotangent):
        return container(dict(enumerate(reference.primals)))
    if isinstance(reference, Gradient):
        return gradients.gradient(reference, arguments, node, frame, interpreter)
    if isinstance(reference, ExternalReference):
        return libraries.external(reference.name, arguments, node, frame, interpreter)
    if isinstance(reference, PartialMap):
        return mapping.call_partial(reference, arguments, interpreter)
    if isinstance(reference, Record):
        return objects.record(reference, arguments)
    return interpreter.fresh(node, frame.module)


def _call_object(
    function: Value, arguments: Arguments, node: ast.AST, frame: Frame, interpreter: Interpreter
) -> Value:
    """What calling an object of a class gives: its `__call__`."""
    assert isinstance(function.reference, Instance)
    method = interpreter.classes.method(function.reference.cls.definition, "__call__")
    if method is None:
        return interpreter.fresh(node, frame.module)
    bound = objects.bound_method(method, function, interpreter)
    return apply(bound, arguments, node, frame, interpreter)


def _run(
    closure: Closure, arguments: Arguments, node: ast.AST, caller: Frame, interpreter: Interpreter
) -> Value:
    """Run a function for a call of it, or recall what an alike call gave."""
    key = Key(closure, arguments, closure.by_setting or interpreter.reach.by_setting)
    remembered = interpreter.memory.recall(key)
    if remembered is not None:
        return remembered
    if not interpreter.enter(closure.node):
        return interpreter.fresh(node, caller.module)
    before = interpreter.newest
    try:
        here = _passed_here(closure, node, caller)
        frame = _new_frame(closure)
        _bind(closure, arguments, here, frame, interpreter)
        with interpreter.reach.under(*_choice(closure)):
            result = _outcome(closure, frame, interpreter)
        _write_back(closure, node, frame, caller, interpreter)
    finally:
        interpreter.leave()
    if not frame.changed and not interpreter.exhausted:
        interpreter.memory.keep(key, result, before)
    if holds_none(result) and not isinstance(closure.node, ast.Lambda):
        line = getattr(node, "lineno", 1)
        result = told(
            result, Evidence(caller.module.path, line, f"returned by {closure.node.name}")
        )
    return result


def _choice(closure: Closure) -> tuple[Condition, ...]:
    """What it hangs on that this function is the one that is called."""
    return (Condition(closure.node, by_setting=True),) if closure.by_setting else ()


def run_for_object(
    closure: Closure,
    instance: Value,
    arguments: Arguments,
    node: ast.AST,
    caller: Frame,
    interpreter: Interpreter,
) -> Value | None:
    """The object `instance` once a method has run on it; None if it cannot be followed."""
    if not interpreter.enter(closure.node):
        return None
    try:
        frame = _new_frame(closure)
        bound = Arguments((instance, *arguments.args), arguments.keywords, arguments.more)
        _bind(closure, bound, _passed_here(closure, node, caller), frame, interpreter)
        signature = closure.node.args
        first = [*signature.posonlyargs, *signature.args][:1]
        _outcome(closure, frame, interpreter)
        return frame.variables.get(first[0].arg) if first else None
    finally:
        interpreter.leave()


def entry_frame(closure: Closure, interpreter: Interpreter) -> Frame:
    """The frame of a function run as an entry, at its end."""
    frame = _new_frame(closure)
    if not interpreter.enter(closure.node):
        return frame
    try:
        for name, value in _entry_parameters(closure, frame, interpreter):
            frame.variables[name] = value
        _bind_self(closure, frame, None, interpreter)
        _outcome(closure, frame, interpreter)
    finally:
        interpreter.leave()
    return frame


def _passed_here(closure: Closure, node: ast.AST, caller: Frame) -> Evidence | None:
    if isinstance(closure.node, ast.Lambda):
        return None
    line = getattr(node, "lineno", 1)
    return Evidence(caller.module.path, line, f"passed to {closure.node.name}")


def _new_frame(closure: Closure) -> Frame:
    return Frame(closure.module, closure.module.scopes.scope_of[closure.node], closure.frame)


def _outcome(closure: Closure, frame: Frame, interpreter: Interpreter) -> Value:
    """Run the body of a function and join what it may return."""
    node = closure.node
    if isinstance(node, ast.Lambda):
        return interpreter.evaluate(node.body, frame)
    with interpreter.reach.under():
        reached_end = interpreter.execute(node.body, frame)
    if frame.yields:
        return container({}, joined(frame.yields))
    returns = list(frame.returns)
    if reached_end and any(value.none is not Is.YES for value in returns):
        last = node.body[-1]
        returns.append(
            none(
                Evidence(closure.module.path, last.lineno, f"{node.name} may end without a return")
            )
        )
    if not returns and _is_abstract(node):
        return interpreter.fresh(node, closure.module)
    if not returns:
        return none(Evidence(closure.module.path, node.lineno, f"{node.name} returns nothing"))
    result = joined(returns)
    return with_annotation(result, node.returns, frame, interpreter)


def _is_abstract(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a body says nothing: a docstring, `pass`, `...`, or an error to be overridden."""
    return all(
        isinstance(statement, ast.Pass | ast.Raise)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in node.body
    )


def with_annotation(
    value: Value, annotation: ast.expr | None, frame: Frame, interpreter: Interpreter
) -> Value:
    """An unknown value with what its annotation tells: an object of a class, or perhaps None."""
    if annotation is None or value.parts is not None or value.leaf or value.none is not Is.UNKNOWN:
        return value
    place = interpreter.place(frame)
    instance = objects.annotated(annotation, value, place, interpreter)
    if admits_none(annotation, place):
        line = getattr(annotation, "lineno", 1)
        note = f"annotated {ast.unparse(annotation)}"
        return maybe_none(instance, Evidence(frame.module.path, line, note))
    return instance


def returned(node: ast.Return, frame: Frame, interpreter: Interpreter) -> Value:
    """What a return statement gives."""
    if node.value is None:
        return none(Evidence(frame.module.path, node.lineno, "returns None"))
    return interpreter.evaluate(node.value, frame)


def _bind(
    closure: Closure,
    arguments: Arguments,
    here: Evidence | None,
    frame: Frame,
    interpreter: Interpreter,
) -> None:
    """Bind the parameters of a call."""
    signature = closure.node.args
    positional = [*signature.posonlyargs, *signature.args]

    def passed(value: Value) -> Value:
        return told(value, here) if here is not None else value

    for position, parameter in enumerate(positional):
        value = arguments.keywords.get(parameter.arg)
        if position < len(arguments.args):
            value = arguments.args[position]
        if value is None and arguments.more is not None:
            value = arguments.beyond(position)
        if value is None:
            value = _default(closure, parameter, interpreter)
        frame.variables[parameter.arg] = passed(value)
    for parameter in signature.kwonlyargs:
        given = arguments.keywords.get(parameter.arg)
        frame.variables[parameter.arg] = passed(given or _default(closure, parameter, interpreter))
    if signature.vararg is not None:
        extra = arguments.args[len(positional) :]
        frame.variables[signature.vararg.arg] = container(
            dict(enumerate(map(passed, extra))), arguments.more
        )
    if signature.kwarg is not None:
        names = {p.arg for p in (*positional, *signature.kwonlyargs)}
        rest: dict[ChildKey, Value] = {
            key: passed(value) for key, value in arguments.keywords.items() if key not in names
        }
        frame.variables[signature.kwarg.arg] = container(rest)


def _default(closure: Closure, parameter: ast.arg, interpreter: Interpreter) -> Value:
    default = default_of(closure.node.args, parameter)
    if default is None:
        return interpreter.fresh(parameter, closure.module)
    outside = closure.frame or Frame(closure.module, closure.scope, None)
    return interpreter.evaluate(default, outside)


def default_of(signature: ast.arguments, parameter: ast.arg) -> ast.expr | None:
    """The default of a parameter, as written."""
    positional = [*signature.posonlyargs, *signature.args]
    if parameter in positional:
        place = positional.index(parameter) - len(positional)
        return signature.defaults[place] if -place <= len(signature.defaults) else None
    if parameter in signature.kwonlyargs:
        return signature.kw_defaults[signature.kwonlyargs.index(parameter)]
    return None


def _write_back(
    closure: Closure, node: ast.AST, frame: Frame, caller: Frame, interpreter: Interpreter
) -> None:
    """What a function changed inside its arguments has changed for the caller too."""
    if not isinstance(node, ast.Call) or not frame.changed:
        return
    signature = closure.node.args
    names = [p.arg for p in (*signature.posonlyargs, *signature.args)]
    given: list[ast.expr] = list(node.args)
    if isinstance(node.func, ast.Attribute) and len(given) < len(names) and names[:1] == ["self"]:
        given.insert(0, node.func.value)
    for name, argument in zip(names, given, strict=False):
        if name in frame.changed and path_of(argument, caller) is not None:
            changed = frame.variables.get(name)
            if changed is not None:
                update(argument, partial(_become, changed), caller)


def _become(changed: Value, before: Value) -> Value:
    """What stands in a caller's variable once a function has changed it."""
    del before
    return changed


def run_as_entry(closure: Closure, interpreter: Interpreter, owner: Value | None = None) -> None:
    """Run a function with nothing known of its parameters but defaults and annotations.

    The functions inside it are run as entries behind it.
    """
    if not interpreter.enter(closure.node):
        return
    try:
        frame = _new_frame(closure)
        for name, value in _entry_parameters(closure, frame, interpreter):
            frame.variables[name] = value
        _bind_self(closure, frame, owner, interpreter)
        _outcome(closure, frame, interpreter)
        for inner in _functions_inside(closure):
            scope = closure.module.scopes.scope_of[closure.node]
            with interpreter.reach.under(Condition(inner)):
                run_as_entry(Closure(inner, closure.module, scope, frame), interpreter)
    finally:
        interpreter.leave()


def _functions_inside(closure: Closure) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    scopes = closure.module.scopes.scope_of
    here = scopes[closure.node]
    return [
        node
        for node, scope in scopes.items()
        if scope.parent is here and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def _entry_parameters(
    closure: Closure, frame: Frame, interpreter: Interpreter
) -> list[tuple[str, Value]]:
    signature = closure.node.args
    found: list[tuple[str, Value]] = []
    for parameter in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs):
        value = interpreter.fresh(parameter, closure.module)
        value = with_annotation(value, parameter.annotation, frame, interpreter)
        default = default_of(signature, parameter)
        if isinstance(default, ast.Constant) and default.value is None:
            note = f"{parameter.arg}=None by default"
            value = maybe_none(value, Evidence(closure.module.path, parameter.lineno, note))
        found.append((parameter.arg, value))
    if signature.vararg is not None:
        token = interpreter.fresh(signature.vararg, closure.module)
        item = with_annotation(token, signature.vararg.annotation, frame, interpreter)
        found.append((signature.vararg.arg, container({}, item)))
    if signature.kwarg is not None:
        found.append((signature.kwarg.arg, container({}, UNKNOWN)))
    return found


def _bind_self(
    closure: Closure, frame: Frame, owner: Value | None, interpreter: Interpreter
) -> None:
    scope = closure.scope
    signature = closure.node.args
    first = [*signature.posonlyargs, *signature.args][:1]
    if not first or not isinstance(scope.node, ast.ClassDef):
        return
    if has_decorator(closure, "staticmethod"):
        return
    value = owner or objects.instance_in(scope.node, closure.module, scope, interpreter)
    if has_decorator(closure, "classmethod"):
        value = objects.class_in(scope.node, closure.module, scope, interpreter)
    frame.variables[first[0].arg] = value


def has_decorator(closure: Closure, name: str) -> bool:
    """Whether a function has a decorator whose last name is `name`."""
    decorators = getattr(closure.node, "decorator_list", ())
    return any(getattr(d, "attr", getattr(d, "id", "")) == name for d in decorators)


def decorated(closure: Closure, interpreter: Interpreter, frame: Frame | None = None) -> Value:
    """A function's value once its decorators are applied."""
    value = referring(closure)
    for decorator in reversed(getattr(closure.node, "decorator_list", ())):
        if getattr(decorator, "attr", getattr(decorator, "id", "")) in _TRANSPARENT:
            continue
        outside = frame or Frame(closure.module, closure.scope, None)
        wrapper = interpreter.evaluate(decorator, outside)
        applied = apply(wrapper, Arguments((value,)), decorator, outside, interpreter)
        if applied.reference is not None:
            value = applied
    return value


def bind_item(target: ast.expr, iterated: Value, frame: Frame, interpreter: Interpreter) -> None:
    """Bind a loop's target to what any item of `iterated` is like."""
    if any(isinstance(key, str) for key in iterated.parts or {}):
        item = Value(none=Is.NO, inside=Is.NO, leaf=True)
    else:
        item = element(iterated) or UNKNOWN
    statements.assign(target, item, frame, interpreter)
