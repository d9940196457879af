"""Runs the fixtures of a codemod: tests/fixtures/CODEMOD/CASE/{before.py,after.py,case.toml}.

`before.py` becomes `after.py`. `case.toml` may say `target_jax` and `confidence` (as on the command
line), `select` (a list, the codemod alone if left out), `untouched = true` (there is no `after.py`),
`reported` (how many sites need a person), `held`, and `run = true`: both files are run with a stand-in
for JAX and must bind the same names to the same functions.
Other Python files in the folder belong to the same project, and stay as they are.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from packaging.version import Version

from jaxmigrate.analysis.aliases import alias_names
from jaxmigrate.analysis.project import Project
from jaxmigrate.model import Confidence, FileResult
from jaxmigrate.pipeline import Settings, migrate_file
from jaxmigrate.registry import choose
from jaxmigrate.sources.text import decode
from jaxmigrate.versions import NEWEST_KNOWN

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
BEFORE = "before.py"


@dataclass(frozen=True)
class Case:
    """One fixture."""

    codemod: str
    folder: Path

    @property
    def name(self) -> str:
        """The folder's name: what the case is about, in words with underscores."""
        return self.folder.name

    @cached_property
    def facts(self) -> dict[str, object]:
        """What `case.toml` says."""
        file = self.folder / "case.toml"
        return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    @property
    def untouched(self) -> bool:
        """Whether nothing is to be edited."""
        return bool(self.facts.get("untouched", False))

    @cached_property
    def before(self) -> bytes:
        """The source that is migrated."""
        return (self.folder / BEFORE).read_bytes()

    @cached_property
    def after(self) -> bytes:
        """What it is to become."""
        return self.before if self.untouched else (self.folder / "after.py").read_bytes()

    def migrate(self, source: bytes) -> FileResult:
        """What becomes of `source` in the place of `before.py`, its neighbours around it."""
        neighbours = {
            path.relative_to(self.folder).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(self.folder.rglob("*.py"))
            if path.name not in (BEFORE, "after.py") or path.parent != self.folder
        }
        file = decode(source, BEFORE, self.folder / BEFORE)
        texts = {**neighbours, BEFORE: file.text}
        aliases = {name for text in texts.values() for name in alias_names(text)}
        settings = Settings(
            choose(self._select()),
            Confidence[str(self.facts.get("confidence", "likely")).upper()],
            Version(str(self.facts.get("target_jax", NEWEST_KNOWN))),
        )
        return migrate_file(file, Project(texts, texts.get, aliases), settings)

    def _select(self) -> Sequence[str]:
        chosen = self.facts.get("select")
        return [str(name) for name in chosen] if isinstance(chosen, list) else [self.codemod]


def cases(codemod: str) -> list[Case]:
    """Every fixture of a codemod, in order of name."""
    folder = FIXTURES / codemod
    found = [Case(codemod, path.parent) for path in sorted(folder.glob(f"*/{BEFORE}"))]
    assert found, f"there are no fixtures for {codemod}"
    return found
