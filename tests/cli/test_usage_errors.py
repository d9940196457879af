"""What is not allowed ends with exit 2 and one line on standard error that says what is."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import RETIRED, call, contents, fill, git, process

CODEMODS = ("none-prefix", "tree-aliases")
BAD = {
    "codemod to select": (["run", "--select", "tree-alias"], ["tree-alias", *CODEMODS]),
    "codemod among others": (
        ["run", "--select", "tree-aliases,nothing"],
        ["nothing", *CODEMODS],
    ),
    "codemod to ignore": (["run", "--ignore", "nothing"], ["nothing", *CODEMODS]),
    "every codemod ignored": (
        ["run", "--select", "tree-aliases", "--ignore", "tree-aliases"],
        ["ignored"],
    ),
    "option": (["run", "--wirte"], ["--wirte", "--write", "--patch", "--target-jax"]),
    "short option": (["run", "-x"], ["-x"]),
    "option of the whole": (["--wirte"], ["--wirte", "--version"]),
    "command": (["rnu"], ["rnu", "run", "list", "explain"]),
    "no codemod to explain": (["explain"], ["NAME"]),
    "codemod to explain": (["explain", "nothing"], ["nothing", *CODEMODS]),
    "option of list": (["list", "--long"], ["--long"]),
    "argument of list": (["list", "tree-aliases"], ["tree-aliases"]),
    "confidence": (
        ["run", "--confidence", "certain"],
        ["certain", "proven", "likely", "possible"],
    ),
    "format": (["run", "--format", "yaml"], ["yaml", "text", "json"]),
    "JAX version": (["run", "--target-jax", "banana"], ["banana", "0.10.2"]),
    "empty JAX version": (["run", "--target-jax", ""], ["--target-jax", "0.10.2"]),
    "JAX version range": (["run", "--target-jax", ">=0.4"], [">=0.4", "0.10.2"]),
    "JAX from before JAX": (["run", "--target-jax", "0.0.1"], ["0.0.1", "0.10.2"]),
    "no jobs": (["run", "-j", "0"], ["0", "1"]),
    "jobs that are no number": (["run", "-j", "many"], ["many"]),
    "value left out": (["run", "--patch"], ["--patch"]),
    "check and write": (["run", "--check", "--write"], ["--check", "--write"]),
    "pipe and a path": (["run", "-", "a.py"], ["-"]),
    "pipe and write": (["run", "-", "--write"], ["--write"]),
    "pipe and patch": (["run", "-", "--patch", "p"], ["--patch"]),
    "pipe and patches": (["run", "-", "--patch-dir", "p"], ["--patch"]),
    "name for no pipe": (["run", "--stdin-filename", "a.py"], ["--stdin-filename", "-"]),
    "pattern that is none": (["run", "--exclude", "!"], ["!"]),
}


@pytest.mark.parametrize("name", BAD)
def test_one_line_says_what_is_allowed_and_nothing_is_touched(tmp_path: Path, name: str) -> None:
    arguments, words = BAD[name]
    before = contents(fill(tmp_path, {"a.py": RETIRED}))
    answer = call(*arguments, cwd=tmp_path)
    assert answer.code == 2
    assert answer.out == ""
    assert len(answer.err.splitlines()) == 1, answer.err
    assert answer.err.endswith("\n")
    for word in words:
        assert word in answer.err
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["codemod to select", "option", "command", "JAX version"])
def test_a_process_says_the_same(tmp_path: Path, name: str) -> None:
    arguments, _ = BAD[name]
    here, there = call(*arguments, cwd=tmp_path), process(*arguments, cwd=tmp_path)
    assert (here.code, here.out, here.err) == (there.code, there.out, there.err)


@pytest.mark.parametrize("place", ["missing/p.patch", "."])
def test_a_patch_that_cannot_be_saved_is_a_usage_error(tmp_path: Path, place: str) -> None:
    answer = call("run", "--patch", place, cwd=fill(tmp_path, {"a.py": RETIRED}))
    assert "Traceback" not in answer.both
    assert answer.code == 2 or (tmp_path / place).is_file()
    if answer.code == 2:
        assert len(answer.err.splitlines()) == 1
        assert place in answer.err


def test_a_patch_folder_that_is_a_file_is_a_usage_error(tmp_path: Path) -> None:
    before = contents(fill(tmp_path, {"a.py": RETIRED, "p": "mine\n"}))
    answer = call("run", "--patch-dir", "p", cwd=tmp_path)
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 1
    assert contents(tmp_path) == before


def test_no_arguments_at_all_show_the_help(tmp_path: Path) -> None:
    answer = call(cwd=tmp_path)
    assert answer.code in (0, 2)
    assert "Usage: jaxmigrate" in answer.both
    assert "Traceback" not in answer.both


@pytest.mark.parametrize(
    "place", [("--patch", "missing/p.patch"), ("--patch", "."), ("--patch-dir", "mine/below")]
)
def test_a_patch_that_cannot_be_saved_stops_a_run_before_it_writes(
    tmp_path: Path, place: tuple[str, str]
) -> None:
    before = contents(fill(tmp_path, {"a.py": RETIRED, "mine": "mine\n"}))
    answer = call("run", "--write", *place, cwd=tmp_path)
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 1
    assert contents(tmp_path) == before


def test_a_file_with_uncommitted_changes_above_the_folder_is_named(tmp_path: Path) -> None:
    fill(tmp_path, {"a.py": RETIRED, "sub/b.py": "x = 1\n"})
    git(tmp_path, "init", "-q")
    answer = call("run", "..", "--write", cwd=tmp_path / "sub")
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 1
    assert "a.py: uncommitted changes" in answer.err
    assert (tmp_path / "a.py").read_text() == RETIRED
