"""Takes one rule at a time out of the engine itself, and programs in which the rule is needed.

A rule is left out by putting something simpler in the place of the function that holds it. The
programs that the generator writes are tried first where it meets a rule often; `program` is one
written by hand where it meets it rarely.
"""

from __future__ import annotations

import ast
import dataclasses
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import libcst as cst
import pytest

from jaxmigrate.analysis import fallbacks, guards, handrolled, names, none_helpers, on_none
from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.rewriting import guard, splice
from tests.semantics.pairs import HEAD

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: how to leave it out, which forms of the generator need it, a program by hand.

    `by_gate` says that the engine's own gates stop what comes of leaving it out.
    """

    leave_out: Callable[[Patch], None]
    features: tuple[str, ...] = ()
    program: str = ""
    by_gate: bool = False

    @property
    def name(self) -> str:
        return self.leave_out.__name__


RULES: dict[str, Rule] = {}


def rule(
    *features: str, setup: str = "", call: str = "", module: str = "", by_gate: bool = False
) -> Callable[[Callable[[Patch], None]], None]:
    """Register the decorated function; `call` is what a program by hand returns, after `setup`."""

    def note(leave_out: Callable[[Patch], None]) -> None:
        program = _program(module, setup, call) if call else ""
        RULES[leave_out.__name__] = Rule(leave_out, features, program, by_gate)

    return note


def _program(module: str, setup: str, call: str) -> str:
    head = HEAD + textwrap.dedent(module)
    body = textwrap.indent(textwrap.dedent(setup).strip("\n"), "    ")
    return f"{head}\n\ndef main():\n{body}\n    return {call}, _LOG\n"


TREES = '{"a": None, "b": 1, "c": 0}, {"a": 5, "b": 6, "c": None}'


# --- callbacks


@rule("callback")
def what_is_no_plain_name_is_evaluated_once(patch: Patch) -> None:
    patch.setattr(guards, "callable_later", lambda *_: True)


@rule(
    setup=f"""
    class Table:
        step = lambda p, g: _c("f", p, g)
        out = jax.tree.map(step, {TREES})
    """,
    call="Table.out",
)
def a_class_body_hides_its_names(patch: Patch) -> None:
    patch.setattr(names, "_name_stays", lambda *_: True)


@rule(
    module="""
    class Trainer:
        @property
        def step(self):
            return _e("read", lambda p, g: _c("f", p, g))

        def update(self, a, b):
            return jax.tree.map(self.step, a, b)
    """,
    call=f"Trainer().update({TREES})",
)
def a_property_is_no_method(patch: Patch) -> None:
    patch.setattr(names, "_has_plain_method", lambda *_: True)


@rule(setup='x = lambda p, g: _c("f", p, g)', call=f"jax.tree.map(x, {TREES})")
def names_of_the_callback_are_not_captured(patch: Patch) -> None:
    patch.setattr(guards, "fresh", lambda wanted, _: next(iter(wanted)))
    patch.setattr(names, "fresh", lambda wanted, _: next(iter(wanted)))


@rule(
    setup="""
    x = {type(None): True}
    g = lambda n: x.get(type(n), False)
    """,
    call=f'jax.tree.map(lambda p, g: _c("f", p, g), {TREES}, is_leaf=g)',
)
def names_of_the_predicate_are_not_captured(patch: Patch) -> None:
    patch.setattr(guards, "names_in", lambda *_: frozenset())


@rule("callback")
def a_callback_that_gives_something_for_none_is_guarded(patch: Patch) -> None:
    patch.setattr(guards, "_gives_none", lambda *_: True)


@rule(
    setup="""
    def f(p, g):
        _e("called", p)
        if p is None:
            return None
        return _c("f", p, g)
    """,
    call=f"jax.tree.map(f, {TREES})",
)
def an_effect_before_none_is_minded_is_seen(patch: Patch) -> None:
    patch.setattr(on_none, "_is_docstring", lambda s: isinstance(s, ast.Expr))


@rule(
    module="""
    def loud(f):
        return lambda *xs: _e("called", f(*xs))
    """,
    setup="""
    @loud
    def f(p, g):
        return None if p is None else _c("f", p, g)
    """,
    call=f"jax.tree.map(f, {TREES})",
)
def a_decorated_callback_is_not_read(patch: Patch) -> None:
    def call(
        function: ast.expr, position: int, place: on_none.Place, calls: int
    ) -> on_none.Outcome:
        for node, home in on_none.definitions_of(function, place):
            return on_none._body(node, position, home, calls)
        return on_none.UNKNOWN

    patch.setattr(on_none, "_call", call)


# --- where the guard asks


@rule("callback:lambda_plain", "callback")
def the_guard_asks_the_first_leaf(patch: Patch) -> None:
    first = guards._first_leaf
    patch.setattr(
        guards,
        "_first_leaf",
        lambda args, leading: first(args, leading + 1) or first(args, leading),
    )


@rule(
    setup='f = lambda path, p, g: _c("f", path, p, g)',
    call=f"jax.tree_util.tree_map_with_path(lambda *xs: f(*xs), {TREES})",
)
def the_path_comes_first(patch: Patch) -> None:
    first = guards._first_leaf
    patch.setattr(guards, "_first_leaf", lambda args, _: first(args, 0))


@rule(
    setup='f = lambda path, p, g: _c("f", path, p, g)',
    call=f"jax.tree_util.tree_map_with_path(f, {TREES})",
)
def a_wrapper_takes_the_path_first(patch: Patch) -> None:
    wrapper = guards._wrapper

    def blind(*args: Any) -> guards.WrapperGuard:
        made = wrapper(*args)
        return dataclasses.replace(made, test=f"{made.parameters[0]} is None")

    patch.setattr(guards, "_wrapper", blind)


@rule(
    setup=f'f = lambda *xs: _c("f", *xs)\ntrees = [{TREES}]',
    call="jax.tree.map(f, *trees)",
)
def starred_trees_take_a_star(patch: Patch) -> None:
    wrapper = guards._wrapper

    def blind(*args: Any) -> guards.WrapperGuard:
        made = wrapper(*args)
        bare = tuple(name for name in made.parameters if not name.startswith("*"))
        return dataclasses.replace(made, parameters=bare)

    patch.setattr(guards, "_wrapper", blind)


@rule("callback", by_gate=True)
def none_becomes_a_leaf(patch: Patch) -> None:
    joined = guard._with_leaf

    def blind(call: cst.Call, leaf: Any) -> cst.Call:
        return call if isinstance(leaf, guards.NewLeaf) else joined(call, leaf)

    patch.setattr(guard, "_with_leaf", blind)


# --- predicates


@rule("is_leaf:unknown")
def an_unknown_predicate_is_asked(patch: Patch) -> None:
    predicate = guards._predicate

    def blind(*args: Any) -> Any:
        found = predicate(*args)
        if isinstance(found, guards._Predicate):
            return dataclasses.replace(found, unless="", names=frozenset())
        return found

    patch.setattr(guards, "_predicate", blind)


@rule("is_leaf:lambda_none_is_leaf", "is_leaf:named_none_is_leaf", by_gate=True)
def a_call_with_none_a_leaf_is_left_alone(patch: Patch) -> None:
    patch.setattr(guards, "callable_on_none", lambda *_: on_none.Known(False))


@rule("is_leaf:parameter")
def a_predicate_may_be_none(patch: Patch) -> None:
    patch.setattr(guards, "_may_be_none", lambda *_: False)


@rule("is_leaf:isinstance_lambda", "is_leaf:named_other")
def the_predicate_is_kept(patch: Patch) -> None:
    none = cst.parse_expression("lambda x: x is None")
    patch.setattr(guard, "_joined", lambda *_: none)


@rule("is_leaf:isinstance_lambda", "is_leaf:lambda_no_on_none", by_gate=True)
def the_predicate_is_joined(patch: Patch) -> None:
    patch.setattr(guard, "_joined", lambda given, _: given)


@rule(
    setup="options = {'is_leaf': lambda n: isinstance(n, tuple)}",
    call='jax.tree.map(lambda p, g: _c("f", p, g), [None, (1, 2)], [3, (4, 5)], **options)',
)
def keywords_may_bring_a_predicate(patch: Patch) -> None:
    unreadable = guards._unreadable

    def blind(call: TreeCall) -> Any:
        return unreadable(dataclasses.replace(call, rest_unknown=False))

    patch.setattr(guards, "_unreadable", blind)


@rule(
    setup="kinds = tuple",
    call='jax.tree.map(lambda p, g: _c("f", p, g), [None, (1,)], [3, (4,)], '
    "is_leaf=lambda n, kinds=(type(None),): isinstance(n, kinds))",
)
def a_default_of_the_predicate_is_not_seen_from_the_guard(patch: Patch) -> None:
    def blind(given: ast.Lambda, parameter: str, text_of: guards.TextOf) -> str:
        uses = [n for n in ast.walk(given.body) if isinstance(n, ast.Name) and n.id == parameter]
        return f"({text_of(given.body, uses, 'None')})"

    patch.setattr(guards, "_with_none", blind)


# --- partials


@rule(
    setup="mapped = partial(jax.tree.map, is_leaf=lambda n: isinstance(n, tuple))",
    call='mapped(lambda p, g: _c("f", p, g), [None, (1, 2)], [3, (4, 5)])',
)
def a_bound_predicate_is_not_replaced(patch: Patch) -> None:
    predicate = guards._predicate

    def blind(call: TreeCall, *others: Any) -> Any:
        if call.is_leaf is not None and call.bound.holds(call.is_leaf):
            call = dataclasses.replace(call, is_leaf=None)
        return predicate(call, *others)

    patch.setattr(guards, "_predicate", blind)


@rule(
    setup='mapped = partial(jax.tree.map, lambda p, g: _c("f", p, g))',
    call="mapped([None, (1, 2)], [3, (4, 5)], is_leaf=lambda n: isinstance(n, tuple))",
)
def a_call_of_the_partial_may_bring_a_predicate(patch: Patch) -> None:
    patch.setattr(guards, "_replaced_predicate", lambda *_: None)


# --- helpers


@rule("callback", by_gate=True)
def a_helper_says_whether_it_is_none(patch: Patch) -> None:
    patch.setattr(none_helpers, "tests_for_none", lambda _: True)


@rule(
    setup=f"""
    out = jax.tree.map(lambda p, g: _c("f", p, g), {TREES})
    is_none = lambda x: x is None
    """,
    call="out",
)
def a_helper_is_bound_by_then(patch: Patch) -> None:
    patch.setattr(none_helpers, "_is_bound_by_then", lambda *_: True)


# --- fallbacks and maps by hand

FALLBACK = """
f = lambda p, g: _c("f", p, g)
a, b, c = [None, 1], [2, 3], [2, 4]
try:
    out = jax.tree.map(f, a, b)
except ValueError as error:
    if "Expected None" not in str(error):
        raise
    out = jax.tree.map({}, a, {}, is_leaf=lambda x: x is None)
"""


@rule(
    setup=FALLBACK.format("lambda x, y: None if x is None else f(x, y)", "c"),
    call="out",
)
def a_fallback_maps_the_same_trees(patch: Patch) -> None:
    patch.setattr(fallbacks, "_problem", lambda *_: None)


MINDFUL = FALLBACK.replace('_c("f", p, g)', '0 if p is None else _c("f", p, g)')


@rule(setup=MINDFUL.format("f", "b"), call="out")
def a_fallback_gives_none_for_none(patch: Patch) -> None:
    asked = on_none.callable_on_none

    def blind(function: ast.expr, place: on_none.Place, *position: int) -> on_none.Outcome:
        return on_none.NONE if position else asked(function, place)

    patch.setattr(fallbacks, "callable_on_none", blind)


BY_HAND = """
leaves, treedef = jax.tree_util.tree_flatten([None, 1, 0])
others = treedef.flatten_up_to([4, 5, 6])
"""
MADE = "treedef.unflatten([_c('f', x, y) for x, y in zip(leaves, others)])"


@rule(setup=BY_HAND, call=f"({MADE}, len(leaves))")
def leaves_may_be_used_elsewhere(patch: Patch) -> None:
    uses = handrolled._Reader._uses
    patch.setattr(handrolled._Reader, "_uses", lambda self, name: uses(self, name)[:1])


@rule(setup=BY_HAND, call=MADE)
def the_first_of_the_zip_is_the_leaf(patch: Patch) -> None:
    patch.setattr(handrolled._Reader, "_test", lambda *_: "y is None")


# --- nested calls


@rule("nested:first", "nested:later", "nested:callback", by_gate=True)
def inner_calls_are_mended_first(patch: Patch) -> None:
    patch.setattr(splice, "splice", lambda text, span, _: text[span.start : span.end])


@rule("is_leaf:isinstance_lambda", "is_leaf:named_other", "is_leaf:lambda_no_on_none")
def another_predicate_does_not_make_none_a_leaf(patch: Patch) -> None:
    patch.setattr(guards, "callable_on_none", lambda *_: on_none.Known(True))
