"""Programs with migrations written by hand: what the judge and the saboteurs are tried with."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

HEAD = """
import jax
from functools import partial

_LOG = []

def _e(name, value):
    _LOG.append(name)
    return value

def _c(name, *args):
    _LOG.append(f"{name}{args!r}")
    return len(_LOG)

"""


@dataclass(frozen=True, slots=True)
class Pair:
    """A program before and after, by hand."""

    name: str
    before: str
    after: str
    depends: bool = True


def _pair(name: str, setup: str, before: str, after: str, *, depends: bool = True) -> Pair:
    setup = textwrap.indent(textwrap.dedent(setup).strip("\n"), "    ")

    def program(call: str) -> str:
        return f"{HEAD}\ndef main():\n{setup}\n    return {call}, _LOG\n"

    return Pair(name, program(before), program(after), depends)


IS_NONE = "is_leaf=lambda x: x is None"
TREES = '{"a": None, "b": 1, "c": 0}, {"a": 5, "b": 6, "c": None}'
PAIRS = (
    _pair(
        "a lambda",
        "",
        f'jax.tree.map(lambda p, g: _c("f", p, g), {TREES})',
        f'jax.tree.map(lambda p, g: None if p is None else _c("f", p, g), {TREES}, {IS_NONE})',
    ),
    _pair(
        "a star lambda",
        "",
        f'jax.tree.map(lambda *xs: _c("f", *xs), {TREES})',
        f'jax.tree.map(lambda *xs: None if xs[0] is None else _c("f", *xs), {TREES}, {IS_NONE})',
    ),
    _pair(
        "a name that the wrapper's parameter could take",
        'x = lambda p, g: _c("f", p, g)',
        f"jax.tree_map(x, {TREES})",
        f"jax.tree.map(lambda a, b: None if a is None else x(a, b), {TREES}, {IS_NONE})",
    ),
    _pair(
        "a factory",
        'make = lambda: _e("made", lambda p, g: _c("f", p, g))',
        f"jax.tree.map(make(), {TREES})",
        "jax.tree.map(lambda x, y, *, f=make(): None if x is None else f(x, y), "
        f"{TREES}, {IS_NONE})",
    ),
    _pair(
        "starred trees",
        f'first, *rest = [{TREES}]\ndef f(p, *xs): return _c("f", p, *xs)',
        "jax.tree.map(f, first, *rest)",
        f"jax.tree.map(lambda x, *xs: None if x is None else f(x, *xs), first, *rest, {IS_NONE})",
    ),
    _pair(
        "with a path",
        'def f(path, p, g): return _c("f", path, p, g)',
        f"jax.tree_util.tree_map_with_path(f, {TREES})",
        "jax.tree_util.tree_map_with_path("
        f"lambda path, x, y: None if x is None else f(path, x, y), {TREES}, {IS_NONE})",
    ),
    _pair(
        "with a path, all behind a star",
        "",
        f'jax.tree_util.tree_map_with_path(lambda *xs: _c("f", *xs), {TREES})',
        'jax.tree_util.tree_map_with_path(lambda *xs: None if xs[1] is None else _c("f", *xs), '
        f"{TREES}, {IS_NONE})",
    ),
    _pair(
        "a predicate that says no",
        "",
        'jax.tree.map(lambda p, g: _c("f", p, g), [None, (1, 2)], [3, (4, 5)], '
        "is_leaf=lambda n: isinstance(n, tuple))",
        'jax.tree.map(lambda p, g: None if p is None else _c("f", p, g), '
        "[None, (1, 2)], [3, (4, 5)], is_leaf=lambda n: n is None or isinstance(n, tuple))",
    ),
    _pair(
        "a predicate that cannot be told",
        "stop = {type(None): True, tuple: True}.get",
        'jax.tree.map(lambda p, g: _c("f", p, g), [None, (1, 2)], [3, (4, 5)], '
        "is_leaf=lambda n: stop(type(n), False))",
        "jax.tree.map(lambda p, g: None if p is None and not stop(type(p), False) "
        'else _c("f", p, g), '
        "[None, (1, 2)], [3, (4, 5)], is_leaf=lambda n: n is None or stop(type(n), False))",
        depends=False,
    ),
    _pair(
        "a predicate that may be None",
        "pred = None",
        'jax.tree.map(lambda p, g: _c("f", p, g), [None, 1], [3, 4], is_leaf=pred)',
        "jax.tree.map(lambda p, g: None if p is None and not (pred is not None and pred(p)) "
        'else _c("f", p, g), [None, 1], [3, 4], '
        "is_leaf=lambda n: n is None or (pred is not None and pred(n)))",
    ),
)
