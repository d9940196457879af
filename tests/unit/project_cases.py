"""Fixtures that are whole projects: tests/fixtures/CODEMOD/CASE/{before/,after/,case.toml}.

Every file in `before` is migrated; `after` holds those that change, as they come to be. `case.toml` may
say `sentinel`, `confidence` and `target_jax` as on the command line, `held` (words that the reason of a
held site contains, each), and `runs = false` where the old program is not to be run.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from packaging.version import Version

from jaxmigrate.model import Confidence, RunResult
from jaxmigrate.runner import Request, run
from jaxmigrate.versions import NEWEST_KNOWN

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


@dataclass(frozen=True)
class ProjectCase:
    """One fixture."""

    folder: Path

    @property
    def name(self) -> str:
        """The folder's name: what the case is about, in words with underscores."""
        return self.folder.name

    @cached_property
    def facts(self) -> Mapping[str, object]:
        """What `case.toml` says."""
        return tomllib.loads((self.folder / "case.toml").read_text(encoding="utf-8"))

    @property
    def sentinel(self) -> str | None:
        """What placeholders are to be."""
        given = self.facts.get("sentinel")
        return None if given is None else str(given)

    @property
    def held(self) -> list[str]:
        """What the reasons of held sites are to say."""
        given = self.facts.get("held", [])
        assert isinstance(given, list)
        return [str(words) for words in given]

    @cached_property
    def before(self) -> Mapping[str, str]:
        """The files that are migrated."""
        return _files(self.folder / "before")

    @cached_property
    def after(self) -> Mapping[str, str]:
        """What they are to become."""
        return {**self.before, **_files(self.folder / "after")}

    def migrate(self, files: Mapping[str, str], place: Path, jobs: int = 1) -> RunResult:
        """What becomes of the files, put at `place`."""
        write(files, place)
        request = Request(
            paths=(place,),
            root=place,
            target=Version(str(self.facts.get("target_jax", NEWEST_KNOWN))),
            confidence=Confidence[str(self.facts.get("confidence", "likely")).upper()],
            sentinel=self.sentinel,
            jobs=jobs,
        )
        return run(request)


def project_cases(codemod: str) -> list[ProjectCase]:
    """Every fixture of a codemod that is a project, in order of name."""
    found = [ProjectCase(path.parent) for path in sorted((FIXTURES / codemod).glob("*/before"))]
    assert found, f"there are no fixtures for {codemod}"
    return found


def results(result: RunResult) -> dict[str, str]:
    """The files as a run leaves them."""
    assert [file.failure for file in result.files if file.failure is not None] == []
    return {file.path: file.after.decode() for file in result.files}


def write(files: Mapping[str, str], place: Path) -> None:
    """Make the files below `place`, nothing else there."""
    shutil.rmtree(place, ignore_errors=True)
    for name, text in files.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.py"))
    }
