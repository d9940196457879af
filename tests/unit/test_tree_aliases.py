"""tree-aliases on its fixtures: what it makes of each, that it runs, and that it is made once."""

from __future__ import annotations

import sys
import textwrap
from types import ModuleType

import pytest
from fixture_runner import Case, cases
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxmigrate.analysis.jaxnames import RETIRED
from jaxmigrate.model import Action
from jaxmigrate.runner import migrate_source

CASES = cases("tree-aliases")
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_case
def test_what_cannot_be_edited_is_reported(case: Case) -> None:
    sites = case.migrate(case.before).sites
    reported = [site for site in sites if site.action is Action.REPORT]
    assert len(reported) == case.facts.get("reported", 0)


NAMES = (
    *("map", "leaves", "flatten", "unflatten", "structure", "transpose", "all", "reduce"),
    "multimap",
)


def stand_in(*, modern: bool) -> dict[str, ModuleType]:
    """A JAX of functions that are told apart by their names: with the old names, or without them."""
    jax, tree, util, numpy = (
        ModuleType(name) for name in ("jax", "jax.tree", "jax.tree_util", "jax.numpy")
    )
    functions = {name: _function(name) for name in (*NAMES, "treedef_is_leaf")}
    functions["multimap"] = functions["map"]
    for name in NAMES:
        if name != "multimap":
            setattr(tree, name, functions[name])
        if name != "multimap" or not modern:
            setattr(util, f"tree_{name}", functions[name])
        if not modern:
            setattr(jax, f"tree_{name}", functions[name])
    util.treedef_is_leaf = functions["treedef_is_leaf"]  # type: ignore[attr-defined]
    if not modern:
        jax.treedef_is_leaf = functions["treedef_is_leaf"]  # type: ignore[attr-defined]
    for name in ("jit", "grad", "vmap"):
        setattr(jax, name, _function(name))
    jax.tree, jax.tree_util, jax.numpy = tree, util, numpy  # type: ignore[attr-defined]
    jax.__path__ = []
    return {module.__name__: module for module in (jax, tree, util, numpy)}


class _Function:
    """Stands for a function of JAX; equal to the one of the same name, whatever namespace it is in."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *args: object, **_: object) -> object:
        return (self.__name__, len(args))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Function) and self.__name__ == other.__name__

    def __hash__(self) -> int:
        return hash(self.__name__)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


def _function(name: str) -> _Function:
    return _Function(name)


def bound(source: bytes, *, modern: bool, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What the source binds, run with a stand-in for JAX; functions and classes by name only."""
    for name in [name for name in sys.modules if name == "jax" or name.startswith("jax.")]:
        monkeypatch.delitem(sys.modules, name)
    for name, module in stand_in(modern=modern).items():
        monkeypatch.setitem(sys.modules, name, module)
    names: dict[str, object] = {"__name__": "case", "__file__": __file__}
    exec(compile(source, "case", "exec", dont_inherit=True), names)
    del names["__builtins__"]
    plain = (_Function, str, int, dict, tuple, list)
    used = {
        name: value if isinstance(value, plain) else type(value).__name__
        for name, value in names.items()
    }
    for name, value in names.items():
        if name == "late" and callable(value):
            used["late()"] = value()
        if name == "use" and callable(value):
            value(None, None, None, None, None)
        if name == "Holder":
            used["Holder.leaves"] = vars(value)["leaves"]
    return used


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.facts.get("run")], ids=lambda case: case.name
)
def test_after_binds_on_new_jax_what_before_bound_on_old_jax(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        before = bound(case.before, modern=False, monkeypatch=patch)
    with monkeypatch.context() as patch:
        after = bound(case.after, modern=True, monkeypatch=patch)
    assert after == before


def test_without_the_codemod_the_old_names_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((AttributeError, ImportError)), monkeypatch.context() as patch:
        bound(b"import jax\nx = jax.tree_map\n", modern=True, monkeypatch=patch)


@pytest.mark.parametrize("name", RETIRED)
@pytest.mark.parametrize("target", ["0.2.0", "0.4.24", "0.4.25", "0.10.2"])
def test_every_retired_name_is_spelled_as_the_target_has_it(name: str, target: str) -> None:
    retired = RETIRED[name]
    new_enough = target in ("0.4.25", "0.10.2") and not name.startswith("jax.tree_util")
    short = f"jax.tree.{retired.tree}" if retired.tree and new_enough else None
    expected = short or f"jax.tree_util.{retired.tree_util}"
    result = migrate_source(f"import jax\n{name}(a)\n", target_jax=target, select=["tree-aliases"])
    assert result.after.decode() == f"import jax\n{expected}(a)\n"


@pytest.mark.parametrize("name", [name for name in RETIRED if name.count(".") == 1])
@pytest.mark.parametrize("target", ["0.2.0", "0.10.2"])
def test_every_retired_name_is_imported_from_tree_util(name: str, target: str) -> None:
    old, new = name.removeprefix("jax."), RETIRED[name].tree_util
    words = new if new == old else f"{new} as {old}"
    result = migrate_source(f"from jax import {old}\n", target_jax=target, select=["tree-aliases"])
    assert result.after.decode() == f"from jax.tree_util import {words}\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_an_import_becomes_two_in_the_files_newlines(newline: str) -> None:
    source = f"x{newline}from jax import jit, tree_map"
    result = migrate_source(source, select=["tree-aliases"])
    expected = f"from jax import jit{newline}from jax.tree_util import tree_map"
    assert result.failure is None
    assert result.after.decode() == f"x{newline}{expected}"


def test_an_only_line_without_a_newline_becomes_two() -> None:
    result = migrate_source("from jax import jit, tree_map", select=["tree-aliases"])
    assert result.failure is None
    assert result.after == b"from jax import jit\nfrom jax.tree_util import tree_map"


LINES = (
    "from jax import jit, tree_map",
    "from jax import tree_map",
    "from jax import tree_multimap as tree_map",
    "from jax import tree_leaves as tree_map, tree_map as tree_leaves",
    "from jax import (\n    jit as tree_map,  # a\n    tree_map,  # b\n)",
    "from jax.tree_util import tree_leaves",
    "from jax.tree_util import tree_leaves as tree_map",
    "from jax.tree_util import (\n    # c\n    tree_flatten,\n)",
    "from jax.tree_util import tree_multimap, tree_map",
    "from jax.tree_util import *",
    "from jax import vmap as tree_leaves",
    "import jax.numpy as tree_map",
    "# d",
    "",
)


@st.composite
def runs_of_imports(draw: st.DrawFn) -> str:
    """Imports behind each other, at the top or in a block, with or without code behind them."""
    lines = draw(st.lists(st.sampled_from(LINES), max_size=6))
    if draw(st.booleans()):
        lines.append("x = 1")
    text = "\n".join(lines)
    if "*" not in text and draw(st.booleans()):
        return "if 1:\n    pass\n" + textwrap.indent(text, "    ")
    return text


@given(runs_of_imports())
@settings(max_examples=300, deadline=None)
def test_any_run_of_imports_binds_what_it_bound(source: str) -> None:
    result = migrate_source(source, select=["tree-aliases"])
    assert result.failure is None
    with pytest.MonkeyPatch.context() as patch:
        before = bound(source.encode(), modern=False, monkeypatch=patch)
    with pytest.MonkeyPatch.context() as patch:
        after = bound(result.after, modern=True, monkeypatch=patch)
    if "*" in source:  # it brings the old name from an old JAX alone
        before.pop("tree_multimap", None)
    assert {name: after.get(name) for name in before} == before
