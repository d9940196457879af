"""A file that cannot be processed is named with the reason, and costs nothing but itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import BROKEN, MENDED, RETIRED, call, fill, git, process

as_a_user = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
MENTION = "# jax.tree_map, so that the file is not passed over unread\n"


def content(data: str | bytes) -> Callable[[Path], None]:
    """A maker of a file that holds `data`."""

    def make(path: Path) -> None:
        path.write_bytes(data.encode() if isinstance(data, str) else data)

    return make


def link_to(target: str) -> Callable[[Path], None]:
    """A maker of a symbolic link to `target`."""
    return lambda path: path.symlink_to(target)


BAD = {
    "syntax": (content(BROKEN), "cannot be parsed"),
    "syntax with a mention": (content(MENTION + BROKEN), "line 2"),
    "not utf-8": (content(b"x = '\xff'\n"), "not valid utf-8"),
    "not utf-8 with a mention": (content(MENTION.encode() + b"x = '\xff'\n"), "line 2"),
    "unknown cookie": (content("# coding: klingon\n" + MENTION), "klingon"),
    "NUL": (content(b"import jax\njax.tree_map(f, t)\0\n"), "NUL"),
    "only NULs": (content(b"\0" * 64), "NUL"),
    "dangling link": (link_to("nowhere.py"), "dangling link"),
    "link to itself": (link_to("bad.py"), "circle"),
    "3,000 parentheses": (content("x = " + "(" * 3000 + ")" * 3000 + "\n"), "cannot be parsed"),
    "3,000 parentheses with a mention": (
        content(MENTION + "x = " + "(" * 3000 + "1" + ")" * 3000 + "\n"),
        "cannot be parsed",
    ),
    "3,000 lists": (content("x = " + "[" * 3000 + "]" * 3000 + "\n"), "cannot be parsed"),
    "unclosed": (content(MENTION + "x = (\n"), "cannot be parsed"),
    "tabs and spaces": (
        content(MENTION + "if x:\n\ty = 1\n        z = 2\n"),
        "cannot be parsed",
    ),
    "Python 2": (content(MENTION + "print 'x'\n"), "cannot be parsed"),
    "a huge number": (content(MENTION + "x = " + "9" * 5000 + "\n"), "cannot be parsed"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_with_the_reason_and_the_others_are_done(
    tmp_path: Path, name: str
) -> None:
    make, reason = BAD[name]
    fill(tmp_path, {"a.py": RETIRED, "z.py": RETIRED})
    make(tmp_path / "bad.py")
    answer = call("run", "--write", cwd=tmp_path)
    assert answer.code == 3
    said = [line for line in answer.both.splitlines() if "bad.py" in line]
    assert said
    assert any(reason in line for line in said), said
    assert "Traceback" not in answer.both
    assert (tmp_path / "a.py").read_text() == MENDED
    assert (tmp_path / "z.py").read_text() == MENDED


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_named_by_itself_is_a_failure_too(tmp_path: Path, name: str) -> None:
    make, reason = BAD[name]
    make(tmp_path / "bad.py")
    answer = call("run", "bad.py", cwd=tmp_path)
    assert answer.code == 3
    assert reason in answer.both


@pytest.mark.parametrize("option", [(), ("--quiet",), ("--verbose",), ("--check",)])
def test_the_reason_is_told_whatever_else_is_asked(tmp_path: Path, option: tuple[str, ...]) -> None:
    answer = call("run", *option, cwd=fill(tmp_path, {"bad.py": BROKEN}))
    assert "bad.py" in answer.both
    assert "cannot be parsed" in answer.both


def test_bad_files_fail_in_worker_processes_as_they_do_without(tmp_path: Path) -> None:
    for index, (make, _) in enumerate(BAD.values()):
        folder = tmp_path / f"f{index}"
        folder.mkdir()
        make(folder / "bad.py")
    fill(tmp_path, {"a.py": RETIRED, "z.py": RETIRED})
    alone = process("run", "--format", "json", "-j", "1", cwd=tmp_path)
    split = process("run", "--format", "json", "-j", "2", cwd=tmp_path)
    assert alone.code == split.code == 3
    assert alone.report["summary"]["failed"] == len(BAD)
    assert alone.stdout == split.stdout


def test_a_folder_with_the_name_of_a_file_is_searched(tmp_path: Path) -> None:
    fill(tmp_path, {"pkg.py/a.py": RETIRED, "z.py": RETIRED})
    answer = call("run", "--write", cwd=tmp_path)
    assert answer.code in (0, 3)
    assert (tmp_path / "z.py").read_text() == MENDED
    assert (tmp_path / "pkg.py").is_dir()
    assert "Traceback" not in answer.both


def test_an_empty_folder_with_the_name_of_a_file_does_no_harm(tmp_path: Path) -> None:
    fill(tmp_path, {"a.py": RETIRED})
    (tmp_path / "x.py").mkdir()
    answer = call("run", "--write", cwd=tmp_path)
    assert answer.code in (0, 3)
    assert answer.code == 0 or "x.py" in answer.both
    assert (tmp_path / "a.py").read_text() == MENDED


@pytest.mark.parametrize("name", ["gone.py", "gone", "gone/"])
def test_a_path_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    fill(tmp_path, {"a.py": RETIRED})
    answer = call("run", "--write", "a.py", name, cwd=tmp_path)
    assert answer.code == 3
    assert "gone" in answer.both
    assert "no such file" in answer.both.lower()
    assert (tmp_path / "a.py").read_text() == MENDED


@as_a_user
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    fill(tmp_path, {"a.py": RETIRED, "bad.py": RETIRED})
    (tmp_path / "bad.py").chmod(0)
    answer = call("run", "--write", cwd=tmp_path)
    assert answer.code == 3
    assert "permission denied" in answer.both
    assert (tmp_path / "a.py").read_text() == MENDED


DEEP = {
    "nothing": "",
    "a blank line": "\n",
    "only a comment": MENTION,
    "5,000 terms": "import jax\nx = " + " + ".join(["1"] * 5000) + "\n",
    "5,000 terms around a site": "import jax\nx = "
    + " + ".join(["1"] * 2500 + ["jax.tree.leaves(t)"] + ["1"] * 2500)
    + "\n",
    "60 lists": "import jax\nx = " + "[" * 60 + "jax.tree.map" + "]" * 60 + "\n",
    "a long chain of calls": "import jax\nx = y" + ".f()" * 900 + "\n",
    "a long elif chain": "import jax\nif a: pass\n" + "elif a: pass\n" * 400,
    "19 blocks": "import jax\n"
    + "".join(" " * i + "if x:\n" for i in range(19))
    + " " * 19
    + "pass\n",
}


@pytest.mark.parametrize("name", DEEP)
def test_a_file_that_is_empty_or_deep_but_sound_is_no_failure(tmp_path: Path, name: str) -> None:
    fill(tmp_path, {"deep.py": DEEP[name], "a.py": RETIRED})
    answer = process("run", "--write", cwd=tmp_path)
    assert answer.code == 0, answer.both
    assert (tmp_path / "deep.py").read_text() == DEEP[name]


@pytest.mark.parametrize("terms", [100, 1000, 5000])
def test_a_site_in_a_deep_expression_is_mended_or_the_file_is_named(
    tmp_path: Path, terms: int
) -> None:
    old = "import jax\nx = " + " + ".join(["1"] * terms + ["jax.tree_leaves(t)"]) + "\n"
    fill(tmp_path, {"deep.py": old, "a.py": RETIRED})
    answer = process("run", "--write", cwd=tmp_path)
    assert answer.code in (0, 3), answer.both[:2000]
    new = (tmp_path / "deep.py").read_text()
    if answer.code == 0:
        assert new == old.replace("tree_leaves", "tree.leaves")
    else:
        assert new == old
        assert "deep.py" in answer.both
    assert (tmp_path / "a.py").read_text() == MENDED


def test_5_000_terms_with_a_retired_name_are_mended(tmp_path: Path) -> None:
    old = "import jax\nx = " + " + ".join(["1"] * 5000 + ["jax.tree_leaves(t)"]) + "\n"
    answer = process("run", "--write", cwd=fill(tmp_path, {"deep.py": old}))
    assert answer.code == 0, answer.both[:2000]
    assert (tmp_path / "deep.py").read_text() == old.replace("tree_leaves", "tree.leaves")


def test_sites_nested_in_each_other_60_deep_are_all_mended(
    tmp_path: Path,
) -> None:
    depth = 60
    old = "import jax\nx = " + "jax.tree_leaves(" * depth + "t" + ")" * depth + "\n"
    answer = process("run", "--write", cwd=fill(tmp_path, {"deep.py": old}))
    assert answer.code == 0, answer.both[:2000]
    assert (tmp_path / "deep.py").read_text() == old.replace("tree_leaves", "tree.leaves")


def test_a_file_of_5_000_sites_is_mended_whole(tmp_path: Path) -> None:
    old = "import jax\n" + "jax.tree_map(f, t)\n" * 5000
    answer = process("run", "--write", "--quiet", cwd=fill(tmp_path, {"long.py": old}))
    assert answer.code == 0
    assert (tmp_path / "long.py").read_text() == old.replace("tree_map", "tree.map")


def test_a_very_long_line_is_mended(tmp_path: Path) -> None:
    old = "import jax\nx = [" + "jax.tree_map(f, t), 'é', " * 2000 + "]\n"
    answer = process("run", "--write", "--quiet", cwd=fill(tmp_path, {"wide.py": old}))
    assert answer.code == 0
    assert (tmp_path / "wide.py").read_text() == old.replace("tree_map", "tree.map")


@pytest.mark.skipif(os.name == "nt", reason="file names are text there")
def test_a_file_name_that_is_not_utf_8_is_a_name_like_any_other(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"caf\xe9.py")
    try:
        file.write_text(RETIRED)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    for arguments in ((), ("--format", "json"), ("--patch", "p.patch"), ("--write",)):
        answer = process("run", *arguments, cwd=tmp_path)
        assert answer.code == 0, answer.both
        assert "Traceback" not in answer.both
    assert file.read_text() == MENDED


@pytest.mark.parametrize(
    "name", ["with space.py", "-v.py", "[red].py", "tab\t.py", "線.py", "a:b.py"]
)
def test_odd_file_names_are_names_like_any_other(tmp_path: Path, name: str) -> None:
    fill(tmp_path, {name: RETIRED})
    assert call("run", "--write", cwd=tmp_path).code == 0
    assert (tmp_path / name).read_text() == MENDED


@pytest.mark.skipif(os.name == "nt", reason="file names are text there")
def test_a_patch_of_a_file_whose_name_is_not_utf_8_applies(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"caf\xe9.py")
    try:
        file.write_text(RETIRED)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert process("run", "--patch", "p.patch", cwd=tmp_path).code == 0
    git(tmp_path, "apply", "p.patch")
    assert file.read_text() == MENDED


def test_5_000_terms_are_no_failure_in_a_file_that_mentions_nothing(tmp_path: Path) -> None:
    fill(tmp_path, {"deep.py": "x = " + " + ".join(["1"] * 5000) + "\n"})
    answer = process("run", cwd=tmp_path)
    assert answer.code == 0, answer.both


@pytest.mark.parametrize("arguments", [(), ("--write",), ("--write", "--patch", "p.patch")])
def test_it_works_without_git_on_the_path(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    fill(tmp_path, {"a.py": RETIRED})
    answer = process("run", *arguments, cwd=tmp_path, extra={"PATH": str(tmp_path / "no")})
    assert answer.code == 0, answer.both
    assert "git diff" not in answer.out
    assert (tmp_path / "a.py").read_text() == (MENDED if arguments else RETIRED)


def test_a_file_called_minus_is_a_file_where_it_is_not_the_word(tmp_path: Path) -> None:
    fill(tmp_path, {"-": RETIRED})
    answer = process("run", "./-", "--write", cwd=tmp_path, stdin=b"x = (\n")
    assert answer.code == 0, answer.both
    assert (tmp_path / "-").read_text() == MENDED
