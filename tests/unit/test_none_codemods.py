"""The codemods about None on their fixtures: what they make of each, that it is sound, and made once."""

from __future__ import annotations

from collections import Counter

import pytest
from fixture_runner import Case, cases

from jaxmigrate.model import Action

CODEMODS = ("none-prefix", "none-fallback", "none-flatten")
CASES = [case for codemod in CODEMODS for case in cases(codemod)]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.codemod}-{case.name}")


@every_case
def test_after_stays_as_it_is(case: Case) -> None:
    result = case.migrate(case.after)
    assert result.failure is None
    assert result.after.decode() == case.after.decode()


@every_case
def test_what_is_not_edited_is_told(case: Case) -> None:
    told = Counter(site.action for site in case.migrate(case.before).sites if not site.needless)
    assert told[Action.REPORT] == case.facts.get("reported", 0)
    assert told[Action.HOLD] == case.facts.get("held", 0)


@every_case
def test_what_is_edited_is_needed_no_more(case: Case) -> None:
    left = [site for site in case.migrate(case.after).sites if not site.needless]
    assert len(left) == case.facts.get("reported", 0) + case.facts.get("held", 0)


@every_case
def test_no_line_gets_white_space_at_its_end(case: Case) -> None:
    lines = case.after.decode().splitlines()
    assert [line for line in lines if line != line.rstrip()] == []


@every_case
def test_line_endings_stay(case: Case) -> None:
    before, after = case.before, case.after
    assert (after.count(b"\r\n") == after.count(b"\n")) == (
        before.count(b"\r\n") == before.count(b"\n")
    )


@pytest.mark.parametrize("codemod", CODEMODS)
def test_each_codemod_has_cases_that_stay(codemod: str) -> None:
    of_codemod = [case for case in CASES if case.codemod == codemod]
    assert sum(case.untouched for case in of_codemod) * 5 >= len(of_codemod)
