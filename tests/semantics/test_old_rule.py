"""Holds `old_rule` against JAX 0.4.28 itself."""

from __future__ import annotations

import textwrap

import jax
import pytest

from tests.semantics import oracle
from tests.semantics.judge import Outcome, run, run_old
from tests.semantics.old_rule import old_jax, old_names
from tests.semantics.programs import seeded

PROGRAMS = 300


def program(expression: str) -> str:
    """A program that gives the value of `expression`, in which `record` is a callback that logs."""
    return textwrap.dedent(
        f"""
        import jax, jax.tree, jax.tree_util
        from jax.tree_util import tree_flatten, tree_map, tree_structure

        calls = []

        def record(*xs):
            calls.append(xs)
            return len(calls)

        def main():
            return {expression}, calls
        """
    )


def test_programs_give_what_jax_0_4_28_gives() -> None:
    if reason := oracle.unsupported():
        pytest.skip(reason)
    sources = [seeded(seed).source for seed in range(PROGRAMS)]
    wrong = []
    for source, answer in zip(sources, oracle.run_all(sources), strict=True):
        real, ours = Outcome(*answer), run_old(source)
        if not ours.same_as(real):
            wrong.append(f"{source}\n--- JAX 0.4.28 gave\n{real}\n--- old_rule gave\n{ours}")
    assert not wrong, "\n\n".join(wrong[:3])


EXPRESSIONS = (
    'tree_map(record, {"b": None}, {"b": 5})',
    "tree_map(record, None, {'anything': 1})",
    "tree_map(record, None)",
    "tree_map(record, [None, 1], [None, 2], [(3, 4), 5])",
    "tree_map(record, {'a': None, 'b': ()}, {'a': 1, 'b': None})",
    "tree_map(record, (None, 1), (2, 3), is_leaf=lambda n: n is None)",
    "tree_map(record, (None, (1, 2)), (2, 3), is_leaf=lambda n: n == (1, 2))",
    "tree_map(record, (None, 1), [2, 3])",
    "tree_map(record, (None, 1), (2,))",
    "tree_map(record, (1, 2), 3)",
    "tree_map(record, (1, 2), None)",
    "tree_map(record, {}, None)",
    "tree_map(record, {'a': 1}, {'a': None})",
    "tree_map(record, {'a': None}, {'b': 1})",
    "tree_map(record, tree={'a': None})",
    "tree_map(record)",
    "tree_map(record, [1, None], [1, 2], is_leaf=lambda n: 1)",
    "jax.tree.map(lambda x: None if x else x, [0, 1, None])",
    "jax.tree_util.tree_map_with_path(record, {'a': None, 'b': [1]}, {'a': [1], 'b': [2]})",
    "jax.tree_util.tree_map_with_path(record, None, 1)",
    "jax.tree_util.tree_map_with_path(record, 1, [1])",
    "jax.tree_util.tree_map_with_path(record, [], [])",
    "tree_structure({'a': None, 'b': 1}).flatten_up_to({'a': 5, 'b': [6]})",
    "tree_structure(None).flatten_up_to(5)",
    "tree_structure((1, [])).flatten_up_to((5, None))",
    "tree_flatten([None, 1])[1].unflatten([2])",
    "jax.tree_map(record, [None, 1], [2, 3])",
    "jax.tree_multimap(record, [None, 1], [2, 3])",
    "jax.tree_leaves([None, 1]), jax.tree_structure([None, 1]) == tree_structure([None, 2])",
    "jax.tree_unflatten(jax.tree_flatten([None, 1])[1], [2])",
)


def test_single_calls_give_what_jax_0_4_28_gives() -> None:
    if reason := oracle.unsupported():
        pytest.skip(reason)
    sources = [program(expression) for expression in EXPRESSIONS]
    answers = [Outcome(*answer) for answer in oracle.run_all(sources)]
    ours = [run_old(source) for source in sources]
    pairs = zip(EXPRESSIONS, ours, answers, strict=True)
    assert not [(text, str(a), str(b)) for text, a, b in pairs if not a.same_as(b)]


def test_broadcast_has_too_few_leaves_where_none_is_the_prefix() -> None:
    # 0.4.28 had no tree_broadcast; its broadcast_prefix gave a None prefix no leaves.
    with old_jax():
        assert jax.tree.broadcast([1, 2], [(3, 4), 5]) == [(1, 1), 2]
        assert jax.tree.broadcast(None, None) is None
        with pytest.raises(ValueError, match="Too few leaves"):
            jax.tree.broadcast([None, 2], [(3, 4), 5])


def test_the_installed_jax_is_as_before_outside() -> None:
    before = {module: dict(vars(module)) for module in (jax, jax.tree, jax.tree_util)}
    flatten_up_to = jax.tree_util.PyTreeDef.flatten_up_to
    for manager in (old_jax, old_names):
        with manager():
            assert jax.tree_map is jax.tree_util.tree_multimap  # type: ignore[attr-defined]
    assert all(dict(vars(module)) == names for module, names in before.items())
    assert jax.tree_util.PyTreeDef.flatten_up_to is flatten_up_to
    assert run(program("jax.tree.map(record, [None], [1])")).raised == "ValueError"
    assert run(program("jax.tree_map(record, [None], [1])")).raised == "AttributeError"


def test_the_old_rule_holds_for_names_imported_inside() -> None:
    assert run_old(program("tree_map(record, [None, 2], [1, 3])")).text == "([None, 1], [(2, 3)])"
