"""What `jaxmigrate.trees` says of two trees, and what it needs to say it."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import jax
import pytest

from jaxmigrate.trees import Mismatch, explain_mismatch, is_none_safe_pair, none_positions_match

Skip = namedtuple("Skip", "")


@jax.tree_util.register_pytree_node_class
class Long:
    """A node with a child and much other data."""

    def __init__(self, data: str) -> None:
        self.data = data

    def tree_flatten(self) -> tuple[tuple[int], str]:
        return (1,), self.data

    @classmethod
    def tree_unflatten(cls, data: str, children: object) -> Long:
        del children
        return cls(data)


def words(a: Any, b: Any) -> list[str]:
    return [str(mismatch) for mismatch in explain_mismatch(a, b)]


def test_a_none_opposite_a_value_is_for_none_prefix() -> None:
    assert words({"a": [1, None]}, {"a": [1, 5]}) == [
        "['a'][1]: None opposite leaf of type int; none-prefix mends it"
    ]


@pytest.mark.parametrize("second", [5, {"a": 1}])
def test_a_none_at_the_root_counts(second: Any) -> None:
    (mismatch,) = explain_mismatch(None, second)
    assert (mismatch.key_path, mismatch.codemod) == ("", "none-prefix")
    assert str(mismatch).startswith("the root: None opposite ")


def test_a_none_opposite_a_sentinel_is_for_sentinel_placeholders_from_either_side() -> None:
    cure = "sentinel-placeholders"
    assert explain_mismatch({"b": None}, {"b": Skip()}) == (
        Mismatch("['b']", "None", "empty Skip", cure),
    )
    assert explain_mismatch({"b": ()}, {"b": None}) == (
        Mismatch("['b']", "empty tuple", "None", cure),
    )


def test_two_sentinels_of_different_kinds_are_two_structures() -> None:
    assert words([()], [{}]) == ["[0]: empty tuple opposite empty dict; the structures differ"]


@pytest.mark.parametrize("second", [None, 5, {"deeper": [1, None]}])
def test_anything_may_stand_opposite_a_leaf(second: Any) -> None:
    assert is_none_safe_pair([1], [second])
    assert explain_mismatch([1], [second]) == ()


def test_a_none_opposite_a_container_was_an_error_before() -> None:
    assert [m.codemod for m in explain_mismatch({"a": [1]}, {"a": None})] == [None]


def test_missing_keys_are_places_and_the_rest_is_compared() -> None:
    assert words({"a": 1, "b": None}, {"b": 2, "c": 3}) == [
        "['a']: leaf of type int opposite nothing; the structures differ",
        "['b']: None opposite leaf of type int; none-prefix mends it",
        "['c']: nothing opposite leaf of type int; the structures differ",
    ]


def test_the_order_of_a_dict_is_no_difference_and_that_of_an_ordered_one_is() -> None:
    assert not words({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert words(OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)) == [
        "the root: OrderedDict of ['a'], ['b'] opposite OrderedDict of ['b'], ['a'];"
        " the structures differ"
    ]


def test_the_default_of_a_dict_is_a_difference() -> None:
    assert words(defaultdict(list, a=1), defaultdict(int, a=1)) == [
        "the root: defaultdict of ['a'] by <class 'list'> opposite"
        " defaultdict of ['a'] by <class 'int'>; the structures differ"
    ]


def test_a_long_dict_is_not_written_out() -> None:
    (mismatch,) = explain_mismatch(dict.fromkeys(range(20), 1), 5)
    assert mismatch.first == "dict of [0], [1], [2], [3], [4], [5], [6], [7], …"


def test_a_tree_that_jax_cannot_flatten_is_not_safe_and_named() -> None:
    mixed = {"a": 1, 2: 3}
    for a, b in (([mixed], [5]), ([mixed], [mixed]), ([{"a": 1, "b": 2}], [mixed])):
        assert not is_none_safe_pair(a, b)
        assert "dict that JAX cannot flatten" in words(a, b)[0]


def test_positions_of_none_are_compared_and_nothing_else() -> None:
    assert none_positions_match({"a": None, "b": 1}, {"a": None, "c": [1]})
    assert not none_positions_match({"a": None}, {"a": 1})
    assert not none_positions_match({"a": 1}, {"a": None})
    assert none_positions_match(None, None)


@pytest.mark.parametrize(
    ("module", "absent"),
    [("jaxmigrate", ("jax", "libcst")), ("jaxmigrate.trees", ("click", "rich", "libcst"))],
)
def test_an_import_brings_no_more_than_it_needs(module: str, absent: tuple[str, ...]) -> None:
    asked = f"import sys, {module}; print([m for m in {absent!r} if m in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_what_jax_cannot_flatten_does_not_differ() -> None:
    (mismatch,) = words({1: 0, "a": 1}, {1: 0, "a": 1})
    assert mismatch.endswith("; no map of them works")


def test_long_data_of_a_container_is_cut() -> None:
    (mismatch,) = words(Long("x" * 1000), Long("y" * 1000))
    assert len(mismatch) < 300
    assert "…" in mismatch


def test_a_star_import_brings_what_is_meant_for_users() -> None:
    names: dict[str, Any] = {}
    exec("from jaxmigrate.trees import *", names)
    assert {name for name in names if not name.startswith("__")} == {
        *("Mismatch", "explain_mismatch", "is_none_safe_pair", "none_positions_match")
    }
