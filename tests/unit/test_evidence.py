"""How well the sites are found that need an edit, on small projects of which the answer is known.

`tests/fixtures/evidence` holds them; `verify.py` beside them checks the answers on two JAX versions.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from packaging.version import Version

from jaxmigrate.model import Action, RunResult, SiteReport
from jaxmigrate.runner import Request, run
from jaxmigrate.versions import NEWEST_KNOWN

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "evidence"
CODEMODS = ("none-prefix", "none-fallback", "none-flatten")
LEAST_RECALL = 0.95


@dataclass(frozen=True)
class Labelled:
    """A project and the sites of it that must be edited."""

    folder: Path

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"

    @cached_property
    def wanted(self) -> frozenset[tuple[str, int]]:
        """File and line of each call that needs an edit."""
        case = tomllib.loads((self.folder / "case.toml").read_text(encoding="utf-8"))
        pairs = (site.rpartition(":") for site in case.get("sites", []))
        return frozenset((path, int(line)) for path, _, line in pairs)

    @cached_property
    def result(self) -> RunResult:
        """What a run at the default confidence makes of the project."""
        target = Version(str(NEWEST_KNOWN))
        return run(Request((self.folder,), self.folder, target, jobs=1))

    @property
    def sites(self) -> Iterator[tuple[str, SiteReport]]:
        """The sites of the codemods about None, with the files they are in."""
        for file in self.result.files:
            for site in file.sites:
                if site.codemod in CODEMODS:
                    yield file.path, site

    @property
    def edits(self) -> list[tuple[str, SiteReport]]:
        """The sites that are edited."""
        return [(path, site) for path, site in self.sites if site.action is Action.EDIT]

    @property
    def missed(self) -> list[str]:
        """The sites that should be edited and are not."""
        return [
            f"{self.name}/{wanted}:{line}"
            for wanted, line in sorted(self.wanted)
            if not any(
                path == wanted and site.line <= line <= site.end_line for path, site in self.edits
            )
        ]

    @property
    def extra(self) -> list[str]:
        """The edits that nobody asked for."""
        return [
            f"{self.name}/{path}:{site.line} {site.codemod}: {site.reason}"
            for path, site in self.edits
            if not any(
                path == wanted and site.line <= line <= site.end_line
                for wanted, line in self.wanted
            )
        ]


def labelled(answer: str) -> list[Labelled]:
    return [Labelled(file.parent) for file in sorted((FIXTURES / answer).glob("*/case.toml"))]


NEEDS_EDIT, STAYS = labelled("needs_edit"), labelled("stays")
EVERY = [*NEEDS_EDIT, *STAYS]


def test_there_are_cases_of_both_kinds() -> None:
    assert len(NEEDS_EDIT) >= 50
    assert len(STAYS) >= 50
    assert all(case.wanted for case in NEEDS_EDIT)
    assert not any(case.wanted for case in STAYS)


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_every_file_is_read(case: Labelled) -> None:
    failures = [(file.path, file.failure) for file in case.result.files if file.failure]
    assert not failures


@pytest.mark.parametrize("case", STAYS, ids=lambda case: case.name)
def test_what_must_stay_is_not_edited(case: Labelled) -> None:
    assert not case.extra


@pytest.mark.parametrize("case", NEEDS_EDIT, ids=lambda case: case.name)
def test_nothing_else_is_edited(case: Labelled) -> None:
    assert not case.extra


def test_most_of_what_needs_an_edit_is_found() -> None:
    missed = [site for case in NEEDS_EDIT for site in case.missed]
    wanted = sum(len(case.wanted) for case in NEEDS_EDIT)
    extra = [site for case in EVERY for site in case.extra]
    found = wanted - len(missed)
    whole = sum(not case.missed for case in NEEDS_EDIT)
    print(f"precision {found / max(1, found + len(extra)):.3f}")
    print(f"recall {found / wanted:.3f}, {whole} of {len(NEEDS_EDIT)} projects whole")
    print("\n".join(["missed:", *missed, "extra:", *extra]))
    assert whole >= LEAST_RECALL * len(NEEDS_EDIT), missed


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_evidence_names_lines_that_are_there(case: Labelled) -> None:
    for path, site in case.sites:
        for piece in site.evidence:
            file = case.folder / piece.path
            assert file.is_file(), f"{path}:{site.line} names {piece.path}"
            lines = file.read_text(encoding="utf-8").splitlines()
            assert 1 <= piece.line <= len(lines), f"{piece.path}:{piece.line}: {piece.note}"
            text = lines[piece.line - 1].strip()
            where = f"{piece.path}:{piece.line} is {text!r}, said to be: {piece.note}"
            assert text, where
            assert piece.note, where
            assert not text.startswith("#") or text == piece.note, where


@pytest.mark.parametrize("case", NEEDS_EDIT, ids=lambda case: case.name)
def test_an_edit_has_evidence_and_says_the_first_of_it(case: Labelled) -> None:
    for path, site in case.edits:
        assert site.evidence, f"{path}:{site.line} {site.reason}"
        if site.codemod == "none-prefix":
            said = site.evidence[0].note
            assert site.reason.endswith(said), f"{path}:{site.line} {site.reason}, not {said}"
