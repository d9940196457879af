"""What holds of every fixture of a codemod that is one file: before becomes after, which is sound."""

from __future__ import annotations

import ast

import pytest
from fixture_runner import Case, cases

NEEDED_ONCE = ("tree-aliases", "sentinel-placeholders")
"""Codemods that have nothing more to do, or to say, where they have run."""

CODEMODS = (*NEEDED_ONCE, "none-prefix", "none-fallback", "none-flatten")
CASES = [case for codemod in CODEMODS for case in cases(codemod)]


def named(case: Case) -> str:
    return f"{case.codemod}-{case.name}"


every_case = pytest.mark.parametrize("case", CASES, ids=named)


@every_case
def test_before_becomes_after(case: Case) -> None:
    result = case.migrate(case.before)
    assert result.failure is None
    assert result.after.decode() == case.after.decode()


@every_case
def test_after_is_sound_python(case: Case) -> None:
    compile(case.after, case.name, "exec", dont_inherit=True)


@every_case
def test_a_case_says_something(case: Case) -> None:
    assert case.untouched == (not (case.folder / "after.py").exists())
    assert case.untouched or ast.dump(ast.parse(case.before)) != ast.dump(ast.parse(case.after))


@pytest.mark.parametrize("case", [c for c in CASES if c.codemod in NEEDED_ONCE], ids=named)
def test_after_stays_as_it_is(case: Case) -> None:
    result = case.migrate(case.after)
    assert result.failure is None
    assert result.after == case.after
