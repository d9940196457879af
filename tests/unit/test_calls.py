"""Tree-map calls in one form, however they are spelled."""

from __future__ import annotations

import ast

import pytest

from jaxmigrate.analysis.aliases import alias_names, project_aliases
from jaxmigrate.analysis.calls import TreeCall, tree_calls
from jaxmigrate.analysis.project import Project


def calls(source: str, **files: str) -> list[TreeCall]:
    """The tree-map calls of `source`, its neighbours given by name."""
    texts = {"main.py": source, **{f"{name}.py": text for name, text in files.items()}}
    aliases = project_aliases(texts.values())
    project = Project(texts, texts.get, aliases)
    module = project.module("main.py")
    assert module is not None
    return list(tree_calls(module, project))


def form(source: str, **files: str) -> tuple[str | None, list[str], str | None, bool]:
    """Callback, trees, predicate of the one call, and whether it maps several trees."""
    (call,) = calls(source, **files)
    return (
        None if call.callback is None else ast.unparse(call.callback),
        [ast.unparse(tree) for tree in call.trees],
        None if call.is_leaf is None else ast.unparse(call.is_leaf),
        call.many,
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("jax.tree.map(f, a)", ("f", ["a"], None, False)),
        ("jax.tree.map(f, a, b)", ("f", ["a", "b"], None, True)),
        ("jax.tree.map(f, a, b, c, is_leaf=g)", ("f", ["a", "b", "c"], "g", True)),
        ("jax.tree.map(f, a, is_leaf=None)", ("f", ["a"], "None", False)),
        ("jax.tree.map(f, *ts)", ("f", ["*ts"], None, True)),
        ("jax.tree.map(f, a, *ts)", ("f", ["a", "*ts"], None, True)),
        ("jax.tree.map(*args)", (None, ["*args"], None, True)),
        ("jax.tree.map(f, tree=a)", ("f", ["a"], None, False)),
        ("jax.tree.map(f=f, tree=a)", ("f", ["a"], None, False)),
        ("jax.tree.map(is_leaf=g, tree=a, f=f)", ("f", ["a"], "g", False)),
        ("jax.tree.map(lambda x: x, a, b)", ("lambda x: x", ["a", "b"], None, True)),
        ("jax.tree_map(f, a, b)", ("f", ["a", "b"], None, True)),
        ("jax.tree_multimap(f, a, b)", ("f", ["a", "b"], None, True)),
        ("jax.tree_util.tree_map(f, a, b)", ("f", ["a", "b"], None, True)),
        ("jax.tree_util.tree_multimap(f, a, b)", ("f", ["a", "b"], None, True)),
        ("from jax.tree import map\nmap(f, a, b)", ("f", ["a", "b"], None, True)),
        ("tm = jax.tree.map\ntm(f, a, b)", ("f", ["a", "b"], None, True)),
        ("from jax import tree_map as tm\ntm(f, a, b)", ("f", ["a", "b"], None, True)),
    ],
)
def test_a_call_is_read(
    source: str, expected: tuple[str | None, list[str], str | None, bool]
) -> None:
    assert form("import jax\n" + source) == expected


def test_a_call_of_a_partial_has_what_the_partial_bound() -> None:
    head = "import jax\nfrom functools import partial\n"
    call = calls(head + "tm = partial(jax.tree.map, is_leaf=g)\ntm(f, a, b)")[-1]
    assert ast.unparse(call.is_leaf or ast.Constant(0)) == "g"
    assert [keyword.arg for keyword in call.bound.keywords] == ["is_leaf"]
    assert len(call.trees) == 2


@pytest.mark.parametrize(
    ("spelling", "leading"),
    [
        ("jax.tree.map", 0),
        ("jax.tree_util.tree_map", 0),
        ("jax.tree.map_with_path", 1),
        ("jax.tree_util.tree_map_with_path", 1),
    ],
)
def test_a_path_comes_before_the_leaves(spelling: str, leading: int) -> None:
    (call,) = calls(f"import jax\n{spelling}(f, a, b)\n")
    assert call.leading == leading


@pytest.mark.parametrize(
    "source",
    [
        "map(f, a, b)",
        "def tree_map(f, *t): pass\ntree_map(f, a, b)",
        "import tree\ntree.map_structure(f, a, b)",
        "import optax\noptax.tree_map(f, a, b)",
        "from dm_tree import tree_map\ntree_map(f, a, b)",
        "import jax\njax.tree.leaves(a, b)",
        "import jax\njax.lax.map(f, a, b)",
        "import jax\njax.vmap(f, in_axes=None)(a, b)",
        "import jax\ndef g(jax): jax.tree.map(f, a, b)",
        "import jax\nx.jax.tree.map(f, a, b)",
        "import jax\njax.tree.map",
        "class T:\n  def map(self): pass\ntree = T()\ntree.map(f, a, b)",
        "pool.map(f, a, b)",
        "import jax\njax.tree.map.lower(f, a, b)",
    ],
)
def test_what_is_no_tree_map_of_jax_is_none(source: str) -> None:
    assert calls(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "partial(jax.tree.map, f)",
        "functools.partial(jax.tree.map, f)",
        "p(jax.tree.map, f)",
    ],
)
def test_a_partial_is_a_call_that_may_map_several_trees(source: str) -> None:
    head = (
        "import functools, jax\nfrom functools import partial\nfrom functools import partial as p\n"
    )
    (call,) = calls(head + source)
    assert call.is_partial
    assert call.many
    assert ast.unparse(call.callback or ast.Constant(0)) == "f"
    assert call.trees == ()


@pytest.mark.parametrize(
    "line", ["from maps import tmap", "from maps import tmap as tm; tmap = tm"]
)
def test_an_alias_of_another_file_is_a_tree_map(line: str) -> None:
    for text in (
        "import jax\ntmap = jax.tree_util.tree_map\n",
        "from jax.tree_util import tree_map as tmap\n",
        "import jax as j\ntmap = j.tree.map\n",
        "from functools import partial\nimport jax\ntmap = partial(jax.tree.map)\n",
    ):
        (call,) = calls(f"{line}\ntmap(f, a, b)", maps=text)
        assert len(call.trees) == 2


def test_keywords_that_are_not_known_are_said_to_be() -> None:
    (call,) = calls("import jax\njax.tree.map(f, a, b, **k)")
    assert call.rest_unknown


def test_nested_calls_are_all_found() -> None:
    found = calls("import jax\njax.tree.map(jax.tree.map(f, a), jax.tree.map(g, b), c)")
    assert len(found) == 3


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("tm = jax.tree.map\n", {"tm"}),
        ("tm = jax.tree_map  # c\n", {"tm"}),
        ("tm=tree_map\n", {"tm"}),
        ("from jax import tree_map as tm\n", {"tm"}),
        ("from jax import (tree_leaves as tl, tree_map as tm)\n", {"tm"}),
        ("tm = functools.partial(jax.tree_util.tree_map, is_leaf=f)\n", {"tm"}),
        ("x = jax.tree_map(f, t)\n", set()),
        ("import jax\n", set()),
    ],
)
def test_names_that_may_be_tree_maps_are_seen_in_the_text(text: str, names: set[str]) -> None:
    assert alias_names(text) == names


UTILS = "import jax\ntmap = jax.tree_util.tree_map\n"
M = "from functools import partial\nm = partial(tmap, is_leaf=g)\n"


@pytest.mark.parametrize(
    ("source", "files"),
    [
        (f"{UTILS}{M}m(f, a, b)", {}),
        (f"{UTILS}{M}n = m\nn(f, a, b)", {}),
        (
            f"{UTILS}t2 = tmap\nt3 = t2\nfrom functools import partial as p\n"
            "m = p(t3, is_leaf=g)\nm(f, a, b)",
            {},
        ),
        (f"from utils import tmap\n{M}m(f, a, b)", {"utils": UTILS}),
        ("from utils import m\nm(f, a, b)", {"utils": UTILS + M}),
        ("import utils\nutils.m(f, a, b)", {"utils": UTILS + M}),
        (
            "from more import k\nk(f, a, b)",
            {"utils": UTILS + M, "more": "from utils import m as n\nk = n\n"},
        ),
        (
            "import more\nmore.k(f, a, b)",
            {"utils": UTILS + M, "more": "from utils import m as n\nk = n\n"},
        ),
        (f"{UTILS}import functools\nm = functools.partial(\n  tmap,\n  is_leaf=g)\nm(f, a, b)", {}),
    ],
)
def test_aliases_of_aliases_are_found(source: str, files: dict[str, str]) -> None:
    expected = ("f", ["a", "b"], "g", True)
    found = [call for call in calls(source, **files) if not call.is_partial]
    assert [(ast.unparse(c.is_leaf or c.node), len(c.trees)) for c in found] == [("g", 2)]
    assert expected[1] == [ast.unparse(tree) for tree in found[0].trees]


def test_a_chain_in_one_file_needs_no_list_of_aliases() -> None:
    texts = {"main.py": f"{UTILS}{M}m(f, a, b)"}
    project = Project(texts, texts.get)
    module = project.module("main.py")
    assert module is not None
    assert [len(call.trees) for call in tree_calls(module, project)] == [0, 2]


def test_names_that_stand_for_each_other_in_a_circle_end() -> None:
    assert calls("a = b\nb = a\na(f, x, y)\nb(f, x, y)") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tm = jax.tree_map\n", {"tm"}),
        ("tm = jax.tree.map\nx = tm\ny = partial(x, f)\n", {"tm", "x", "y"}),
        ("tm = jax.tree_m\uff41p\n", {"tm"}),
        ("from jax import tree_map as tm\nu = tm # c\n", {"tm", "u"}),
        ("rows = table.map\nx = rows\n", {"rows"}),
        ("x = tm(a)\n", set()),
        ("tm = jax.tree_map\nx = tm(a)\n", {"tm"}),
        ("tm = partial(", set()),
    ],
)
def test_names_given_to_tree_maps_are_seen_in_the_text(text: str, expected: set[str]) -> None:
    assert alias_names(text) == expected
    assert project_aliases([text]) == expected


def test_names_are_followed_from_text_to_text() -> None:
    texts = ["from b import y as z\n", "from a import x\ny = x\n", "x = jax.tree.map\n"]
    assert project_aliases(texts) == {"x", "y", "z"}
