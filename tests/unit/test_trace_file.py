"""Traces are read as they were written; what is none is told apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxmigrate.errors import UsageError
from jaxmigrate.evidence.hits import Hit, HitKind, Installed, Place
from jaxmigrate.evidence.trace_file import Trace, is_trace, read_trace, write_trace

HITS = (
    Hit(
        path="pkg/a ö\udcff.py",
        line=3,
        function="step",
        text="tree_map(f, a, b)",
        map="jax.tree.map",
        end_line=4,
        column=1,
        end_column=18,
        places=(Place("['b']", "float", 2), Place("", "dict")),
        count=3,
        tests=("tests/test_a.py::test",),
        jax="0.10.2",
    ),
    Hit(path="x.py", line=1, kind=HitKind.REMOVED_NAME, package=Installed("optax", "0.2.2")),
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace on disk."""
    write_trace(tmp_path / "t", HITS, command=["pytest", "-q"], exit_code=1)
    return tmp_path / "t"


def test_a_trace_is_read_as_it_was_written(trace: Path) -> None:
    assert read_trace(trace).hits == HITS


def test_the_first_line_tells_a_trace(trace: Path) -> None:
    first = trace.read_bytes().splitlines()[0]
    assert is_trace(first)
    assert not is_trace(b"Traceback (most recent call last):")
    assert not is_trace(b"[1]")
    header = json.loads(first)
    assert (header["jaxmigrate_trace"], header["exit_code"]) == (1, 1)
    assert header["command"] == ["pytest", "-q"]


def test_what_a_reader_does_not_know_is_passed_over(trace: Path) -> None:
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    for line in lines:
        line["later"] = 1
    lines[1]["places"][0]["later"] = 2
    lines.append({**lines[1], "kind": "of a later version"})
    trace.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert read_trace(trace).hits == HITS


def test_only_what_is_needed_must_be_there(trace: Path) -> None:
    header = trace.read_text().splitlines()[0]
    trace.write_text(f'{header}\n{{"path": "a.py", "line": 7}}\n')
    assert read_trace(trace).hits == (Hit("a.py", 7),)


def test_traces_may_stand_one_behind_the_other(trace: Path) -> None:
    trace.write_bytes(trace.read_bytes() * 2)
    assert read_trace(trace) == Trace(HITS * 2)


@pytest.mark.parametrize(("cut", "hits"), [(-5, 1), (-1, 2), (30, 0)])
def test_what_stands_before_the_end_of_a_trace_that_is_cut_off_is_read(
    trace: Path, cut: int, hits: int
) -> None:
    trace.write_bytes(trace.read_bytes()[:cut])
    assert read_trace(trace) == Trace(HITS[:hits], is_cut=hits < 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a trace; make one with jaxmigrate trace"),
        ("Traceback\n", "not a trace"),
        ('{"jaxmigrate_trace": 2}\n', "a trace of form 2, and this jaxmigrate reads form 1"),
        ('{"jaxmigrate_trace": 1}\n{"jaxmigrate_trace": 2}\n', "a trace of form 2"),
        ('{"jaxmigrate_trace": 1}\nx\n', "t:2: not the record of a call"),
        ('{"jaxmigrate_trace": 1}\n{"path": "a"}\n', "t:2: not the record of a call"),
        ('{"jaxmigrate_trace": 1}\n{"path": "a", "line": 1, "places": 3}\n', "t:2: not the"),
    ],
)
def test_what_is_no_trace_is_refused(trace: Path, text: str, words: str) -> None:
    trace.write_text(text)
    with pytest.raises(UsageError, match=words):
        read_trace(trace)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: no such file or directory"):
        read_trace(tmp_path / "none")
    with pytest.raises(UsageError, match="is a directory"):
        read_trace(tmp_path)


def test_a_trace_is_written_whole_or_not_at_all(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, _: bytes) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UsageError, match="t: the trace cannot be written: no space left"):
        write_trace(trace, (), command=[], exit_code=0)
    monkeypatch.undo()
    assert read_trace(trace).hits == HITS
    assert list(trace.parent.iterdir()) == [trace]
