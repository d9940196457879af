"""Reads expressions: the node of what each gives."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from jaxmigrate.analysis.placeholders.calling import read_call
from jaxmigrate.analysis.placeholders.methods import is_super, operators, read_super
from jaxmigrate.analysis.placeholders.namespaces import LOADED_MODULES, load_module
from jaxmigrate.analysis.placeholders.narrowing import (
    asked_for_none,
    bound_in,
    is_shaky,
    key_of,
    names_of,
    told,
    without,
)
from jaxmigrate.analysis.placeholders.objects import read_name
from jaxmigrate.analysis.placeholders.operators import combined, sliced
from jaxmigrate.analysis.placeholders.records import Asker, Here, Use
from jaxmigrate.analysis.placeholders.statements import assign, knowing
from jaxmigrate.analysis.placeholders.syntax import home_of, key_at, words_of
from jaxmigrate.analysis.placeholders.things import (
    LEAF,
    Box,
    Form,
    Node,
    Outside,
    Placeholder,
    Spot,
    Thing,
    Unseen,
    spot_of,
)
from jaxmigrate.analysis.scopes import all_parameters

if TYPE_CHECKING:
    from jaxmigrate.analysis.placeholders.reading import Reader


def read_value(reader: Reader, expr: ast.expr, here: Here, form: Form = Form.BOUND) -> Node:
    """The node of what an expression gives; `form` is what a None in its place would be."""
    node = _READERS.get(type(expr), _other)(reader, expr, here, form)
    known = isinstance(expr, ast.Name | ast.Subscript | ast.Attribute) and here.narrow
    if not known or key_of(expr) not in known:
        return node
    narrowed = reader.flow.node()
    reader.flow.flow_unless_placeholder(node, narrowed)
    key = key_of(expr)
    if key in here.weak:
        if any(is_shaky(name, here.scope, here.module) for name in names_of(key)):
            return node
        if not isinstance(expr, ast.Name):
            reader.flow_what_was_stored(node, narrowed)
    return narrowed


def _constant(reader: Reader, expr: ast.Constant, here: Here, form: Form) -> Node:
    if expr.value is not None:
        return reader.flow.node(LEAF)
    return reader.flow.node(Placeholder(spot_of(expr, here.module), form, expr, here.module))


def _name(reader: Reader, expr: ast.Name, here: Here, _form: Form) -> Node:
    return read_name(reader, expr.id, here.scope, here.module, expr)


def _attribute(reader: Reader, expr: ast.Attribute, here: Here, _form: Form) -> Node:
    if is_super(reader, expr.value, here):
        return read_super(reader, expr, here)
    result = reader.flow.node()
    owner = reader.value(expr.value, here)
    reader.strict(owner, here, expr)
    reader.attribute(owner, expr.attr, result, spot_of(expr, here.module))
    reader.flow.listen(owner, lambda thing: _asked_property(reader, thing, expr.attr, here))
    return result


def _asked_property(reader: Reader, thing: Thing, name: str, here: Here) -> None:
    """To read a property is to call it, from here."""
    if isinstance(thing, Box) and thing.cls is not None:
        found = reader.classes.method(thing.cls, name)
        if found is not None and isinstance(found[0].node, ast.FunctionDef):
            reader.called_from(found[0].node, here)


def _subscript(reader: Reader, expr: ast.Subscript, here: Here, _form: Form) -> Node:
    result = reader.flow.node()
    owner = reader.value(expr.value, here)
    reader.strict(owner, here, expr)
    reader.key(expr.slice, here)
    if isinstance(expr.slice, ast.Slice):
        sliced(reader, owner, result, expr, here)
    else:
        reader.flow.load(owner, key_at(expr.slice), result)
        reader.flow.listen(owner, lambda thing: _loaded(reader, thing, expr, result, here))
        reader.flow.listen(owner, lambda thing: _looked_up(reader, thing, expr, result, here))
    return result


def _loaded(reader: Reader, thing: Thing, expr: ast.Subscript, result: Node, here: Here) -> None:
    if isinstance(thing, Outside) and thing.name == LOADED_MODULES:
        load_module(reader, expr.slice, result, expr, here)


def _looked_up(reader: Reader, thing: Thing, expr: ast.Subscript, result: Node, here: Here) -> None:
    """`x[k]` of an object that is no NamedTuple is what its class says."""
    if isinstance(thing, Box) and thing.kind == "object" and not thing.positions:
        spot = spot_of(expr, here.module)
        reader.leave(reader.flow.node(thing), spot, "looked into by a method of its class")
        reader.flow.add(result, Unseen(spot, "a part of an object"))


def _slice(reader: Reader, expr: ast.Slice, here: Here, _form: Form) -> Node:
    for bound in (expr.lower, expr.upper, expr.step):
        if bound is not None:
            value = reader.value(bound, here)
            reader.shallow(value, spot_of(bound, here.module), "used as a bound of a slice")
    return reader.flow.node(LEAF)


def _conditional(reader: Reader, expr: ast.IfExp, here: Here, form: Form) -> Node:
    reader.truth(expr.test, here)
    said = told(expr.test, reader.place(here))
    result = reader.flow.node()
    then = knowing(reader, here, said.if_true, expr.test, expr.body)
    other = knowing(reader, here, said.if_false, expr.test, expr.orelse)
    body, orelse = reader.value(expr.body, then, form), reader.value(expr.orelse, other, form)
    reader.flow.flow(body, result)
    reader.flow.flow(orelse, result)
    asked = asked_for_none(expr.test)
    if asked is not None and form is Form.RETURNED and _is_parameter(asked[0], here):
        reader.stand_ins.append((reader.value(asked[0], here), body if asked[1] else orelse))
    return result


def _is_parameter(expr: ast.expr, here: Here) -> bool:
    """Whether an expression is a parameter, or the first of `*args`."""
    if here.function is None:
        return False
    if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant):
        expr = expr.value
    names = {parameter.arg for parameter in all_parameters(here.function.args)}
    return isinstance(expr, ast.Name) and expr.id in names


def _unary(reader: Reader, expr: ast.UnaryOp, here: Here, _form: Form) -> Node:
    if isinstance(expr.op, ast.Not):
        reader.truth(expr.operand, here)
    else:
        reader.strict(reader.value(expr.operand, here), here, expr)
    return reader.flow.node(LEAF)


def _call(reader: Reader, expr: ast.Call, here: Here, _form: Form) -> Node:
    return read_call(reader, expr, here)


def _lambda(reader: Reader, expr: ast.Lambda, here: Here, _form: Form) -> Node:
    function = reader.signature(expr, here)
    scope = here.module.scopes.scope_of[expr]
    body = reader.value(expr.body, Here(here.module, scope, function=expr), Form.RETURNED)
    reader.flow.flow(body, reader.results(function))
    return reader.flow.node(function)


def _walrus(reader: Reader, expr: ast.NamedExpr, here: Here, form: Form) -> Node:
    value = reader.value(expr.value, here, form)
    scope = home_of(here.scope.function, expr.target.id)
    reader.flow.flow(value, reader.variable(scope, expr.target.id))
    return value


def _other(reader: Reader, expr: ast.expr, here: Here, _form: Form) -> Node:
    for part in ast.iter_child_nodes(expr):
        if isinstance(part, ast.expr):
            value = reader.value(part, here)
            reader.leave(value, spot_of(expr, here.module), words_of(expr))
    text = isinstance(expr, ast.JoinedStr | ast.FormattedValue)
    unseen = Unseen(spot_of(expr, here.module), words_of(expr))
    return reader.flow.node(LEAF if text else unseen)


def read_truth(reader: Reader, expr: ast.expr, here: Here) -> None:
    """Read an expression that is asked whether it is true."""
    if isinstance(expr, ast.BoolOp):
        narrow = here
        for part in expr.values:
            reader.truth(part, narrow)
            said = told(part, reader.place(narrow))
            known = said.if_true if isinstance(expr.op, ast.And) else said.if_false
            narrow = knowing(reader, narrow, known, *expr.values)
    elif isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.Not):
        reader.truth(expr.operand, here)
    else:
        reader.truths.append(Use(reader.value(expr, here), spot_of(expr, here.module)))


def _bool(reader: Reader, expr: ast.BoolOp, here: Here, form: Form) -> Node:
    result = reader.flow.node()
    for part in expr.values[:-1]:
        value = reader.value(part, here, form)
        reader.truths.append(Use(value, spot_of(part, here.module)))
        if isinstance(expr.op, ast.Or):
            reader.flow.flow_unless_placeholder(value, result)
        else:
            reader.flow.flow(value, result)
        said = told(part, reader.place(here))
        known = said.if_true if isinstance(expr.op, ast.And) else said.if_false
        here = knowing(reader, here, known, *expr.values)
    reader.flow.flow(reader.value(expr.values[-1], here, form), result)
    return result


def _binary(reader: Reader, expr: ast.BinOp, here: Here, _form: Form) -> Node:
    values = tuple(reader.value(part, here) for part in (expr.left, expr.right))
    operators(reader, values, spot_of(expr, here.module))
    for value in values:
        reader.strict(value, here, expr)
        if isinstance(expr.op, ast.Mod):
            reader.leave(value, spot_of(expr, here.module), "put into text")
    return combined(reader, values, expr.op, expr, here)


def _compare(reader: Reader, expr: ast.Compare, here: Here, _form: Form) -> Node:
    asked = asked_for_none(expr)
    if asked is not None:
        operand, positive = asked
        node = reader.value(operand, here)
        reader.askers.append(Asker(expr, here.module, node, positive))
        return reader.flow.node(LEAF)
    sides = [expr.left, *expr.comparators]
    spot = spot_of(expr, here.module)
    values = [reader.value(side, here, Form.ARGUMENT) for side in sides]
    operators(reader, values, spot)
    for index, op in enumerate(expr.ops):
        one, other = values[index : index + 2]
        if isinstance(op, ast.Eq | ast.NotEq):
            constants = (s for s in sides[index : index + 2] if isinstance(s, ast.Constant))
            reader.equal(one, other, spot, by_array=all(c.value is None for c in constants))
        elif isinstance(op, ast.In | ast.NotIn):
            reader.leave_key(one, spot, "looked for in something")
            reader.strict(other, here, expr)
            reader.flow.listen(other, lambda t: _looked_in(reader, t, spot))
        elif isinstance(op, ast.Is | ast.IsNot):
            for value in (one, other):
                reader.shallow(value, spot, "compared by is")
        else:
            for value in (one, other):
                reader.strict(value, here, expr)
                reader.flow.listen(value, lambda t: _ordered(reader, t, spot))
    return reader.flow.node(LEAF)


def _ordered(reader: Reader, thing: Thing, spot: Spot) -> None:
    """`<` of sequences compares their parts."""
    if isinstance(thing, Box):
        reader.leave(reader.flow.node(thing), spot, "compared by order")


def _looked_in(reader: Reader, thing: Thing, spot: Spot) -> None:
    """`x in t` compares the items of a sequence, the keys of a dictionary."""
    if isinstance(thing, Box) and thing.kind != "dict":
        reader.leave(reader.flow.node(thing), spot, "looked into by in")


def _dict(reader: Reader, expr: ast.Dict, here: Here, _form: Form) -> Node:
    empty = None if expr.keys else "{}"
    box = Box("dict", spot_of(expr, here.module), empty=empty, shrinks=not expr.keys)
    result = reader.flow.node()
    for key, item in zip(expr.keys, expr.values, strict=True):
        if key is None:
            source = reader.value(item, here)
            reader.strict(source, here, expr)
            reader.flow.flow(source, result)
            reader.merge(source, box)
            continue
        reader.key(key, here)
        reader.flow.flow(reader.value(item, here, Form.BUILT), box.field(key_at(key)))
    return reader.flow.node(box)


def _sequence(
    reader: Reader, expr: ast.List | ast.Tuple | ast.Set, here: Here, _form: Form
) -> Node:
    kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(expr)]
    empty = "()" if kind == "tuple" and not expr.elts else None
    box = Box(kind, spot_of(expr, here.module), empty=empty)
    starred = any(isinstance(item, ast.Starred) for item in expr.elts)
    for index, item in enumerate(expr.elts):
        if isinstance(item, ast.Starred):
            reader.elements(reader.value(item.value, here), box.rest, here, item)
        else:
            node = box.rest if starred else box.field(index)
            value = reader.value(item, here, Form.BUILT)
            reader.flow.flow(value, node)
            if kind == "set":
                reader.leave_key(value, spot_of(item, here.module), "put into a set")
    return reader.flow.node(box)


def _comprehension(
    reader: Reader,
    expr: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
    here: Here,
    _form: Form,
) -> Node:
    scope = here.module.scopes.scope_of[expr]
    inner = replace(here, scope=scope)
    for index, generator in enumerate(expr.generators):
        items = reader.flow.node()
        source = reader.value(generator.iter, here if index == 0 else inner)
        reader.elements(source, items, here, generator.iter)
        names = bound_in(generator.target)
        inner = replace(inner, narrow=without(inner.narrow, names))
        assign(reader, generator.target, items, inner)
        for condition in generator.ifs:
            reader.truth(condition, inner)
            known = told(condition, reader.place(inner)).if_true
            inner = knowing(reader, inner, known, expr)
    kind = "dict" if isinstance(expr, ast.DictComp) else "list"
    box = Box(kind, spot_of(expr, here.module))
    if isinstance(expr, ast.DictComp):
        reader.key(expr.key, inner)
        item = expr.value
    else:
        item = expr.elt
    value = reader.value(item, inner, Form.BUILT)
    reader.flow.flow(value, box.rest)
    if isinstance(expr, ast.SetComp):
        reader.leave_key(value, spot_of(item, here.module), "put into a set")
    return reader.flow.node(box)


_Reader: TypeAlias = Callable[["Reader", Any, Here, Form], Node]
_READERS: Final[Mapping[type[ast.expr], _Reader]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Dict: _dict,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.IfExp: _conditional,
    ast.BoolOp: _bool,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.Call: _call,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
}
