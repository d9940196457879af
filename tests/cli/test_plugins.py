"""Codemods of other packages: they run, and one that fails costs a file and exit 4, never the run."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from command_line import BROKEN, MENDED, RETIRED, Answer, contents, fill, process

PLUGIN = '''
"""A codemod of another package.

**Why.** It renames calls of `old`, or fails at them.
"""

import ast
import os

import libcst as cst

from jaxmigrate.api import Action, Codemod, Confidence, Example, Site


class Other(Codemod):
    name = "other"
    summary = "Rename old"
    needed_from = "0.5.0"
    mentions = ("old",)
    after = ("tree-aliases",)
    examples = (Example("old(1)\\n", "new(1)\\n"),)

    def find(self, module):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name) and node.id == "old":
                yield Site(module.span(node), Action.EDIT, Confidence.PROVEN, "old is gone")
            if isinstance(node, ast.Name) and node.id == "old_found":
                FIND

    def rewrite(self, site, node):
        REWRITE
'''

METADATA = "Metadata-Version: 2.1\nName: other-codemods\nVersion: 1.0\n"
POINTS = "[jaxmigrate.codemods]\nother = other_codemods\n"


def install(folder: Path, rewrite: str, find: str = "pass") -> Path:
    """A folder for the search path, with the plug-in and what pip would record of it."""
    source = PLUGIN.replace(
        "REWRITE", textwrap.indent(textwrap.dedent(rewrite).strip(), " " * 8).strip()
    )
    return fill(
        folder,
        {
            "other_codemods.py": source.replace("FIND", find),
            "other_codemods-1.0.dist-info/METADATA": METADATA,
            "other_codemods-1.0.dist-info/entry_points.txt": POINTS,
        },
    )


def run(tmp_path: Path, files: dict[str, str], *arguments: str, **plugin: str) -> Answer:
    """Run with the plug-in installed over a project of `files`."""
    place = install(tmp_path / "site", plugin.get("rewrite", GOOD), plugin.get("find", "pass"))
    project = fill(tmp_path / "project", files)
    return process("run", *arguments, cwd=project, path=(place,))


GOOD = 'return cst.Name("new")'
OTHERS = {"a.py": RETIRED, "m.py": "old(1)\n" + RETIRED, "z.py": RETIRED}


def text(tmp_path: Path, name: str) -> str:
    """What a file of the project holds now."""
    return (tmp_path / "project" / name).read_text()


def test_a_plug_in_runs_after_what_it_names(tmp_path: Path) -> None:
    answer = run(tmp_path, OTHERS, "--write")
    assert answer.code == 0, answer.both
    assert text(tmp_path, "m.py") == "new(1)\n" + MENDED


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list"], ["other", "Rename old"]),
        (["explain", "other"], ["**Why.** It renames", "old(1)", "new(1)"]),
        (["run", "--select", "none"], ["none-prefix, other, sentinel-placeholders, tree-aliases"]),
    ],
)
def test_a_plug_in_is_named_with_the_others(
    tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    place = install(tmp_path / "site", GOOD)
    answer = process(*arguments, cwd=tmp_path, path=(place,))
    for word in words:
        assert word in answer.both


def test_a_plug_in_can_be_selected_and_ignored(tmp_path: Path) -> None:
    run(tmp_path / "one", OTHERS, "--write", "--select", "other")
    assert text(tmp_path / "one", "m.py") == "new(1)\n" + RETIRED
    run(tmp_path / "two", OTHERS, "--write", "--ignore", "other")
    assert text(tmp_path / "two", "m.py") == "old(1)\n" + MENDED


FAILING = {
    "raises": ("raise KeyError('oops')", "oops"),
    "asserts": ("assert False, 'never'", "never"),
    "runs out of names": ("return nothing_of_this_name", "nothing_of_this_name"),
    "returns nothing": ("return None", ""),
    "returns a statement": ("return cst.Pass()", ""),
    "returns text": ("return 'new'", ""),
    "returns a name that is none": ("return cst.Name('1 +')", ""),
    "returns code that does not parse": (
        "return cst.NamedExpr(cst.Name('a'), cst.Name('b'))",
        "parse",
    ),
    "edits its own result again": (
        "return cst.Name('old', [cst.LeftParen()], [cst.RightParen()])",
        "again",
    ),
    "changes more than its place": (
        "return cst.BinaryOperation(cst.Name('a'), cst.Add(), cst.Name('b'))",
        "outside",
    ),
    "adds another newline": (
        """
        line = cst.TrailingWhitespace(newline=cst.Newline("\\r\\n"))
        space = cst.ParenthesizedWhitespace(first_line=line)
        return cst.Name("new", [cst.LeftParen(space)], [cst.RightParen()])
        """,
        "newline",
    ),
    "raises SystemExit": ("raise SystemExit(7)", ""),
    "raises MemoryError": ("raise MemoryError('full')", ""),
}


@pytest.mark.parametrize(
    ("name", "jobs"),
    [*((name, "1") for name in FAILING), ("raises", "2"), ("raises SystemExit", "2")],
)
def test_a_codemod_that_fails_costs_the_file_and_exit_4(
    tmp_path: Path, name: str, jobs: str
) -> None:
    rewrite, words = FAILING[name]
    answer = run(tmp_path, OTHERS, "--write", "-j", jobs, rewrite=rewrite)
    assert answer.code == 4, answer.both
    said = [line for line in answer.both.splitlines() if line.startswith("error: m.py")]
    assert len(said) == 1, answer.both
    assert words in said[0]
    assert "Traceback" not in answer.both
    assert text(tmp_path, "m.py") == OTHERS["m.py"]
    assert text(tmp_path, "a.py") == MENDED
    assert text(tmp_path, "z.py") == MENDED


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_codemod_that_recurses_without_end_costs_the_file_only(tmp_path: Path, jobs: str) -> None:
    rewrite = "return self.rewrite(site, node)"
    answer = run(tmp_path, OTHERS, "--write", "-j", jobs, rewrite=rewrite)
    assert answer.code in (3, 4), answer.both
    assert "error: m.py" in answer.both
    assert text(tmp_path, "m.py") == OTHERS["m.py"]
    assert text(tmp_path, "a.py") == text(tmp_path, "z.py") == MENDED


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_codemod_that_fails_in_find_costs_the_file_too(tmp_path: Path, jobs: str) -> None:
    files = {**OTHERS, "m.py": "old_found\n" + RETIRED}
    answer = run(tmp_path, files, "--write", "-j", jobs, find="raise ValueError('lost')")
    assert answer.code == 4
    assert "error: m.py" in answer.both
    assert "lost" in answer.both
    assert text(tmp_path, "m.py") == files["m.py"]
    assert text(tmp_path, "z.py") == MENDED


@pytest.mark.parametrize("death", ["os._exit(9)", "os.kill(os.getpid(), 9)", "os._exit(0)"])
def test_a_dead_worker_costs_its_file_and_not_the_run(tmp_path: Path, death: str) -> None:
    files = {f"f{i:02}.py": RETIRED for i in range(12)}
    files |= {"k1.py": "old(1)\n" + RETIRED, "k2.py": "old(2)\n", "k3.py": "old(3)\n"}
    answer = run(tmp_path, files, "--write", "-j", "2", rewrite=death)
    assert answer.code == 4, answer.both
    for name in ("k1.py", "k2.py", "k3.py"):
        assert sum(line.startswith(f"error: {name}") for line in answer.both.splitlines()) == 1
        assert text(tmp_path, name) == files[name]
    for name in files:
        if name.startswith("f"):
            assert text(tmp_path, name) == MENDED
    assert "Traceback" not in answer.both


def test_a_dead_worker_is_in_the_report(tmp_path: Path) -> None:
    answer = run(tmp_path, OTHERS, "--format", "json", "-j", "2", rewrite="os._exit(9)")
    assert answer.code == 4
    assert answer.file("m.py")["status"] == "failed"
    assert "9" in answer.file("m.py")["error"]
    assert answer.report["summary"]["failed"] == 1
    assert answer.report["summary"]["changed"] == 2


def test_4_goes_before_3_and_1(tmp_path: Path) -> None:
    files = {**OTHERS, "bad.py": BROKEN}
    answer = run(tmp_path, files, "--check", rewrite="raise KeyError('oops')")
    assert answer.code == 4
    assert "error: bad.py" in answer.both
    assert "error: m.py" in answer.both


def test_a_pipe_exits_with_4_and_gives_nothing(tmp_path: Path) -> None:
    place = install(tmp_path / "site", "raise KeyError('oops')")
    answer = process("run", "-", cwd=tmp_path, stdin=b"old(1)\n", path=(place,))
    assert answer.code == 4
    assert answer.out == ""
    assert "oops" in answer.err


BAD_PLACES = {
    "no such module": ("other = nowhere_to_be_found\n", "nowhere_to_be_found"),
    "no codemod": ("other = json:dumps\n", "json:dumps"),
    "no such attribute": ("other = json:nothing\n", "nothing"),
    "the same name twice": ("other = other_codemods\nagain = other_codemods:Other\n", "other"),
}


@pytest.mark.parametrize("name", BAD_PLACES)
def test_an_entry_point_that_leads_nowhere_is_named_in_one_line(tmp_path: Path, name: str) -> None:
    points, words = BAD_PLACES[name]
    place = install(tmp_path / "site", GOOD)
    fill(
        place, {"other_codemods-1.0.dist-info/entry_points.txt": f"[jaxmigrate.codemods]\n{points}"}
    )
    project = fill(tmp_path / "project", OTHERS)
    answer = process("run", "--write", cwd=project, path=(place,))
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 1, answer.err
    assert words in answer.err
    assert set(contents(project)) == set(OTHERS)
    assert text(tmp_path, "a.py") == RETIRED


def test_a_codemod_that_waits_for_one_that_is_not_there_is_named(tmp_path: Path) -> None:
    place = install(tmp_path / "site", GOOD)
    file = place / "other_codemods.py"
    file.write_text(file.read_text().replace('("tree-aliases",)', '("tree-alias",)'))
    answer = process("list", cwd=tmp_path, path=(place,))
    assert answer.code == 2
    assert "tree-alias" in answer.err
    assert len(answer.err.splitlines()) == 1


def test_codemods_that_wait_for_each_other_are_named(tmp_path: Path) -> None:
    place = install(tmp_path / "site", GOOD)
    file = place / "other_codemods.py"
    file.write_text(file.read_text().replace('("tree-aliases",)', '("other",)'))
    answer = process("list", cwd=tmp_path, path=(place,))
    assert answer.code == 2
    assert "other" in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_whatever_a_codemod_raises_costs_the_file_only(tmp_path: Path, jobs: str) -> None:
    rewrite = "raise type('Odd', (BaseException,), {})('two\\nlines')"
    answer = run(tmp_path, OTHERS, "--write", "-j", jobs, rewrite=rewrite)
    assert answer.code == 4, answer.both
    assert "error: m.py: internal error: Odd: two lines" in answer.both.splitlines()
    assert text(tmp_path, "a.py") == text(tmp_path, "z.py") == MENDED
