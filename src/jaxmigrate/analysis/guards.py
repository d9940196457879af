"""How one tree-map call is guarded against None prefixes, decided on the syntax tree.

The result is a plan in words and names; building the new source from it is `rewriting.guard`'s part.
What the plan promises: on today's JAX the call gives what the old one gave on JAX 0.4.28, the callback
called on the same arguments in the same order, every part of the call evaluated once and in order.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from jaxmigrate.analysis.calls import TreeCall, tree_calls
from jaxmigrate.analysis.names import (
    callable_later,
    fresh,
    leaf_names,
    names_in,
)
from jaxmigrate.analysis.none_helpers import none_helper
from jaxmigrate.analysis.on_none import (
    NONE,
    Known,
    Outcome,
    Place,
    callable_on_none,
    definitions_of,
)

_STAR_NAMES: Final = ("xs", "rest", "others")
_PATH_NAMES: Final = ("path", "key_path")
_FUNCTION_NAMES: Final = ("f", "fn", "func")
_PREDICATE_NAMES: Final = ("pred", "is_leaf_", "predicate")
_NODE_NAMES: Final = ("x", "node", "n")


@dataclass(frozen=True, slots=True)
class Question:
    """How it is asked whether something is a placeholder, and what stands where it is one.

    Both are source text in which `{0}` stands for what is asked about.
    """

    test: str
    result: str

    def asked(self, name: str) -> str:
        """The test of `name`."""
        return self.test.format(name)

    @property
    def names(self) -> frozenset[str]:
        """The names that the test reads."""
        return names_in(ast.parse(self.asked("()"), mode="eval"))


IS_NONE: Final = Question("{0} is None", "None")
"""The placeholder is None."""


@dataclass(frozen=True, slots=True)
class LambdaGuard:
    """The guard goes into the callback's own body: `lambda p, g: <result> if <test> else <body>`."""

    test: str
    result: str = "None"


@dataclass(frozen=True, slots=True)
class WrapperGuard:
    """The callback is wrapped: `lambda <parameters>: <result> if <test> else <callback>(<arguments>)`.

    `default` names a keyword-only default that holds the callback; None calls it by its expression.
    """

    parameters: tuple[str, ...]
    test: str
    default: str | None
    result: str = "None"


@dataclass(frozen=True, slots=True)
class NewLeaf:
    """`is_leaf=<text>` is added, or takes the place of `is_leaf=None`."""

    text: str


@dataclass(frozen=True, slots=True)
class LambdaLeaf:
    """The predicate is a lambda: `<test> or` goes before its body."""

    test: str


@dataclass(frozen=True, slots=True)
class JoinedLeaf:
    """The predicate is joined: `lambda <node>: <test> or <predicate>(<node>)`.

    `default` as in `WrapperGuard`; `optional` says that the predicate may itself be None.
    """

    node: str
    default: str | None
    optional: bool
    test: str


TextOf: TypeAlias = Callable[[ast.expr, Sequence[ast.expr], str], str]
"""Gives an expression's source text, with the given parts of it replaced by another text."""

CallbackGuard: TypeAlias = LambdaGuard | WrapperGuard
LeafGuard: TypeAlias = NewLeaf | LambdaLeaf | JoinedLeaf


@dataclass(frozen=True, slots=True)
class Guard:
    """What to do to a call: the callback's part (None: it handles None itself) and the leaf's."""

    callback: CallbackGuard | None
    leaf: LeafGuard


@dataclass(frozen=True, slots=True)
class Unneeded:
    """None is a leaf already, so the callback already receives it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """No exact guard is known; `reason` says why, in words for the user."""

    reason: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The call itself needs nothing: what it calls is a site of its own."""

    reason: str


Plan: TypeAlias = Guard | Unneeded | Refused | Elsewhere


@dataclass(frozen=True, slots=True)
class _Predicate:
    """What is known of `is_leaf`: how it is joined, and the test that the guard needs besides.

    `unless` is source text that is true where the old rule called the callback on None all the same;
    empty where it never did.
    """

    leaf: LeafGuard
    unless: str = ""
    names: frozenset[str] = frozenset()


def plan_guard(
    call: TreeCall,
    place: Place,
    text_of: TextOf,
    *,
    several: bool,
    question: Question = IS_NONE,
) -> Plan:
    """Decide how `call` is to be guarded; `text_of` gives an expression's source text.

    `several` says that a partial is known to be called with several trees, `question` what the guard
    asks for.
    """
    refusal = _unreadable(call) or (None if several else _arity_unknown(call, place))
    refusal = refusal or _replaced_predicate(call, place)
    if refusal is not None:
        return refusal
    assert call.callback is not None
    predicate = _predicate(call, place, text_of, question)
    if not isinstance(predicate, _Predicate):
        return predicate
    if predicate.unless and question != IS_NONE:
        return Refused("what is_leaf gives for the placeholder cannot be told")
    if question == IS_NONE and not predicate.unless and _gives_none(call, place):
        return Guard(None, predicate.leaf)
    if isinstance(call.callback, ast.Lambda):
        inside = _lambda_guard(call.callback, call, predicate, question)
        if isinstance(inside, Refused):
            return inside
        if inside is not None:
            return Guard(inside, predicate.leaf)
    return Guard(_wrapper(call, place, predicate, question), predicate.leaf)


def _unreadable(call: TreeCall) -> Refused | Elsewhere | None:
    if call.callback is None and call.is_partial and not call.starred:
        return Elsewhere("the callback comes with the calls of the partial")
    if call.callback is None:
        return Refused("the callback comes out of a starred argument, so it cannot be guarded here")
    if call.rest_unknown:
        return Refused("**keywords may bring an is_leaf of their own")
    if call.callback is not None and call.bound.holds(call.callback):
        return Elsewhere("the callback is bound in a partial, which is where the guard goes")
    return None


def _arity_unknown(call: TreeCall, place: Place) -> Refused | Unneeded | None:
    """For a partial without trees: whether its callback tells that it maps several trees."""
    if not call.is_partial or call.trees or call.callback is None:
        return None
    functions = definitions_of(call.callback, place)
    decorated = any(getattr(function, "decorator_list", ()) for function, _ in functions)
    if not functions or decorated:
        return Refused("a partial of a tree map: how many trees it will get is not known here")
    most = max(_most_leaves(function.args, call.leading) for function, _ in functions)
    return Unneeded() if most < 2 else None


def _replaced_predicate(call: TreeCall, place: Place) -> Refused | None:
    """A partial that is called with an `is_leaf` of its own would lose the one bound with the guard."""
    if not call.is_partial:
        return None
    parent = place.module.scopes.parents.get(call.node)
    users = [parent] if isinstance(parent, ast.Call) and parent.func is call.node else []
    users += [
        other.node
        for other in tree_calls(place.module, place.project)
        if other.bound.partial is call.node
    ]
    if any(k.arg in ("is_leaf", None) for user in users for k in user.keywords):
        return Refused("a call of the partial brings an is_leaf of its own")
    return None


def _most_leaves(args: ast.arguments, leading: int) -> float:
    if args.vararg is not None:
        return float("inf")
    return len(args.posonlyargs) + len(args.args) - leading


def _gives_none(call: TreeCall, place: Place) -> bool:
    assert call.callback is not None
    functions = definitions_of(call.callback, place)
    fits = all(_takes(function.args, call) for function, _ in functions)
    return fits and callable_on_none(call.callback, place, call.leading) == NONE


def _predicate(
    call: TreeCall, place: Place, text_of: TextOf, question: Question
) -> _Predicate | Unneeded | Refused:
    given = call.is_leaf
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        helper = none_helper(place, call.node) if question == IS_NONE else None
        name = fresh(_NODE_NAMES, question.names)
        return _Predicate(NewLeaf(helper or f"lambda {name}: {question.asked(name)}"))
    outcome = callable_on_none(given, place.at(*call.home_of(given)))
    if isinstance(outcome, Known) and outcome.value:
        return Unneeded()
    if call.bound.holds(given):
        return Refused("is_leaf is bound in a partial; a new one here would replace it")
    if isinstance(given, ast.Lambda):
        return _lambda_predicate(given, outcome, text_of, question)
    return _other_predicate(given, outcome, call, place, text_of, question)


def _lambda_predicate(
    given: ast.Lambda, outcome: Outcome, text_of: TextOf, question: Question
) -> _Predicate | Refused:
    first = _first_leaf(given.args, 0)
    if first is None:
        return Refused("is_leaf takes no argument that could be tested")
    if _parameters(given.args) & question.names:
        return Refused("a parameter of is_leaf hides the name of the placeholder")
    leaf = LambdaLeaf(question.asked(first))
    if isinstance(outcome, Known):
        return _Predicate(leaf)
    body = _with_none(given, first, text_of)
    if body is None:
        return Refused("what is_leaf gives for None cannot be told; give it a name first")
    return _Predicate(leaf, body, names_in(given.body))


def _with_none(given: ast.Lambda, parameter: str, text_of: TextOf) -> str | None:
    """The predicate's body with None in its parameter's place, as text; None if that is not safe."""
    scoped = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    nodes = list(ast.walk(given.body))
    if any(isinstance(n, (*scoped, ast.NamedExpr, ast.JoinedStr)) for n in nodes):
        return None
    if given.args.defaults or given.args.kwonlyargs or given.args.vararg:
        return None
    uses = [n for n in nodes if isinstance(n, ast.Name) and n.id == parameter]
    text = text_of(given.body, uses, "None")
    return text if isinstance(given.body, ast.Call | ast.Name | ast.Attribute) else f"({text})"


def _other_predicate(
    given: ast.expr,
    outcome: Outcome,
    call: TreeCall,
    place: Place,
    text_of: TextOf,
    question: Question,
) -> _Predicate | Refused:
    by_name = callable_later(given, call.node, place, much_later=call.is_partial)
    node = fresh(_NODE_NAMES, (names_in(given) if by_name else frozenset()) | question.names)
    default = None if by_name else fresh(_PREDICATE_NAMES, (node, *question.names))
    test = question.asked(node)
    if isinstance(outcome, Known):
        return _Predicate(JoinedLeaf(node, default, optional=False, test=test))
    if not by_name:
        return Refused("what is_leaf gives for None cannot be told; bind it to a name first")
    optional = not isinstance(given, ast.Attribute) and _may_be_none(given, place)
    text = text_of(given, (), "")
    unless = f"({text} is not None and {text}(None))" if optional else f"{text}(None)"
    return _Predicate(JoinedLeaf(node, None, optional, test), unless, names_in(given))


def _may_be_none(given: ast.expr, place: Place) -> bool:
    """Whether a predicate's name may stand for None: unless it is certainly a function."""
    return not place.project.resolve(given, place.scope, place.module)


def _lambda_guard(
    callback: ast.Lambda, call: TreeCall, predicate: _Predicate, question: Question
) -> LambdaGuard | Refused | None:
    """The guard inside a lambda; None if its parameters would hide a name that the guard needs."""
    first = _first_leaf(callback.args, call.leading)
    if first is None or not _takes(callback.args, call):
        return Refused("the callback does not take as many arguments as the call passes")
    parameters = _parameters(callback.args)
    if predicate.unless and parameters & predicate.names:
        return None
    if parameters & question.names:
        return None
    return LambdaGuard(_test(first, predicate, question), question.result.format(first))


def _parameters(args: ast.arguments) -> set[str]:
    return {arg.arg for arg in ast.walk(args) if isinstance(arg, ast.arg)}


def _wrapper(
    call: TreeCall, place: Place, predicate: _Predicate, question: Question
) -> WrapperGuard:
    assert call.callback is not None
    by_name = callable_later(call.callback, call.node, place, much_later=call.is_partial)
    taken = (set(predicate.names) if predicate.unless else set()) | question.names
    if by_name:
        taken |= names_in(call.callback)
    path = [fresh(_PATH_NAMES, taken)] * call.leading
    taken.update(path)
    plain = [tree for tree in call.trees if not isinstance(tree, ast.Starred)]
    if call.starred or call.is_partial:
        leaves = leaf_names(1, taken)
        leaves.append("*" + fresh(_STAR_NAMES, taken | set(leaves)))
    else:
        leaves = leaf_names(len(plain), taken)
    taken.update(leaves)
    default = None if by_name else fresh(_FUNCTION_NAMES, taken)
    return WrapperGuard(
        (*path, *leaves),
        _test(leaves[0], predicate, question),
        default,
        question.result.format(leaves[0]),
    )


def _test(name: str, predicate: _Predicate, question: Question) -> str:
    if not predicate.unless:
        return question.asked(name)
    return f"{question.asked(name)} and not {predicate.unless}"


def _first_leaf(args: ast.arguments, leading: int) -> str | None:
    """The expression for argument `leading` (from 0) inside a function of this signature."""
    positional = [*args.posonlyargs, *args.args]
    if leading < len(positional):
        return positional[leading].arg
    if args.vararg is None:
        return None
    return f"{args.vararg.arg}[{leading - len(positional)}]"


def _takes(args: ast.arguments, call: TreeCall) -> bool:
    """Whether the signature can take what the call passes; starred trees may be any number."""
    positional = len(args.posonlyargs) + len(args.args)
    needed = positional - len(args.defaults)
    if any(default is None for default in args.kw_defaults):
        return False
    if call.starred or call.is_partial:
        return True
    passed = call.leading + len(call.trees)
    return needed <= passed and (args.vararg is not None or passed <= positional)
