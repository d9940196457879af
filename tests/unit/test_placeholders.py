"""Placeholders by name, on projects of several files: what is edited, what is held and why."""

from __future__ import annotations

from pathlib import Path

import pytest
from project_cases import ProjectCase, project_cases, results

from jaxmigrate.model import Action

CASES = project_cases("sentinel-placeholders")
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_case
def test_before_becomes_after(case: ProjectCase, tmp_path: Path) -> None:
    assert results(case.migrate(case.before, tmp_path / "p")) == case.after


@every_case
def test_after_stays_as_it_is(case: ProjectCase, tmp_path: Path) -> None:
    assert results(case.migrate(case.after, tmp_path / "p")) == case.after


@every_case
def test_what_is_held_says_where_and_why(case: ProjectCase, tmp_path: Path) -> None:
    result = case.migrate(case.before, tmp_path / "p")
    reasons = [
        site.reason
        for file in result.files
        for site in file.sites
        if site.codemod == "sentinel-placeholders" and site.action is Action.HOLD
    ]
    for words in case.held:
        assert any(words in reason for reason in reasons), (words, reasons)
    assert bool(reasons) == bool(case.held)


@every_case
def test_a_file_in_after_differs_from_before(case: ProjectCase) -> None:
    folder = case.folder / "after"
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py")}
    assert [name for name, path in found.items() if case.before[name] == path.read_text()] == []


def test_workers_do_what_one_process_does(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "across_files")
    alone = results(case.migrate(case.before, tmp_path / "p"))
    assert results(case.migrate(case.before, tmp_path / "p", jobs=2)) == alone
