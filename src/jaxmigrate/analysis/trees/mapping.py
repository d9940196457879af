"""What a tree map gives, and what met in it."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.on_none import (
    NONE,
    Known,
    callable_on_none,
    definitions_of,
    parameter_at,
)
from jaxmigrate.analysis.trees import invocation
from jaxmigrate.analysis.trees.meetings import children
from jaxmigrate.analysis.trees.references import Arguments, Frame, PartialMap
from jaxmigrate.analysis.trees.signs import none_test_of
from jaxmigrate.analysis.trees.values import (
    LEAF,
    MAX_DEPTH,
    UNKNOWN,
    BySetting,
    Is,
    Token,
    Value,
    another,
    element,
    holds_none,
    none,
    replace,
)
from jaxmigrate.model import Evidence

if TYPE_CHECKING:
    from jaxmigrate.analysis.trees.interpreter import Interpreter


def tree_map(call: TreeCall, frame: Frame, interpreter: Interpreter) -> Value:
    """The tree that a map gives; what it maps is noted."""
    if call.callback is None:
        return _all_starred(call, frame, interpreter)
    callback = _in_home(call.callback, call, frame, interpreter)
    trees = tuple(_settled(tree, interpreter) for tree in _trees(call, frame, interpreter))
    if call.is_leaf is not None:
        _in_home(call.is_leaf, call, frame, interpreter)
    if call.many:
        _see(call, trees, interpreter)
    if not trees:
        return UNKNOWN
    _mind_tested(call, trees, frame, interpreter)
    minds_none = none_is_leaf(call, frame, interpreter)
    if minds_none:
        note = f"{_words(call.trees[0])} is mapped with None as a leaf"
        interpreter.mind(trees[0], call.scope, Evidence(frame.module.path, call.node.lineno, note))
    asked = _Callback(callback, len(trees), call, frame, interpreter)
    return replace(_mapped(trees[0], asked, minds_none), minding=_minding(trees, minds_none))


def _minding(trees: tuple[Value, ...], minds_none: bool) -> frozenset[Token]:
    """The trees whose Nones were looked at in making a map of `trees`."""
    found = frozenset[Token]().union(*(tree.minding for tree in trees))
    first = trees[0].shape
    return found | {first} if minds_none and first is not None else found


def _settled(tree: Value, interpreter: Interpreter) -> Value:
    """A tree that is there or not by declaration, or by a setting, where a setting has it mapped.

    The setting says that it is there.
    """
    optional = tree.none is Is.MAYBE and (tree.source is None or isinstance(tree.source, BySetting))
    if not optional or not interpreter.reach.by_setting:
        return tree
    return replace(tree, none=Is.UNKNOWN, why=tree.why if tree.inside is Is.MAYBE else ())


def _mind_tested(
    call: TreeCall, trees: tuple[Value, ...], frame: Frame, interpreter: Interpreter
) -> None:
    """Later trees whose leaves the callback tests for None hold some; so do the trees in a display."""
    if call.callback is None or len(trees) < 2:
        return
    home = interpreter.place(frame).at(*call.home_of(call.callback))
    for function, place in definitions_of(call.callback, home):
        for position, tree in enumerate(trees[1:], start=1):
            name = parameter_at(function.args, call.leading + position)
            test = none_test_of(function, name) if name is not None else None
            if test is not None:
                note = f"a callback tests its leaf {name} for None"
                evidence = Evidence(place.module.path, test.lineno, note)
                for part in (tree, *(tree.parts or {}).values()):
                    interpreter.mind(part, call.scope, evidence)


def _see(call: TreeCall, trees: tuple[Value, ...], interpreter: Interpreter) -> None:
    """Note what met; where a partial brought the callback, at the partial as well."""
    interpreter.see(call, trees)
    if call.bound.partial is not None and call.bound.module is not None:
        bound = interpreter.tree_call(call.bound.partial, call.bound.module)
        if bound is not None:
            interpreter.see(bound, trees)


def call_partial(mapped: PartialMap, arguments: Arguments, interpreter: Interpreter) -> Value:
    """What calling a partial of a tree map gives."""
    bound = _trees(mapped.call, mapped.frame, interpreter)
    trees = (*bound, *arguments.args)
    if arguments.more is not None:
        trees = (*trees, arguments.more, arguments.more)
    if len(trees) > 1:
        interpreter.see(mapped.call, trees)
    if not trees or mapped.call.callback is None:
        return UNKNOWN
    callback = _in_home(mapped.call.callback, mapped.call, mapped.frame, interpreter)
    asked = _Callback(callback, len(trees), mapped.call, mapped.frame, interpreter)
    return _mapped(trees[0], asked, none_is_leaf(mapped.call, mapped.frame, interpreter))


def none_is_leaf(call: TreeCall, frame: Frame, interpreter: Interpreter) -> bool:
    """Whether a tree map takes None for a leaf."""
    if call.is_leaf is None:
        return False
    home = interpreter.place(frame).at(*call.home_of(call.is_leaf))
    outcome = callable_on_none(call.is_leaf, home)
    return isinstance(outcome, Known) and bool(outcome.value)


def _in_home(expr: ast.expr, call: TreeCall, frame: Frame, interpreter: Interpreter) -> Value:
    """Evaluate a part of the call where it stands, which for a bound one may be elsewhere."""
    if call.bound.holds(expr):
        return UNKNOWN
    return interpreter.evaluate(expr, frame)


def _all_starred(call: TreeCall, frame: Frame, interpreter: Interpreter) -> Value:
    """`tree_map(*args)`: the callback and the trees come out of one sequence."""
    values = _trees(call, frame, interpreter)
    if len(values) > 1:
        interpreter.see(call, values[1:])
    return UNKNOWN


def _trees(call: TreeCall, frame: Frame, interpreter: Interpreter) -> tuple[Value, ...]:
    values: list[Value] = []
    for tree in call.trees:
        if not isinstance(tree, ast.Starred):
            values.append(_in_home(tree, call, frame, interpreter))
            continue
        several = interpreter.evaluate(tree.value, frame)
        if several.parts is not None and several.rest is None:
            values.extend(several.parts.values())
        elif several.parts:
            values.extend(several.parts.values())
            values.append(another(several.rest or UNKNOWN))
        else:
            one = element(several) or UNKNOWN
            values.extend([one, another(one)])
    return tuple(values)


class _Callback:
    """A tree map's callback, asked once for what it gives for a leaf, and once for None."""

    def __init__(
        self, function: Value, trees: int, call: TreeCall, frame: Frame, interpreter: Interpreter
    ) -> None:
        self._function = function
        self._trees = trees
        self._call = call
        self._frame = frame
        self._interpreter = interpreter
        self._answers: dict[bool, Value] = {}
        self.token = interpreter.fresh(call.node, frame.module).shape

    def __call__(self, for_none: bool) -> Value:
        if for_none not in self._answers:
            first = none(None) if for_none else replace(LEAF, leaf=True)
            args = (*([LEAF] * self._call.leading), first, *([UNKNOWN] * (self._trees - 1)))
            if for_none and self._skips_none():
                answer = first
            elif self._function.reference is None:
                answer = UNKNOWN
            else:
                answer = invocation.apply(
                    self._function, Arguments(args), self._call.node, self._frame, self._interpreter
                )
            self._answers[for_none] = answer
        return self._answers[for_none]

    @property
    def nones(self) -> tuple[Evidence, ...]:
        """The evidence for a None in what it gives for a leaf."""
        given = self(False)
        return holds_none(given, partial(children, classes=self._interpreter.classes))

    def _skips_none(self) -> bool:
        """Whether the callback certainly answers None with None, as a guarded one does."""
        callback = self._call.callback
        if callback is None:
            return False
        home = self._interpreter.place(self._frame).at(*self._call.home_of(callback))
        return callable_on_none(callback, home, self._call.leading) == NONE


def _mapped(tree: Value, callback: _Callback, minds_none: bool, depth: int = MAX_DEPTH) -> Value:
    if tree.none is Is.YES:
        return callback(True) if minds_none else tree
    if tree.leaf and tree.reference is None:
        return _leaf_result(callback(False))
    if tree.parts is None or depth <= 0:
        return _mapped_unknown(tree, callback, minds_none)
    parts = {
        key: _mapped(part, callback, minds_none, depth - 1) for key, part in tree.parts.items()
    }
    rest = _mapped(tree.rest, callback, minds_none, depth - 1) if tree.rest is not None else None
    result = replace(tree, parts=parts, rest=rest, constant=None)
    return _none_answered(_shaped(result, tree, callback, minds_none), callback, minds_none)


def _leaf_result(answer: Value) -> Value:
    """What stands at a leaf's place: a leaf, unless the callback may give None or a tree."""
    known = answer.parts is not None or answer.none in (Is.YES, Is.MAYBE)
    return answer if known else LEAF


def _mapped_unknown(tree: Value, callback: _Callback, minds_none: bool) -> Value:
    why = callback.nones
    result = replace(tree, constant=None, leaf=False, reference=None)
    if why:
        result = replace(result, inside=Is.MAYBE, why=why)
    return _none_answered(_shaped(result, tree, callback, minds_none), callback, minds_none)


def _shaped(result: Value, tree: Value, callback: _Callback, minds_none: bool) -> Value:
    """A map that gives no None keeps the places of those there are; any map keeps at least them."""
    includes = tree.includes | ({tree.shape} if tree.shape is not None else set())
    gives_none = bool(callback.nones)
    if minds_none and callback(True).none is not Is.YES:
        return replace(result, shape=None, includes=frozenset())
    shape = tree.shape
    if gives_none and shape is not None:
        shape = ("Nones given to", shape, callback.token)
    return replace(result, shape=shape, includes=includes)


def _none_answered(result: Value, callback: _Callback, minds_none: bool) -> Value:
    """A value that may itself be None, once None was a leaf that the callback answered for.

    Where it answers None with None, the value may be None just as it may have been before.
    """
    if not minds_none or result.none is Is.NO:
        return result
    if callback(True).none in (Is.YES, Is.MAYBE):
        return result
    return replace(
        result, none=Is.NO, inside=Is.NO if result.parts is None else result.inside, why=()
    )


def _words(tree: ast.expr) -> str:
    text = ast.unparse(tree)
    return text if len(text) <= 40 else "the tree"
