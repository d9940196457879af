"""Reads statements: what they bind, what they say of the names behind them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from jaxmigrate.analysis.placeholders.narrowing import bound_in, leaves, told, without
from jaxmigrate.analysis.placeholders.objects import PROPERTIES
from jaxmigrate.analysis.placeholders.operators import change_in_place, shrink
from jaxmigrate.analysis.placeholders.records import Annotation, Here
from jaxmigrate.analysis.placeholders.syntax import (
    catches,
    form_for,
    home_of,
    is_generator,
    key_at,
    leaves_early,
    suppresses,
    words_of,
)
from jaxmigrate.analysis.placeholders.things import (
    ANY,
    Arguments,
    Box,
    Class,
    Form,
    Node,
    Placeholder,
    Unseen,
    spot_of,
)
from jaxmigrate.analysis.project import Definition

if TYPE_CHECKING:
    from jaxmigrate.analysis.placeholders.reading import Reader

_COMPOUND: Final = (
    *(ast.If, ast.While, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Try, ast.TryStar),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Match),
)
_CACHES: Final = frozenset({"functools.lru_cache", "functools.cache"})
_HARMLESS_DECORATORS: Final = (PROPERTIES | _CACHES) | {
    "jax.named_scope",
    "builtins.staticmethod",
    "builtins.classmethod",
    "functools.wraps",
    "abc.abstractmethod",
    "typing.override",
    "typing.overload",
}


_CLASS_DECORATORS: Final = (
    *("abc.", "attr.", "attrs.", "chex.", "dataclasses.", "enum.", "equinox.", "flax.struct."),
    *("functools.", "jax.tree_util.", "jax_dataclasses.", "penzai.", "pytest.", "tjax."),
    *("typing.", "typing_extensions.", "unittest."),
)


def read_block(reader: Reader, body: Sequence[ast.stmt], here: Here) -> Here:
    """Read statements in turn; gives what is known behind them."""
    for statement in body:
        here = _statement(reader, statement, here)
    return here


def _statement(reader: Reader, node: ast.stmt, here: Here) -> Here:
    before = here.narrow
    disturbing = bool(before) and reader.disturbs(node, here)
    if disturbing and not isinstance(node, _COMPOUND):
        here = here.weakened(before)
    behind = _READERS.get(type(node), _other)(reader, node, here) or here
    if disturbing:
        behind = behind.weakened(before)
    if isinstance(node, ast.If) or not behind.narrow:
        return behind
    return replace(behind, narrow=without(behind.narrow, bound_in(node)))


def knowing(reader: Reader, here: Here, narrow: frozenset[str], *nodes: ast.AST) -> Here:
    """The same place with more known, which is not sure if something in `nodes` may change it."""
    here = here.knowing(narrow)
    if here.narrow and any(reader.disturbs(node, here) for node in nodes):
        return here.weakened(here.narrow)
    return here


def _assign(reader: Reader, node: ast.Assign, here: Here) -> None:
    value = reader.value(node.value, here, form_for(node.targets))
    for target in node.targets:
        assign(reader, target, value, here)


def _while(reader: Reader, node: ast.While, here: Here) -> None:
    inner = replace(here, narrow=without(here.narrow, bound_in(node)))
    inner = knowing(reader, inner, frozenset(), node)
    reader.truth(node.test, inner)
    known = told(node.test, reader.place(inner)).if_true
    read_block(reader, node.body, knowing(reader, inner, known, node.test))
    read_block(reader, node.orelse, inner)


def _for(reader: Reader, node: ast.For | ast.AsyncFor, here: Here) -> None:
    inner = replace(here, narrow=without(here.narrow, bound_in(node)))
    inner = knowing(reader, inner, frozenset(), node)
    items = reader.flow.node()
    reader.elements(reader.value(node.iter, here), items, here, node.iter)
    assign(reader, node.target, items, inner)
    read_block(reader, node.body, inner)
    read_block(reader, node.orelse, inner)


def _with(reader: Reader, node: ast.With | ast.AsyncWith, here: Here) -> None:
    for item in node.items:
        spot = spot_of(item.context_expr, here.module)
        reader.leave(reader.value(item.context_expr, here), spot, "used in a with")
        if item.optional_vars is not None:
            unseen = Unseen(spot, "a with")
            assign(reader, item.optional_vars, reader.flow.node(unseen), here)
    place = reader.place(here)
    catching = any(suppresses(item.context_expr, place) for item in node.items)
    read_block(reader, node.body, replace(here, trying=here.trying or catching))


def _try(reader: Reader, node: ast.Try | ast.TryStar, here: Here) -> Here:
    catching = any(catches(handler.type) for handler in node.handlers)
    catching = catching or leaves_early(node.finalbody)
    read_block(reader, node.body, replace(here, trying=here.trying or catching))
    here = replace(here, narrow=without(here.narrow, bound_in(node)))
    for handler in node.handlers:
        if handler.name:
            unseen = Unseen(spot_of(handler, here.module), "an exception")
            variable = reader.variable(home_of(here.scope, handler.name), handler.name)
            reader.flow.add(variable, unseen)
        read_block(reader, handler.body, here)
    read_block(reader, node.orelse, here)
    read_block(reader, node.finalbody, here)
    return here


def _assert(reader: Reader, node: ast.Assert, here: Here) -> Here:
    reader.truth(node.test, here)
    here = knowing(reader, here, told(node.test, reader.place(here)).if_true, node.test)
    if node.msg is not None:
        reader.value(node.msg, here)
    return here


def _expression(reader: Reader, node: ast.Expr, here: Here) -> None:
    reader.value(node.value, here)


def _delete(reader: Reader, node: ast.Delete, here: Here) -> None:
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            owner = reader.value(target.value, here)
            reader.strict(owner, here, target)
            reader.flow.listen(owner, lambda thing: shrink(reader, thing))


def _other(reader: Reader, node: ast.stmt, here: Here) -> None:
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr):
            value = reader.value(part, here)
            reader.leave(value, spot_of(node, here.module), words_of(node))
        elif isinstance(part, ast.match_case):
            _match_case(reader, part, here)


def _match_case(reader: Reader, case: ast.match_case, here: Here) -> None:
    for node in ast.walk(case.pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            unseen = Unseen(spot_of(case.pattern, here.module), "a match")
            reader.flow.add(reader.variable(home_of(here.scope, name), name), unseen)
    if case.guard is not None:
        reader.truth(case.guard, here)
    read_block(reader, case.body, here)


def _if(reader: Reader, node: ast.If, here: Here) -> Here:
    reader.truth(node.test, here)
    said = told(node.test, reader.place(here))
    then = read_block(reader, node.body, knowing(reader, here, said.if_true, node.test))
    other = read_block(reader, node.orelse, knowing(reader, here, said.if_false, node.test))
    if leaves(node.body, reader.place(here)):
        return replace(here, narrow=other.narrow, weak=other.weak)
    if leaves(node.orelse, reader.place(here)):
        return replace(here, narrow=then.narrow, weak=then.weak)
    return replace(here, narrow=then.narrow & other.narrow, weak=then.weak | other.weak)


def _return(reader: Reader, node: ast.Return, here: Here) -> None:
    if here.function is None:
        return
    results = reader.results(reader.functions[here.function])
    if node.value is not None:
        reader.flow.flow(reader.value(node.value, here, Form.RETURNED), results)
    else:
        spot = spot_of(node, here.module)
        reader.flow.add(results, Placeholder(spot, Form.IMPLICIT, node, here.module))


def _annotated(reader: Reader, node: ast.AnnAssign, here: Here) -> None:
    if node.value is not None:
        form = form_for([node.target])
        assign(reader, node.target, reader.value(node.value, here, form), here)
    if isinstance(node.target, ast.Name):
        variable = reader.variable(home_of(here.scope, node.target.id), node.target.id)
        reader.annotations.append(Annotation(node.annotation, here.module, here.scope, variable))


def _augmented(reader: Reader, node: ast.AugAssign, here: Here) -> None:
    value = reader.value(node.value, here)
    reader.strict(value, here, node)
    owner = reader.value(node.target, here)
    reader.strict(owner, here, node)
    joined = change_in_place(reader, owner, value, node, here)
    if not isinstance(node.target, ast.Subscript) or not isinstance(node.target.slice, ast.Slice):
        assign(reader, node.target, joined, here)


def _function(reader: Reader, node: ast.FunctionDef | ast.AsyncFunctionDef, here: Here) -> None:
    function = reader.signature(node, here)
    scope = here.module.scopes.scope_of[node]
    result = reader.results(function)
    if node.returns is not None:
        reader.annotations.append(Annotation(node.returns, here.module, here.scope, result))
    read_block(reader, node.body, Here(here.module, scope, function=node))
    if is_generator(node):
        reader.flow.add(result, Unseen(spot_of(node, here.module), f"the generator {node.name}()"))
    elif not leaves(node.body, reader.place(here)):
        last = node.body[-1]
        spot = spot_of(last, here.module)
        reader.flow.add(result, Placeholder(spot, Form.IMPLICIT, node, here.module))
    value = reader.flow.node(function)
    for decorator in reversed(node.decorator_list):
        value = _decorate(reader, decorator, value, here)
    reader.flow.flow(value, reader.variable(home_of(here.scope, node.name), node.name))


def _decorate(reader: Reader, decorator: ast.expr, value: Node, here: Here) -> Node:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = reader.project.name_of(called, here.scope, here.module) or ""
    if name in _CACHES:
        reader.hash_parameters(value, ast.Constant(None))
    if name in _HARMLESS_DECORATORS or name.startswith("pytest.mark"):
        return value
    result = reader.flow.node()
    function = reader.value(decorator, here)
    reader.call(function, Arguments((value,)), result, decorator, here)
    return result


def _class(reader: Reader, node: ast.ClassDef, here: Here) -> None:
    definition = Definition(here.module, node, here.scope)
    scope = here.module.scopes.scope_of[node]
    inner = Here(here.module, scope)
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign):
            _statement(reader, statement, inner)
    for own in reader.classes.facts(definition).fields:
        if own.scope is not scope:
            continue
        variable = reader.variable(scope, own.name)
        if own.annotation is not None:
            reader.annotations.append(Annotation(own.annotation, here.module, scope, variable))
        if own.default is None:
            continue
        if isinstance(own.default, ast.Call) and not hasattr(own.default, "lineno"):
            reader.call(reader.value(own.default.func, inner), Arguments(), variable, node, inner)
        else:
            is_tree = reader.classes.facts(definition).children is not None
            form = Form.BUILT if is_tree and not own.static else Form.ARGUMENT
            reader.flow.flow(reader.value(own.default, inner, form), variable)
    thing = reader.flow.node(Class(definition))
    for decorator in reversed(node.decorator_list):
        if not _is_about_class(reader, decorator, here):
            decorated = _decorate(reader, decorator, thing, here)
            reader.flow.flow(decorated, thing)
    reader.flow.flow(thing, reader.variable(home_of(here.scope, node.name), node.name))


def _is_about_class(reader: Reader, decorator: ast.expr, here: Here) -> bool:
    """Whether a decorator gives the class itself, and what it does is known."""
    if isinstance(decorator, ast.Call):
        name = reader.project.name_of(decorator.func, here.scope, here.module)
        inner = decorator.args[0] if decorator.args else decorator.func
        decorator = inner if name == "functools.partial" else decorator.func
    name = reader.project.name_of(decorator, here.scope, here.module) or ""
    return name.startswith(_CLASS_DECORATORS)


def assign(reader: Reader, target: ast.expr, value: Node, here: Here) -> None:
    """Bind a target to what is at a node."""
    if isinstance(target, ast.Name):
        reader.flow.flow(value, reader.variable(home_of(here.scope, target.id), target.id))
    elif isinstance(target, ast.Starred):
        assign(reader, target.value, value, here)
    elif isinstance(target, ast.Tuple | ast.List):
        reader.strict(value, here, target)
        starred = any(isinstance(item, ast.Starred) for item in target.elts)
        for index, item in enumerate(target.elts):
            part = reader.flow.node()
            reader.flow.load(value, ANY if starred else index, part)
            if isinstance(item, ast.Starred):
                box = Box("list", spot_of(item, here.module))
                reader.flow.flow(part, box.rest)
                part = reader.flow.node(box)
            assign(reader, item, part, here)
    elif isinstance(target, ast.Subscript):
        reader.key(target.slice, here)
        owner = reader.value(target.value, here)
        reader.strict(owner, here, target)
        if isinstance(target.slice, ast.Slice):
            reader.flow.listen(owner, lambda thing: shrink(reader, thing))
            items = reader.flow.node()
            reader.elements(value, items, here, target)
            value = items
        reader.note_stored(value)
        reader.store(owner, key_at(target.slice), value, spot_of(target, here.module))
    elif isinstance(target, ast.Attribute):
        owner = reader.value(target.value, here)
        reader.strict(owner, here, target)
        if getattr(here.function, "name", "") != "__init__":
            reader.note_stored(value)
        reader.store(owner, target.attr, value, spot_of(target, here.module))


_Reader: TypeAlias = Callable[["Reader", Any, Here], "Here | None"]
_READERS: Final[Mapping[type[ast.stmt], _Reader]] = {
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.If: _if,
    ast.While: _while,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Assert: _assert,
    ast.Expr: _expression,
    ast.Delete: _delete,
}
