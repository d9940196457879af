"""The exit code says what came of a run: the highest that applies."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import BROKEN, GUARDED, MENDED, RETIRED, UNKNOWN, Answer, call, fill, process


@pytest.mark.parametrize(
    ("arguments", "files", "code"),
    [
        ([], {"a.py": RETIRED}, 0),
        ([], {"a.py": MENDED}, 0),
        ([], {}, 0),
        (["--write"], {"a.py": RETIRED}, 0),
        (["--check"], {"a.py": RETIRED}, 1),
        (["--check"], {"a.py": MENDED}, 0),
        (["--check"], {"a.py": GUARDED}, 0),
        (["--check"], {"a.py": UNKNOWN}, 0),
        (["--check", "--confidence", "possible"], {"a.py": UNKNOWN}, 1),
        (["--check", "--format", "json"], {"a.py": RETIRED}, 1),
        (["--check", "--quiet"], {"a.py": RETIRED}, 1),
        ([], {"a.py": BROKEN}, 3),
        (["--check"], {"a.py": BROKEN, "b.py": RETIRED}, 3),
        (["--write"], {"a.py": BROKEN, "b.py": RETIRED}, 3),
        (["--format", "json"], {"a.py": BROKEN}, 3),
        (["--quiet"], {"a.py": BROKEN}, 3),
        (["--write", "--check"], {"a.py": RETIRED}, 2),
    ],
)
def test_the_exit_code_is_the_highest_that_applies(
    tmp_path: Path, arguments: list[str], files: dict[str, str], code: int
) -> None:
    assert call("run", *arguments, cwd=fill(tmp_path, files)).code == code


@pytest.mark.parametrize(
    ("arguments", "source", "code"),
    [
        ([], RETIRED, 0),
        (["--check"], RETIRED, 1),
        (["--confidence", "certain"], RETIRED, 2),
        ([], BROKEN, 3),
    ],
)
def test_a_process_ends_with_the_same_codes(
    tmp_path: Path, arguments: list[str], source: str, code: int
) -> None:
    answer = process("run", *arguments, cwd=fill(tmp_path, {"a.py": source}))
    assert answer.code == code
    assert "Traceback" not in answer.both


def test_a_file_that_fails_in_json_has_a_status_and_an_error(tmp_path: Path) -> None:
    answer: Answer = call(
        "run", "--format", "json", cwd=fill(tmp_path, {"a.py": BROKEN, "b.py": RETIRED})
    )
    failed = answer.file("a.py")
    assert failed["status"] == "failed"
    assert "cannot be parsed" in failed["error"]
    assert "line 1" in failed["error"]
    assert answer.file("b.py")["status"] == "changed"
    assert answer.report["summary"]["failed"] == 1
