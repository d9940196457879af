"""The codemods there are, their order, and how they are chosen."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from jaxmigrate.codemod import Codemod
from jaxmigrate.errors import UsageError
from jaxmigrate.registry import _classes, _made, all_codemods, choose, module_of


def names(*select: str, ignore: tuple[str, ...] = ()) -> list[str]:
    return [codemod.name for codemod in choose(select, ignore)]


def test_the_built_in_codemods_are_found_in_the_order_they_must_run() -> None:
    found = names()
    assert {"tree-aliases", "none-prefix"} <= set(found)
    assert found.index("tree-aliases") < found.index("none-prefix")


def test_choosing_keeps_the_order_whatever_the_order_of_the_names() -> None:
    assert names("none-prefix", "tree-aliases") == ["tree-aliases", "none-prefix"]


def test_ignoring_goes_before_selecting() -> None:
    assert names("none-prefix", "tree-aliases", ignore=("tree-aliases",)) == ["none-prefix"]
    assert "tree-aliases" not in names(ignore=("tree-aliases",))


def test_a_codemod_can_run_without_the_one_it_runs_after() -> None:
    assert names("none-prefix") == ["none-prefix"]


@pytest.mark.parametrize(("select", "ignore"), [(("x",), ()), ((), ("x",))])
def test_a_name_that_no_codemod_has_is_refused_with_those_there_are(
    select: tuple[str, ...], ignore: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError, match=r"'x'.*none-prefix.*tree-aliases"):
        choose(select, ignore)


def test_choosing_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="ignored"):
        choose(["none-prefix"], ["none-prefix"])


def test_every_codemod_is_made_once_and_knows_its_module() -> None:
    assert all_codemods() is all_codemods()
    for codemod in all_codemods():
        assert module_of(codemod).__name__.startswith("jaxmigrate_codemods.")
        assert module_of(codemod).__doc__


def test_a_codemod_that_lacks_what_every_codemod_has_is_refused() -> None:
    class Nameless(Codemod):
        summary = "s"
        needed_from = "0.5.0"
        mentions = ()

        def find(self, module: object) -> Iterator[Any]:
            raise NotImplementedError

        def rewrite(self, site: object, node: object) -> Any:
            raise NotImplementedError

    with pytest.raises(UsageError, match=r"Nameless lacks name, examples"):
        _made(Nameless)


def test_a_base_class_for_codemods_is_no_codemod() -> None:
    module = ModuleType("m")
    base = type("Base", (Codemod,), {"__module__": "m"})
    module.Base = base  # type: ignore[attr-defined]
    assert list(_classes(module)) == []
