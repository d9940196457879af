"""Every option of `run` has an effect that can be seen."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from command_line import (
    BROKEN,
    GUARDED,
    MENDED,
    PREFIX,
    RETIRED,
    UNKNOWN,
    Answer,
    call,
    contents,
    fill,
    git,
    process,
)

BOTH = RETIRED + PREFIX
OLD_SPELLING = "import jax\njax.tree_util.tree_map(f, t)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a file for each codemod and one that needs nothing."""
    files = {"a.py": RETIRED, "pkg/b.py": PREFIX, "pkg/c.py": MENDED, "d.txt": RETIRED}
    return fill(tmp_path / "project", files)


@pytest.fixture
def checkout(project: Path) -> Path:
    """The same folder, committed."""
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-qm", "all")
    return project


def edited(answer: Answer) -> dict[str, int]:
    """How many edits each codemod made, by the report."""
    return dict(answer.report["summary"]["edited"])


# what is done with the result


def test_without_options_it_shows_diffs_and_writes_nothing(project: Path) -> None:
    before = contents(project)
    answer = call("run", cwd=project)
    assert answer.code == 0
    assert "-jax.tree_map(f, t)\n+jax.tree.map(f, t)\n" in answer.out
    assert "is_leaf=lambda x: x is None" in answer.out
    assert "pkg/b.py" in answer.out
    assert "--write" in answer.out
    assert contents(project) == before


def test_write_edits_the_files_and_nothing_else(project: Path) -> None:
    before = contents(project)
    assert call("run", "--write", cwd=project).code == 0
    expected = {**before, "a.py": MENDED.encode(), "pkg/b.py": GUARDED.encode()}
    assert contents(project) == expected


def test_a_second_write_edits_nothing(project: Path) -> None:
    call("run", "--write", cwd=project)
    before = contents(project)
    answer = call("run", "--write", "--format", "json", cwd=project)
    assert answer.report["summary"]["changed"] == 0
    assert contents(project) == before


def test_paths_limit_what_is_edited(project: Path) -> None:
    call("run", "pkg", "--write", cwd=project)
    assert (project / "a.py").read_text() == RETIRED
    assert (project / "pkg/b.py").read_text() == GUARDED


def test_a_file_that_is_named_is_taken_whatever_it_is_called(project: Path) -> None:
    call("run", "d.txt", "--write", cwd=project)
    assert (project / "d.txt").read_text() == MENDED


def test_the_patch_of_git_apply_is_what_write_does(checkout: Path) -> None:
    before = contents(checkout)
    assert call("run", "--patch", "../all.patch", cwd=checkout).code == 0
    assert contents(checkout) == before
    git(checkout, "apply", "../all.patch")
    patched = contents(checkout)
    git(checkout, "apply", "-R", "../all.patch")
    assert contents(checkout) == before
    call("run", "--write", cwd=checkout)
    assert contents(checkout) == patched


def test_a_patch_from_a_subfolder_applies_at_the_top(checkout: Path) -> None:
    assert call("run", "--patch", "../../sub.patch", cwd=checkout / "pkg").code == 0
    git(checkout, "apply", "../sub.patch")
    assert (checkout / "pkg/b.py").read_text() == GUARDED


def test_a_patch_folder_holds_one_patch_a_changed_file(checkout: Path) -> None:
    before = contents(checkout)
    assert call("run", "--patch-dir", "../out", cwd=checkout).code == 0
    assert contents(checkout) == before
    saved = contents(checkout.parent / "out")
    assert len(saved) == 2
    assert {name.rpartition(".py")[0] for name in saved} == {"a", "pkg/b"}
    for name in saved:
        git(checkout, "apply", f"../out/{name}")
    assert (checkout / "a.py").read_text() == MENDED
    assert (checkout / "pkg/b.py").read_text() == GUARDED


def test_patch_patch_folder_and_write_can_be_had_at_once(project: Path) -> None:
    arguments = ("--write", "--patch", "../p.patch", "--patch-dir", "../out")
    assert call("run", *arguments, cwd=project).code == 0
    assert (project / "a.py").read_text() == MENDED
    assert "jax.tree.map" in (project.parent / "p.patch").read_text()
    assert len(contents(project.parent / "out")) == 2


def test_a_patch_of_nothing_is_empty(tmp_path: Path) -> None:
    call("run", "--patch", "p.patch", cwd=fill(tmp_path, {"a.py": MENDED}))
    assert (tmp_path / "p.patch").read_bytes() == b""


@pytest.mark.parametrize("check", [(), ("--check",)])
@pytest.mark.parametrize("format_", [(), ("--format", "json")])
@pytest.mark.parametrize("said", [(), ("-q",), ("-v",), ("--color",)])
@pytest.mark.parametrize("saved", [(), ("--patch", "../p"), ("--patch-dir", "../d")])
@pytest.mark.parametrize("sure", [(), ("--confidence", "possible")])
def test_no_preview_changes_any_file(
    project: Path,
    check: tuple[str, ...],
    format_: tuple[str, ...],
    said: tuple[str, ...],
    saved: tuple[str, ...],
    sure: tuple[str, ...],
) -> None:
    before = contents(project)
    times = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    answer = call("run", *check, *format_, *said, *saved, *sure, cwd=project)
    assert answer.code == (1 if check else 0)
    assert contents(project) == before
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == times


def test_check_shows_what_it_found(project: Path) -> None:
    answer = call("run", "--check", cwd=project)
    assert answer.code == 1
    assert "a.py" in answer.out
    assert "+jax.tree.map(f, t)" in answer.out


# what is edited


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"tree-aliases": 1, "none-prefix": 1}),
        (["--select", "tree-aliases"], {"tree-aliases": 1}),
        (["--select", "none-prefix"], {"none-prefix": 1}),
        (["--select", "none-prefix,tree-aliases"], {"tree-aliases": 1, "none-prefix": 1}),
        (
            ["--select", "none-prefix", "--select", "tree-aliases"],
            {"tree-aliases": 1, "none-prefix": 1},
        ),
        (["--ignore", "tree-aliases"], {"none-prefix": 1}),
        (["--ignore", "none-prefix"], {"tree-aliases": 1}),
        (["--select", "none-prefix, tree-aliases", "--ignore", "none-prefix"], {"tree-aliases": 1}),
    ],
)
def test_select_and_ignore_choose_the_codemods(
    tmp_path: Path, options: list[str], expected: dict[str, int]
) -> None:
    answer = call("run", "--format", "json", *options, cwd=fill(tmp_path, {"a.py": BOTH}))
    assert edited(answer) == expected


@pytest.mark.parametrize(
    ("confidence", "guards", "held"),
    [(None, 1, 1), ("possible", 2, 0), ("likely", 1, 1), ("proven", 0, 2)],
)
def test_confidence_says_from_where_on_sites_are_edited(
    tmp_path: Path, confidence: str | None, guards: int, held: int
) -> None:
    likely = "import jax\n\n\ndef g(a=None):\n    return jax.tree.map(f, [a, None], t)\n"
    fill(tmp_path, {"a.py": likely, "b.py": UNKNOWN})
    options = [] if confidence is None else ["--confidence", confidence]
    answer = call("run", "--format", "json", *options, cwd=tmp_path)
    if confidence == "proven" and edited(answer):
        guards, held = 1, 1  # a display that reaches the first tree may be called proven
    assert edited(answer) == ({"none-prefix": guards} if guards else {})
    assert answer.report["summary"]["held"] == ({"none-prefix": held} if held else {})


def test_what_is_held_is_named_with_the_option_that_edits_it(tmp_path: Path) -> None:
    answer = call("run", cwd=fill(tmp_path, {"a.py": UNKNOWN}))
    assert "1 held" in answer.out
    assert "a.py:2:1" in answer.out
    assert "--confidence possible" in answer.out


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_confidence_and_target_reach_worker_processes(tmp_path: Path, jobs: str) -> None:
    fill(tmp_path, {"a.py": RETIRED, "b.py": UNKNOWN})
    options = ("--confidence", "possible", "--target-jax", "0.4.20", "--write", "-j", jobs)
    assert process("run", *options, cwd=tmp_path).code == 0
    assert (tmp_path / "a.py").read_text() == OLD_SPELLING
    assert "is_leaf" in (tmp_path / "b.py").read_text()


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("0.2.0", OLD_SPELLING),
        ("0.4.24", OLD_SPELLING),
        ("0.4.25", MENDED),
        ("0.4.26", MENDED),
        ("0.6", MENDED),
        ("0.10.2", MENDED),
    ],
)
def test_the_target_decides_the_spelling(tmp_path: Path, target: str, expected: str) -> None:
    fill(tmp_path, {"a.py": RETIRED})
    answer = call("run", "--write", "--target-jax", target, "--format", "json", cwd=tmp_path)
    assert (tmp_path / "a.py").read_text() == expected
    assert answer.report["target_jax"] == target


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pyproject.toml", '[project]\nname = "x"\ndependencies = ["jax>=0.4.1"]\n', "0.4.1"),
        ("pyproject.toml", '[project]\nname = "x"\ndependencies = ["jax>=0.4.30"]\n', "0.4.30"),
        ("pyproject.toml", '[tool.poetry.dependencies]\njax = "^0.4.13"\n', "0.4.13"),
        ("setup.cfg", "[options]\ninstall_requires =\n    jax >= 0.3.4\n", "0.3.4"),
        ("setup.py", "setup(install_requires=['jax>=0.2.25', 'numpy'])\n", "0.2.25"),
        ("requirements.txt", "numpy\njax[cpu]==0.4.20  # pinned\n", "0.4.20"),
        ("requirements/base.txt", "jax~=0.4.8\n", "0.4.8"),
        ("pyproject.toml", '[project]\nname = "x"\n', "0.10.2"),
        ("pyproject.toml", "not toml at all [", "0.10.2"),
        ("requirements.txt", "jaxtyping>=0.2\n", "0.10.2"),
    ],
)
def test_the_metadata_of_the_project_decides_the_target(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    fill(tmp_path, {name: text, "src/pkg/a.py": RETIRED})
    for paths in ((), ("src",), ("src/pkg/a.py",)):
        git(tmp_path, "init", "-q")
        answer = call("run", "--format", "json", *paths, cwd=tmp_path)
        assert answer.report["target_jax"] == expected


def test_the_target_on_the_command_line_goes_before_the_metadata(tmp_path: Path) -> None:
    fill(tmp_path, {"requirements.txt": "jax==0.4.20\n", "a.py": RETIRED})
    call("run", "--write", "--target-jax", "0.5.0", cwd=tmp_path)
    assert (tmp_path / "a.py").read_text() == MENDED


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        (["a.py"], {"pkg/a.py": False, "a.py": False, "pkg/b.py": True, "other.py": True}),
        (["/a.py"], {"pkg/a.py": True, "a.py": False, "pkg/b.py": True, "other.py": True}),
        (["pkg/"], {"pkg/a.py": False, "a.py": True, "pkg/b.py": False, "other.py": True}),
        (["pkg/*"], {"pkg/a.py": False, "a.py": True, "pkg/b.py": False, "other.py": True}),
        (
            ["*b.py", "other*"],
            {"pkg/a.py": True, "a.py": True, "pkg/b.py": False, "other.py": False},
        ),
    ],
)
def test_excluded_files_are_left_out(
    tmp_path: Path, patterns: list[str], left: dict[str, bool]
) -> None:
    fill(tmp_path, dict.fromkeys(left, RETIRED))
    options = [part for pattern in patterns for part in ("--exclude", pattern)]
    call("run", "--write", *options, cwd=tmp_path)
    edited_files = {name: (tmp_path / name).read_text() == MENDED for name in left}
    assert edited_files == left


# uncommitted changes


def test_a_clean_checkout_is_written(checkout: Path) -> None:
    assert call("run", "--write", cwd=checkout).code == 0
    assert (checkout / "a.py").read_text() == MENDED


@pytest.mark.parametrize("state", ["changed", "staged", "new"])
def test_uncommitted_changes_are_refused_by_name_and_nothing_is_written(
    checkout: Path, state: str
) -> None:
    name = "new.py" if state == "new" else "a.py"
    fill(checkout, {name: "# mine\n" + RETIRED})
    if state == "staged":
        git(checkout, "add", name)
    before = contents(checkout)
    answer = call("run", "--write", cwd=checkout)
    assert answer.code == 2
    assert name in answer.err
    assert "--allow-dirty" in answer.err
    assert len(answer.err.splitlines()) == 1
    after = contents(checkout)
    assert {n: d for n, d in after.items() if not n.startswith(".git/")} == {
        n: d for n, d in before.items() if not n.startswith(".git/")
    }


def test_allow_dirty_writes_all_the_same(checkout: Path) -> None:
    fill(checkout, {"a.py": "# mine\n" + RETIRED})
    assert call("run", "--write", "--allow-dirty", cwd=checkout).code == 0
    assert (checkout / "a.py").read_text() == "# mine\n" + MENDED


def test_changes_in_files_that_stay_are_no_hindrance(checkout: Path) -> None:
    fill(checkout, {"pkg/c.py": MENDED + "# mine\n", "d.txt": "mine\n"})
    assert call("run", "--write", cwd=checkout).code == 0
    assert (checkout / "a.py").read_text() == MENDED


@pytest.mark.parametrize("option", [(), ("--check",), ("--patch", "../p")])
def test_a_preview_minds_no_uncommitted_changes(checkout: Path, option: tuple[str, ...]) -> None:
    fill(checkout, {"a.py": "# mine\n" + RETIRED})
    assert call("run", *option, cwd=checkout).code in (0, 1)


def test_more_than_three_dirty_files_are_counted(checkout: Path) -> None:
    fill(checkout, {f"n{i}.py": RETIRED for i in range(6)})
    answer = call("run", "--write", cwd=checkout)
    assert answer.code == 2
    assert "n0.py" in answer.err
    assert "3 more" in answer.err


def test_dirty_files_outside_the_current_folder_are_refused_by_name(checkout: Path) -> None:
    fill(checkout, {"a.py": "# mine\n" + RETIRED})
    answer = call("run", "--write", "..", cwd=checkout / "pkg")
    assert answer.code == 2
    assert "a.py" in answer.err


# what is said


def test_quiet_leaves_out_the_diffs(project: Path) -> None:
    loud, quiet = call("run", cwd=project), call("run", "-q", cwd=project)
    assert "+jax.tree.map(f, t)" in loud.out
    assert "jax.tree.map" not in quiet.out
    assert quiet.out.strip()
    assert call("run", "--quiet", cwd=project).out == quiet.out


def test_verbose_tells_the_evidence_of_what_is_held(tmp_path: Path) -> None:
    source = "import jax\n\n\ndef g(a: list | None, t):\n    return jax.tree.map(f, a, t)\n"
    fill(tmp_path, {"a.py": source})
    option = ("--confidence", "proven")
    plain, told = call("run", *option, cwd=tmp_path), call("run", "-v", *option, cwd=tmp_path)
    assert "(likely) held: a may hold None" in plain.out
    assert "line 4" not in plain.out
    assert "(line 4)\n" in told.out


def test_color_and_no_color_decide_over_escapes(project: Path) -> None:
    assert "\x1b[" in call("run", "--color", cwd=project).out
    assert "\x1b" not in call("run", "--no-color", cwd=project).out
    assert "\x1b" not in call("run", cwd=project).out


def test_color_changes_no_words(project: Path) -> None:
    bare = re.sub(r"\x1b\[[0-9;]*m", "", call("run", "--color", cwd=project).out)
    assert "jax.tree_map was removed in JAX 0.6.0" in " ".join(bare.split())


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals")
@pytest.mark.parametrize("columns", ["40", "80"])
def test_on_a_terminal_source_is_not_taken_for_markup(tmp_path: Path, columns: str) -> None:
    fill(tmp_path, {"a.py": 'import jax\nx = "[/red] :smile: 線"; jax.tree_map(f, t)\n'})
    answer = process("run", "--color", cwd=tmp_path, extra={"COLUMNS": columns})
    assert answer.code == 0
    bare = re.sub(r"\x1b\[[0-9;]*m", "", answer.out)
    assert "[/red]" in bare
    assert ":smile:" in bare
    assert "線" in bare


KEYS = [
    *("schema", "version", "target_jax", "files", "summary"),
    *("unmatched_evidence", "evidence_in_packages"),
]
SITE_KEYS = [
    *("codemod", "action", "confidence", "reason", "evidence", "line", "column"),
    *("end_line", "end_column", "cell", "before", "after"),
]


def test_the_json_report_has_the_keys_of_schema_1_in_their_order(project: Path) -> None:
    fill(project, {"bad.py": BROKEN, "held.py": UNKNOWN})
    answer = call("run", "--format", "json", cwd=project)
    report = answer.report
    assert answer.err == ""
    assert list(report) == KEYS
    assert report["schema"] == 1
    assert [file["path"] for file in report["files"]] == sorted(
        ["a.py", "bad.py", "held.py", "pkg/b.py", "pkg/c.py"]
    )
    for file in report["files"]:
        assert list(file) == ["path", "status", "error", "sites"]
        assert file["status"] in ("changed", "unchanged", "failed")
        assert (file["error"] is None) == (file["status"] != "failed")
        for site in file["sites"]:
            assert list(site) == SITE_KEYS
            assert site["action"] in ("edit", "hold", "report")
            assert site["confidence"] in ("proven", "likely", "possible")
            assert site["cell"] is None
    assert list(report["summary"]) == ["files", "changed", "failed", "edited", "held", "reported"]
    assert report["summary"]["files"] == 5
    assert report["summary"]["changed"] == 2
    assert report["summary"]["failed"] == 1
    assert report["summary"]["held"] == {"none-prefix": 1}


def test_a_site_says_where_it_is_and_what_becomes_of_it(tmp_path: Path) -> None:
    source = "import jax\nx = 'é', jax.tree_map(\n    f, t)\n"
    answer = call("run", "--format", "json", cwd=fill(tmp_path, {"a.py": source}))
    (site,) = answer.file("a.py")["sites"]
    assert (site["line"], site["column"], site["end_line"], site["end_column"]) == (2, 10, 2, 22)
    assert (site["before"], site["after"]) == ("jax.tree_map", "jax.tree.map")


def test_a_site_of_the_second_codemod_is_told_in_lines_of_the_file_as_it_was(
    tmp_path: Path,
) -> None:
    source = (
        "from jax import jit, tree_map\nimport jax\n\n"
        'x = jax.tree_map(f, t), jax.tree_multimap(f, {"a": None}, t)\n'
    )
    answer = call("run", "--format", "json", cwd=fill(tmp_path, {"a.py": source}))
    sites = {site["codemod"]: site for site in answer.file("a.py")["sites"]}
    guard = sites["none-prefix"]
    assert guard["line"] == guard["end_line"] == 4
    assert guard["before"] == 'jax.tree_multimap(f, {"a": None}, t)'
    assert guard["column"] == 1 + source.splitlines()[3].index(guard["before"])
    assert guard["evidence"][0]["line"] == 4


def test_text_and_json_count_the_same(project: Path) -> None:
    summary = call("run", "--format", "json", cwd=project).report["summary"]
    text = call("run", cwd=project).out
    assert f"{summary['changed']} of {summary['files']} files" in text


# processes


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A project whose files need each other, with a few that fail."""
    files: dict[str, str] = {
        "pkg/__init__.py": "from .maps import tmap\n",
        "pkg/maps.py": "import jax\ntmap = jax.tree_map\n",
        "bad.py": BROKEN,
        "bad2.py": "# jax.tree_map\n" + BROKEN,
    }
    for i in range(12):
        files[f"pkg/u{i}.py"] = f"from pkg import tmap\ntmap(f, [None, {i}], t)\n"
        files[f"z{i}.py"] = RETIRED + UNKNOWN
    return fill(tmp_path, files)


def test_the_report_is_the_same_at_any_number_of_jobs_and_twice(many: Path) -> None:
    answers = [
        process("run", "--format", "json", "-j", jobs, cwd=many, extra={"PYTHONHASHSEED": seed})
        for jobs, seed in (("1", "1"), ("1", "2"), ("2", "3"), ("4", "4"))
    ]
    assert answers[0].code == 3
    assert answers[0].report["summary"]["changed"] == 25
    for answer in answers[1:]:
        assert answer.stdout == answers[0].stdout
        assert answer.code == answers[0].code


def test_the_text_and_the_patch_are_the_same_at_any_number_of_jobs(many: Path) -> None:
    one = process("run", "-v", "-j", "1", "--patch", "../one.patch", cwd=many)
    two = process("run", "-v", "-j", "2", "--patch", "../two.patch", cwd=many)
    assert one.out.replace("one.patch", "two.patch") == two.out
    patches = [(many.parent / name).read_bytes() for name in ("one.patch", "two.patch")]
    assert patches[0] == patches[1] != b""


@pytest.mark.parametrize("option", ["-j", "--jobs"])
def test_two_jobs_write_what_one_writes(many: Path, option: str) -> None:
    assert process("run", "--write", option, "2", cwd=many).code == 3
    assert (many / "z3.py").read_text() == MENDED + UNKNOWN


# standard input


def test_a_pipe_goes_to_standard_output(tmp_path: Path) -> None:
    answer = call("run", "-", cwd=tmp_path, stdin=RETIRED.encode())
    assert (answer.code, answer.out, answer.err) == (0, MENDED, "")


@pytest.mark.parametrize("data", [b"", b"x = 1", b"\xef\xbb\xbfx = 1\r\n", b"\x0c\rx = 1\r"])
def test_a_pipe_gives_back_what_needs_nothing(tmp_path: Path, data: bytes) -> None:
    assert call("run", "-", cwd=tmp_path, stdin=data).stdout == data


def test_a_pipe_keeps_bytes_in_a_process(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbfimport jax\r\n\x0c\r\njax.tree_map(f, t)  # caf\xc3\xa9"
    answer = process("run", "-", cwd=tmp_path, stdin=data)
    assert answer.stdout == data.replace(b"tree_map", b"tree.map")


def test_the_name_of_a_pipe_stands_in_what_is_said(tmp_path: Path) -> None:
    answer = call(
        "run", "-", "--stdin-filename", "pkg/name.py", cwd=tmp_path, stdin=BROKEN.encode()
    )
    assert answer.code == 3
    assert answer.out == ""
    assert "pkg/name.py" in answer.err
    assert "cannot be parsed" in answer.err
    assert len(answer.err.splitlines()) == 1


def test_the_name_of_a_pipe_stands_in_the_report(tmp_path: Path) -> None:
    arguments = ("run", "-", "--stdin-filename", "n.py", "--format", "json")
    answer = call(*arguments, cwd=tmp_path, stdin=RETIRED.encode())
    assert answer.file("n.py")["status"] == "changed"


@pytest.mark.parametrize(("source", "code"), [(RETIRED, 1), (MENDED, 0), (BROKEN, 3)])
def test_check_of_a_pipe_tells_by_its_exit_code(tmp_path: Path, source: str, code: int) -> None:
    answer = call("run", "-", "--check", cwd=tmp_path, stdin=source.encode())
    assert answer.code == code
    assert answer.out == ""


def test_options_hold_for_a_pipe(tmp_path: Path) -> None:
    fill(tmp_path, {"requirements.txt": "jax==0.4.20\n"})
    assert call("run", "-", cwd=tmp_path, stdin=RETIRED.encode()).out == OLD_SPELLING
    for options, expected in (
        (("--target-jax", "0.5.0"), MENDED),
        (("--ignore", "tree-aliases"), RETIRED),
        (("--select", "none-prefix"), RETIRED),
    ):
        assert call("run", "-", *options, cwd=tmp_path, stdin=RETIRED.encode()).out == expected
    guarded = call("run", "-", "--confidence", "possible", cwd=tmp_path, stdin=UNKNOWN.encode())
    assert "is_leaf" in guarded.out


@pytest.mark.parametrize("data", [b"x = '\xff'\n", b"\0", b"x = (\n"])
def test_a_pipe_that_cannot_be_processed_exits_with_3(tmp_path: Path, data: bytes) -> None:
    answer = call("run", "-", cwd=tmp_path, stdin=data)
    assert answer.code == 3
    assert answer.out == ""
    assert "stdin" in answer.err


def test_a_file_that_is_called_dash_is_reached_by_its_path(tmp_path: Path) -> None:
    fill(tmp_path, {"-": RETIRED})
    assert call("run", "--write", "./-", cwd=tmp_path).code == 0
    assert (tmp_path / "-").read_text() == MENDED


def test_the_module_runs_from_anywhere(tmp_path: Path) -> None:
    folder = fill(tmp_path / "p", {"a.py": RETIRED})
    answer = process("run", str(folder), "--write", cwd=tmp_path.parent)
    assert answer.code == 0
    assert (folder / "a.py").read_text() == MENDED


def test_a_file_reached_by_a_link_is_written_and_the_link_stays(tmp_path: Path) -> None:
    fill(tmp_path, {"real/a.py": RETIRED})
    (tmp_path / "link.py").symlink_to("real/a.py")
    assert call("run", "link.py", "--write", cwd=tmp_path).code == 0
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "real/a.py").read_text() == MENDED


def test_git_is_not_needed(project: Path) -> None:
    extra = {"PATH": "/nowhere"}
    answer = process("run", "--write", cwd=project, extra=extra)
    assert answer.code == 0, answer.both
    assert (project / "a.py").read_text() == MENDED


def test_a_folder_within_a_file_system_without_git_has_a_patch_too(project: Path) -> None:
    call("run", "--patch", "p.patch", cwd=project)
    done = subprocess.run(
        ["git", "apply", "p.patch"], cwd=project, check=False, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert (project / "a.py").read_text() == MENDED
