"""The examples that a codemod shows are true, and each shows something."""

from __future__ import annotations

import ast

import pytest

from jaxmigrate.codemod import Codemod, Example
from jaxmigrate.model import Action
from jaxmigrate.registry import all_codemods, choose, module_of
from jaxmigrate.runner import migrate_source
from jaxmigrate.versions import NEWEST_KNOWN

EXAMPLES = [
    pytest.param(codemod, example, id=f"{codemod.name}-{index}")
    for codemod in all_codemods()
    for index, example in enumerate(codemod.examples)
]
CODEMODS = [pytest.param(codemod, id=codemod.name) for codemod in all_codemods()]


def migrated(codemod: Codemod, source: str, example: Example) -> str:
    """What the codemod alone makes of a source, asked as the example asks."""
    result = migrate_source(
        source,
        select=[codemod.name],
        confidence=example.confidence,
        target_jax=example.target_jax or NEWEST_KNOWN,
        sentinel=example.sentinel,
    )
    assert result.failure is None
    return result.after.decode()


@pytest.mark.parametrize(("codemod", "example"), EXAMPLES)
def test_an_example_holds(codemod: Codemod, example: Example) -> None:
    after = example.before if example.after is None else example.after
    assert migrated(codemod, example.before, example) == after


@pytest.mark.parametrize(("codemod", "example"), EXAMPLES)
def test_an_example_is_sound_python_and_says_what_changes(
    codemod: Codemod, example: Example
) -> None:
    compile(example.before, codemod.name, "exec")
    assert example.after != example.before
    if example.after is not None:
        compile(example.after, codemod.name, "exec")
        assert ast.dump(ast.parse(example.after)) != ast.dump(ast.parse(example.before))
        assert migrated(codemod, example.after, example) == example.after


@pytest.mark.parametrize("codemod", CODEMODS)
def test_a_codemod_shows_what_it_does_and_what_it_leaves_alone(codemod: Codemod) -> None:
    assert [example for example in codemod.examples if example.after is not None]
    assert [example for example in codemod.examples if example.after is None]


@pytest.mark.parametrize("codemod", CODEMODS)
def test_what_an_example_changes_is_mentioned_so_that_no_file_is_passed_over(
    codemod: Codemod,
) -> None:
    for example in codemod.examples:
        if example.after is not None and example.sentinel is None:
            assert any(word in example.before for word in codemod.mentions)


@pytest.mark.parametrize("codemod", CODEMODS)
def test_a_codemod_explains_itself(codemod: Codemod) -> None:
    described = module_of(codemod).__doc__ or ""
    for part in ("**Why.**", "**Safety.**", "**Not touched.**"):
        assert part in described
    assert codemod.summary
    assert len(codemod.summary) <= 80
    assert "\n" not in codemod.summary


@pytest.mark.parametrize("codemod", CODEMODS)
def test_a_codemod_comes_behind_those_it_must_run_after(codemod: Codemod) -> None:
    order = [each.name for each in all_codemods()]
    for name in codemod.after:
        assert order.index(name) < order.index(codemod.name)
        assert choose([codemod.name])[0].name == codemod.name


@pytest.mark.parametrize(("codemod", "example"), EXAMPLES)
def test_every_edit_of_an_example_has_a_reason(codemod: Codemod, example: Example) -> None:
    result = migrate_source(
        example.before,
        select=[codemod.name],
        confidence=example.confidence,
        target_jax=example.target_jax or NEWEST_KNOWN,
        sentinel=example.sentinel,
    )
    edits = [site for site in result.sites if site.action is Action.EDIT]
    assert bool(edits) == (example.after is not None)
    assert all(site.reason for site in edits)
