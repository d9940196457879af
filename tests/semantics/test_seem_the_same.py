"""Trees that look as if they held the same Nones, and need not: every such call can be guarded.

The programs are in `tests/fixtures/seem_the_same`. The tool sees them down to `# How it is run:` only, as it
would see a library, and guards what is possible; then they must do what they did.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from jaxmigrate.model import FileResult
from tests.semantics.judge import Status, judge, migrate, run, run_old

PROGRAMS = sorted((Path(__file__).parents[1] / "fixtures" / "seem_the_same").glob("*.py"))
MARK = "# How it is run:\n"


def migrate_above_the_mark(source: str) -> FileResult:
    library, _, driver = source.partition(MARK)
    result = migrate(library)
    rest = f"{MARK}{driver}".encode()
    return dataclasses.replace(result, before=result.before + rest, after=result.after + rest)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_program_does_what_it_did(program: Path) -> None:
    verdict = judge(program.read_text(encoding="utf-8"), migrate_above_the_mark)
    assert verdict.status is Status.SAME, str(verdict)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_it_did_meet_a_none(program: Path) -> None:
    source = program.read_text(encoding="utf-8")
    assert run_old(source).raised == ""
    assert run(source).raised == "ValueError"
