"""`jaxmigrate run --evidence`: calls that traces and logs name are proven, and what is said of the rest."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from command_line import Answer, call, process

from jaxmigrate.evidence.hits import Hit, Installed, Place
from jaxmigrate.evidence.trace_file import write_trace

LOGS = Path(__file__).resolve().parents[1] / "fixtures" / "logs"
CASES = sorted(file.parent for file in LOGS.glob("*/case.toml"))

UPDATE = Hit(
    "update.py",
    8,
    function="sgd",
    text="return jax.tree_util.tree_map(",
    end_line=12,
    column=12,
    end_column=6,
    places=(Place("['b']", "float"),),
    tests=("test_update.py::test_sgd",),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The little project that the logs are of."""
    return Path(shutil.copytree(LOGS / "project", tmp_path / "project"))


def log(name: str) -> str:
    """The path of a log."""
    return str(LOGS / name / "log.txt")


def trace(folder: Path, *hits: Hit) -> str:
    """The path of a trace with these hits."""
    path = folder / "t.jsonl"
    write_trace(path, hits, command=["pytest"], exit_code=0)
    return str(path)


def proven(answer: Answer) -> set[tuple[str, int]]:
    """Codemod and line of the sites in update.py that are edited because a run hit them."""
    return {
        (site["codemod"], site["line"])
        for site in answer.file("update.py")["sites"]
        if site["confidence"] == "proven" and site["action"] == "edit"
        if any("in a run" in evidence["note"] for evidence in site["evidence"])
    }


def test_without_evidence_the_calls_are_only_possible(project: Path) -> None:
    answer = call("run", "--select", "none-prefix,none-flatten", "--check", cwd=project)
    assert answer.code == 0
    assert "3 held sites are only possible" in answer.out


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_calls_that_a_log_names_are_proven(case: Path, project: Path) -> None:
    hits = tomllib.loads((case / "case.toml").read_text(encoding="utf-8"))["hits"]
    lines = {
        "/update.py:8 ": {("none-prefix", 8)},
        "/update.py:18 ": {("none-flatten", 17), ("none-flatten", 19)},
        "/update.py:30 ": {("tree-aliases", 30)},
    }
    expected = {
        site
        for hit in hits
        for words, sites in lines.items()
        if "site-packages" not in hit and words in f"/{hit}"
        for site in sites
    }
    answer = call("run", "--format", "json", "--evidence", log(case.name), cwd=project)
    assert answer.code == 0
    assert proven(answer) == expected


def test_the_evidence_is_shown_beside_the_edit(project: Path) -> None:
    out = call("run", "--evidence", log("pytest-default-colours"), cwd=project).out
    assert (
        "update.py:8:12 none-prefix (proven): params holds None: ['b'] met float in a run "
        "(test_update.py::test_sgd and 1 more)\n" in out
    )
    assert "    update.py:30: jax.tree_map failed in a run (test_update.py::TestScale" in out


def test_an_import_that_failed_shows_the_run(project: Path) -> None:
    out = call("run", "--evidence", log("import-error"), cwd=project).out
    assert "    old_import.py:3: jax.tree_map failed in a run\n" in out
    assert "not matched" not in out


def test_a_trace_proves_its_calls(project: Path, tmp_path: Path) -> None:
    answer = call("run", "--evidence", trace(tmp_path, UPDATE), cwd=project)
    assert "params holds None: ['b'] met float in a run (test_update.py::test_sgd)\n" in answer.out
    assert answer.err == ""
    assert "jaxmigrate trace" not in answer.out


def test_proven_is_enough_for_the_strictest_threshold(project: Path, tmp_path: Path) -> None:
    arguments = ("--confidence", "proven", "--select", "none-prefix", "--check")
    assert call("run", *arguments, cwd=project).code == 0
    evidence = ("--evidence", trace(tmp_path, UPDATE))
    assert call("run", *arguments, *evidence, cwd=project).code == 1


def test_several_files_of_evidence_add_up(project: Path, tmp_path: Path) -> None:
    files = ("--evidence", trace(tmp_path, UPDATE), "--evidence", log("flatten-up-to"))
    answer = call("run", "--format", "json", *files, cwd=project)
    assert proven(answer) == {("none-prefix", 8), ("none-flatten", 17), ("none-flatten", 19)}


def test_the_same_evidence_at_any_number_of_processes(project: Path) -> None:
    evidence = ("--format", "json", "--evidence", log("pytest-long"))
    one = call("run", "-j1", *evidence, cwd=project)
    assert call("run", "-j2", *evidence, cwd=project).stdout == one.stdout


def test_what_is_written_is_not_proven_again(project: Path) -> None:
    evidence = ("--evidence", log("pytest-long"))
    assert call("run", "--write", "--allow-dirty", *evidence, cwd=project).code == 0
    again = call("run", "--check", *evidence, cwd=project)
    assert again.code == 0
    assert "1 held" not in again.out
    assert "not matched" not in again.out
    verbose = call("run", "-v", *evidence, cwd=project)
    assert (
        "evidence no longer needed: update.py:30: it is guarded already, or gone\n" in verbose.out
    )


OLD = """import jax


def step(m, v, g, a, b):
    m = jax.tree_map(lambda x, y: x - y, m, g)
    v = jax.tree_map(lambda x, y: x * y, v, g)
    return m, v, jax.tree_map(max, a, b)
"""


@pytest.mark.parametrize("style", ["inline", "helper"])
def test_evidence_of_before_the_migration_is_counted_where_it_is_mended(
    tmp_path: Path, style: str
) -> None:
    file = tmp_path / "a.py"
    file.write_text(OLD, encoding="utf-8")
    lines = [line.strip() for line in OLD.splitlines()]
    hits = [Hit("a.py", n, "step", lines[n - 1], "jax.tree_map") for n in (5, 6)]
    evidence = ("--style", style, "--evidence", trace(tmp_path, *hits))
    assert call("run", "--write", "--allow-dirty", *evidence, cwd=tmp_path).code == 0
    assert "m = jax.tree_map" not in file.read_text(encoding="utf-8")
    again = call("run", "--check", *evidence, cwd=tmp_path)
    assert again.code == 0
    assert "2 calls that a run met are guarded already, or gone (-v lists them)\n" in again.out
    undone = file.read_text(encoding="utf-8").replace(
        "    m = ", "    n = jax.tree.map(f, m, g)\n    k = "
    )
    file.write_text(undone, encoding="utf-8")
    left = call("run", "--check", *evidence, cwd=tmp_path)
    assert left.code == 1
    assert "evidence not matched: a.py:5: it does not stand here any more" in left.out
    assert "1 call that a run met is guarded already, or gone" in left.out


def test_a_run_says_more_than_that_the_nones_are_the_same(tmp_path: Path) -> None:
    line = "    return jax.tree.map(lambda x, y: x - y, p, jax.tree.map(g, p))"
    (tmp_path / "a.py").write_text(f"import jax\n\n\ndef step(p, g):\n{line}\n", encoding="utf-8")
    hit = Hit("a.py", 5, "step", line.strip(), places=(Place("", "float"),))
    assert call("run", "--check", cwd=tmp_path).code == 0
    assert call("run", "--check", "--evidence", trace(tmp_path, hit), cwd=tmp_path).code == 1


def test_a_call_in_which_none_is_a_leaf_stays_as_it_is(tmp_path: Path) -> None:
    line = "jax.tree.map(lambda x, y: y, p, g, is_leaf=lambda x: x is None)"
    (tmp_path / "a.py").write_text(f"import jax\n{line}\n", encoding="utf-8")
    answer = call("run", "--check", "--evidence", trace(tmp_path, Hit("a.py", 2)), cwd=tmp_path)
    assert answer.code == 0
    assert "not matched" not in answer.out


def test_a_call_by_a_name_that_is_gone_is_renamed_and_guarded(tmp_path: Path) -> None:
    line = "jax.tree_map(lambda x, y: y, p, g)"
    (tmp_path / "a.py").write_text(f"import jax\n\n{line}\n", encoding="utf-8")
    evidence = trace(tmp_path, Hit("a.py", 3, "<module>", line))
    answer = call("run", "--write", "--allow-dirty", "--evidence", evidence, cwd=tmp_path)
    assert answer.code == 0
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == (
        "import jax\n\n"
        "jax.tree.map(lambda x, y: None if x is None else y, p, g, is_leaf=lambda x: x is None)\n"
    )


def test_a_partial_is_guarded_where_it_is_made(tmp_path: Path) -> None:
    text = "from functools import partial\nimport jax\n\nadd = partial(jax.tree.map, plus)\nadd(a, b)\n"
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    evidence = trace(tmp_path, Hit("a.py", 5, "<module>", "add(a, b)"))
    out = call("run", "--evidence", evidence, cwd=tmp_path).out
    assert "a.py:4:7 none-prefix (proven)" in out
    assert "+add = partial(" in out


def test_a_skip_comment_is_kept_to(project: Path, tmp_path: Path) -> None:
    file = project / "update.py"
    text = file.read_text(encoding="utf-8")
    file.write_text(
        text.replace("tree_map(\n", "tree_map(  # jaxmigrate: skip\n"), encoding="utf-8"
    )
    hit = Hit("update.py", 8, "sgd")
    evidence = ("--check", "--select", "none-prefix", "--evidence", trace(tmp_path, hit))
    answer = call("run", "--format", "json", *evidence, cwd=project)
    assert answer.code == 0
    assert proven(answer) == set()
    assert answer.report["unmatched_evidence"] == []
    words = "none-prefix (proven) held: a run met a None here; a comment says to leave it\n"
    assert f"update.py:8:12 {words}" in call("run", *evidence, cwd=project).out


@pytest.mark.parametrize("call_", ["self.tm(f, a, b)", "MAPS['tm'](f, a, b)"])
def test_a_call_that_the_source_does_not_show_is_left_to_be_guarded_by_hand(
    tmp_path: Path, call_: str
) -> None:
    (tmp_path / "a.py").write_text(f"import jax\n\nx = {call_}\n", encoding="utf-8")
    end = 5 + len(call_)
    hit = Hit(
        "a.py", 3, "<module>", f"x = {call_}", "jax.tree.map", end_line=3, column=5, end_column=end
    )
    answer = call("run", "--check", "--evidence", trace(tmp_path, hit, UPDATE), cwd=tmp_path)
    why = "a run called jax.tree.map here, which is not seen in the source; guard it by hand"
    assert f"evidence not matched: a.py:3: {why}\n" in answer.out
    assert "Nothing to edit in 1 file; 2 calls that a run met are left.\n" in answer.out
    assert answer.code == 1
    assert call("run", "--evidence", trace(tmp_path, hit), cwd=tmp_path).code == 0


def test_a_hit_that_is_not_found_is_named_with_the_reason(project: Path, tmp_path: Path) -> None:
    gone = Hit("update.py", 3, "sgd", "jax.tree.map(f, a, b)")
    answer = call("run", "--evidence", trace(tmp_path, gone), cwd=project)
    why = "it does not stand here any more, and no other line in sgd reads so"
    assert f"evidence not matched: update.py:3: {why}\n" in answer.out
    assert answer.code == 0
    quiet = call("run", "-q", "--evidence", trace(tmp_path, gone), cwd=project)
    assert "evidence not matched: update.py:3" in quiet.out
    report = call(
        "run", "--format", "json", "--evidence", trace(tmp_path, gone), cwd=project
    ).report
    assert report["unmatched_evidence"] == [{"path": "update.py", "line": 3, "note": why}]


def test_a_hit_in_a_package_is_listed_on_its_own(project: Path, tmp_path: Path) -> None:
    path = "/e/lib/python3.10/site-packages/optax/_src/update.py"
    hit = Hit(path, 42, places=(Place("['b']", "float"),), package=Installed("optax", "0.2.2"))
    words = "['b'] met float in a run"
    evidence = ("--evidence", trace(tmp_path, hit))
    assert (
        f"evidence in optax 0.2.2: {path}:42: {words}\n" in call("run", *evidence, cwd=project).out
    )
    report = call("run", "--format", "json", *evidence, cwd=project).report
    assert report["evidence_in_packages"] == [
        {"package": "optax 0.2.2", "path": path, "line": 42, "note": words}
    ]
    assert report["unmatched_evidence"] == []


def test_a_log_of_a_package_names_it_by_its_folder(project: Path) -> None:
    assert "evidence in optax: " in call("run", "--evidence", log("in-a-package"), cwd=project).out


def test_the_terminal_shows_what_was_not_matched_too(project: Path, tmp_path: Path) -> None:
    gone = trace(tmp_path, Hit("nowhere[/red].py", 3))
    answer = call("run", "--color", "--evidence", gone, cwd=project)
    assert "evidence not matched: nowhere[/red].py:3:" in answer.out


def test_after_a_log_the_way_to_all_calls_is_said(project: Path) -> None:
    hint = (
        "A log names one call a failure: jaxmigrate trace -- COMMAND finds all of them in one run."
    )
    assert hint in call("run", "--evidence", log("pytest-line"), cwd=project).out
    assert hint not in call("run", cwd=project).out
    assert hint not in call("run", "-q", "--evidence", log("pytest-line"), cwd=project).out


def test_a_file_that_names_no_failure_is_said_to(project: Path, tmp_path: Path) -> None:
    (project / "log.txt").write_text("4 passed\n", encoding="utf-8")
    answer = call("run", "--evidence", "log.txt", cwd=project)
    words = "no None-prefix failure found: give a trace, or the output of a failing run"
    assert words in answer.err
    assert answer.code == 0
    assert "A log names" not in answer.out
    empty = call("run", "--evidence", trace(tmp_path), cwd=project)
    assert empty.err.endswith("t.jsonl: the trace names no call\n")


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (0, "the file is empty: give a trace, or the output of a failing run with its tracebacks"),
        (30, "the trace ends in the middle of a line: 0 calls read"),
        (-9, "the trace ends in the middle of a line: 1 call read"),
    ],
)
def test_a_trace_that_is_cut_off_is_said_to_be(
    project: Path, tmp_path: Path, length: int, words: str
) -> None:
    file = Path(trace(tmp_path, UPDATE, UPDATE))
    file.write_bytes(file.read_bytes()[:length])
    answer = call("run", "--evidence", str(file), cwd=project)
    assert answer.err.endswith(f"t.jsonl: {words}\n")
    assert answer.code == 0


@pytest.mark.parametrize(
    ("name", "why"), [("missing", "no such file or directory"), (".", "is a directory")]
)
def test_a_file_that_cannot_be_read_ends_the_run(name: str, why: str, project: Path) -> None:
    answer = call("run", "--evidence", name, cwd=project)
    assert answer.code == 2
    assert f"{name}: {why}" in answer.err
    assert answer.out == ""


def test_a_trace_of_another_form_ends_the_run(project: Path) -> None:
    (project / "t.jsonl").write_text('{"jaxmigrate_trace": 99}\n', encoding="utf-8")
    answer = call("run", "--evidence", "t.jsonl", cwd=project)
    assert answer.code == 2
    assert "form 99" in answer.err


def test_evidence_serves_for_standard_input_too(project: Path) -> None:
    text = (project / "update.py").read_bytes()
    name = ("-", "--stdin-filename", "update.py")
    answer = call("run", *name, "--evidence", log("pytest-setup"), cwd=project, stdin=text)
    assert b"None if p is None" in answer.stdout
    other = call("run", *name, "--evidence", log("in-a-package"), cwd=project, stdin=text)
    assert "evidence in optax: " in other.err
    assert b"None if p is None" not in other.stdout


def test_a_hit_in_another_file_of_the_project_is_not_amiss_where_files_are_named(
    project: Path, tmp_path: Path
) -> None:
    (project / "pyproject.toml").write_text("", encoding="utf-8")
    evidence = ("--evidence", trace(tmp_path, UPDATE))
    assert "not matched" not in call("run", "main.py", *evidence, cwd=project).out


def test_what_a_traced_run_finds_is_edited_and_then_passes(project: Path) -> None:
    pytest.importorskip("jax")
    program = ("--", sys.executable, "main.py", "plain", "sgd")
    assert process("trace", "-o", "t.jsonl", *program, cwd=project).code == 0
    answer = call("run", "--format", "json", "--evidence", "t.jsonl", "--write", cwd=project)
    assert proven(answer) == {("none-prefix", 8)}
    assert process("trace", "--strict", "--check", *program, cwd=project).code == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_log_may_come_out_of_a_pipe(project: Path) -> None:
    import threading

    pipe = project / "pipe"
    os.mkfifo(pipe)
    data = Path(log("traceback-0.10.2")).read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    answer = call("run", "--format", "json", "--evidence", "pipe", cwd=project)
    writer.join()
    assert proven(answer) == {("none-prefix", 8)}


def test_the_tree_of_a_call_that_was_met_is_suspected_at_other_calls(tmp_path: Path) -> None:
    source = tmp_path / "step.py"
    source.write_text(
        "import jax\n\n\n"
        "def step(params, grads, noise):\n"
        "    moved = jax.tree.map(lambda p, g: p - g, params, grads)\n"
        "    shaken = jax.tree.map(lambda p, n: p + n, params, noise)\n"
        "    return moved, shaken\n"
    )
    hit = Hit(
        "step.py",
        5,
        function="step",
        text="moved = jax.tree.map(lambda p, g: p - g, params, grads)",
        places=(Place("['b']", "float"),),
    )
    evidence = trace(tmp_path, hit)
    answer = call("run", "step.py", "--write", "--evidence", evidence, cwd=tmp_path)
    assert answer.code == 0
    once = source.read_text()
    assert once.count("is_leaf=") == 2
    assert call("run", "step.py", "--write", cwd=tmp_path).code == 0
    assert source.read_text() == once
