"""Patches are what git itself would write, and git takes them both ways to the byte."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxmigrate.errors import UsageError
from jaxmigrate.model import FileResult
from jaxmigrate.output.hunks import changes, structured_hunks
from jaxmigrate.output.patch import (
    file_patch,
    patch,
    quoted,
    why_not_there,
    why_not_under,
    write_patch,
    write_patch_dir,
)

LINE_PARTS = st.sampled_from(
    [
        b"",
        b"a",
        b"b",
        b"\r",
        b"\x0c",
        b"\x0b",
        b"\x85",
        b"\xe2\x80\xa8",
        b"\xef\xbb\xbf",
        b"\t",
        b" ",
        b"-- a/f.py",
        b"++ b/f.py",
        b"@@ -1 +1 @@",
        b"\\ No newline at end of file",
    ]
)
LINES = st.lists(LINE_PARTS, max_size=3).map(b"".join)
FILES = st.lists(LINES, max_size=24).map(b"\n".join)
ODD_NAMES = [
    "plain.py",
    "pkg/with space.py",
    "naïve é.py",
    "tab\there.py",
    'quote"back\\slash.py',
    "ctl\x01\x7f.py",
    "new\nline.py",
    "not-utf8-\udcff.py",
    "日本語/优.py",
    "a/b/--- c.py",
]


def git(*arguments: str, cwd: Path, stdin: bytes = b"") -> bytes:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": tempfile.gettempdir(),
    }
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, input=stdin, capture_output=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_tree(root: Path, contents: dict[str, bytes]) -> None:
    for name, data in contents.items():
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def read_tree(root: Path, names: list[str]) -> dict[str, bytes]:
    return {name: (root / name).read_bytes() for name in names}


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(FILES, FILES), min_size=1, max_size=5))
def test_git_takes_a_patch_both_ways(pairs: list[tuple[bytes, bytes]]) -> None:
    results = [FileResult(f"f{number}.py", *pair) for number, pair in enumerate(pairs)]
    data = patch(results)
    if not data:
        return
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        names = [result.path for result in results]
        write_tree(root, {result.path: result.before for result in results})
        git("apply", "-", cwd=root, stdin=data)
        assert read_tree(root, names) == {result.path: result.after for result in results}
        git("apply", "-R", "-", cwd=root, stdin=data)
        assert read_tree(root, names) == {result.path: result.before for result in results}


@settings(deadline=None, max_examples=300)
@given(FILES, st.data())
def test_local_edits_give_hunks_that_rebuild_the_file(before: bytes, data: st.DataObject) -> None:
    old = before.split(b"\n")
    new = list(old)
    for _ in range(data.draw(st.integers(0, 4))):
        new[data.draw(st.integers(0, len(new) - 1))] = data.draw(LINES)
    rebuilt = list(old)
    for change in reversed(list(changes(old, new))):
        rebuilt[change.old.start : change.old.stop] = [new[index] for index in change.new]
    assert rebuilt == new


def test_hunks_keep_three_lines_of_context_and_merge_when_these_touch() -> None:
    old = [str(number) for number in range(40)]
    new = list(old)
    for index in (10, 17, 30):
        new[index] = "x"
    hunks = list(structured_hunks(old, new))
    assert [(hunk.old, hunk.new) for hunk in hunks] == [
        (range(7, 21), range(7, 21)),
        (range(27, 34), range(27, 34)),
    ]
    signs = "".join(line.sign for line in hunks[0].lines())
    assert signs == "   -+      -+   "


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_stand_as_git_writes_them(tmp_path: Path, name: str) -> None:
    git("init", "-q", ".", cwd=tmp_path)
    write_tree(tmp_path, {name: b"a\nb\n"})
    git("add", ".", cwd=tmp_path)
    write_tree(tmp_path, {name: b"a\nc\n"})
    theirs = b"".join(
        line
        for line in git("diff", cwd=tmp_path).splitlines(keepends=True)
        if not line.startswith(b"index ")
    )
    ours = file_patch(name, b"a\nb\n", b"a\nc\n")
    assert ours == theirs
    git("apply", "-R", "-", cwd=tmp_path, stdin=ours)
    assert (tmp_path / name).read_bytes() == b"a\nb\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"a\n"),
        (b"a\n", b""),
        (b"", b"a"),
        (b"a", b"a\n"),
        (b"a\n", b"a"),
        (b"a", b"b"),
        (b"a\r\nb\r\n", b"a\r\nc\r\n"),
        (b"\xef\xbb\xbfa\n\x0cb\n", b"\xef\xbb\xbfa\n\x0cc\n"),
        (b"".join(b"%d\n" % n for n in range(30)), b"".join(b"%d\n" % n for n in range(29))),
    ],
)
def test_patches_are_those_of_git(tmp_path: Path, before: bytes, after: bytes) -> None:
    git("init", "-q", ".", cwd=tmp_path)
    write_tree(tmp_path, {"f.py": before})
    git("add", ".", cwd=tmp_path)
    write_tree(tmp_path, {"f.py": after})
    theirs = git("diff", cwd=tmp_path)
    # git repeats a line of the file behind the second @@; that is for people only.
    hunks = [line.split(b" @@ ")[0] for line in theirs.splitlines() if line.startswith(b"@@")]
    ours = file_patch("f.py", before, after)
    assert [line.removesuffix(b" @@") for line in ours.splitlines() if line[:2] == b"@@"] == [
        line.removesuffix(b" @@") for line in hunks
    ]
    git("apply", "-R", "-", cwd=tmp_path, stdin=ours)
    assert (tmp_path / "f.py").read_bytes() == before


def test_a_patch_with_a_prefix_applies_from_inside_a_subdirectory(tmp_path: Path) -> None:
    git("init", "-q", ".", cwd=tmp_path)
    write_tree(tmp_path, {"sub/f.py": b"a\n"})
    data = file_patch("f.py", b"a\n", b"b\n", prefix="sub/")
    git("apply", "-", cwd=tmp_path / "sub", stdin=data)
    assert (tmp_path / "sub/f.py").read_bytes() == b"b\n"


def test_only_changed_files_are_in_a_patch_in_order_of_path() -> None:
    same = FileResult("m.py", b"a\n", b"a\n")
    data = patch([FileResult("z.py", b"a\n", b"b\n"), same, FileResult("c.py", b"a\n", b"b\n")])
    headers = [line for line in data.splitlines() if line.startswith(b"diff ")]
    assert headers == [b"diff --git a/c.py b/c.py", b"diff --git a/z.py b/z.py"]


def test_a_large_file_with_an_edit_at_each_end_is_quick() -> None:
    lines = [b"" if number % 3 else b"x = %d" % (number % 1000) for number in range(100_000)]
    edited = [b"first", *lines[1:-1], b"last"]
    started = time.perf_counter()
    assert len(list(structured_hunks(lines, edited))) == 2
    assert time.perf_counter() - started < 5


def test_write_patch_leaves_no_other_file(tmp_path: Path) -> None:
    destination = tmp_path / "fix.patch"
    destination.write_bytes(b"an older one")
    write_patch([FileResult("a.py", b"a\n", b"b\n")], destination)
    assert destination.read_bytes() == file_patch("a.py", b"a\n", b"b\n")
    assert list(tmp_path.iterdir()) == [destination]


def test_a_patch_can_be_written_to_a_pipe(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE) as reader:
        write_patch([FileResult("a.py", b"a\n", b"b\n")], fifo)
        output, _ = reader.communicate()
    assert output == file_patch("a.py", b"a\n", b"b\n")
    assert fifo.is_fifo()


def test_a_patch_directory_has_the_same_tree(tmp_path: Path) -> None:
    files = [FileResult("pkg/a.py", b"a\n", b"b\n"), FileResult("/abs/b.py", b"a\n", b"b\n")]
    written = write_patch_dir([*files, FileResult("same.py", b"", b"")], tmp_path / "out")
    assert written == [tmp_path / "out/abs/b.py.patch", tmp_path / "out/pkg/a.py.patch"]
    assert written[1].read_bytes() == file_patch("pkg/a.py", b"a\n", b"b\n")
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == written


@pytest.mark.parametrize("path", ["../a.py", "pkg/../../a.py", "/../a.py", ".."])
def test_a_patch_directory_is_never_left(tmp_path: Path, path: str) -> None:
    files = [FileResult("a.py", b"a\n", b"b\n"), FileResult(path, b"a\n", b"b\n")]
    with pytest.raises(UsageError, match="outside"):
        write_patch_dir(files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (b"a/b.py", b"a/b.py"),
        (b"a b", b"a b"),
        (b"a\x07\x08\t\n\x0b\x0c\r", b'"a\\a\\b\\t\\n\\v\\f\\r"'),
        (b"\x00\x1f\x7f\x80\xff", b'"\\000\\037\\177\\200\\377"'),
    ],
)
def test_names_are_quoted_as_git_does(name: bytes, expected: bytes) -> None:
    assert quoted(name) == expected


def test_places_where_no_patch_can_be_saved_are_known_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "loop").symlink_to("loop")
    for place in (".", "missing/p.patch", "file/p.patch", "loop"):
        assert why_not_there(tmp_path / place), place
    for place in ("file", "file/below", "loop"):
        assert why_not_under(tmp_path / place), place
    for place in ("p.patch", "file"):
        assert why_not_there(tmp_path / place) is None
    for place in (".", "new", "new/below"):
        assert why_not_under(tmp_path / place) is None
    assert why_not_there(Path(os.devnull)) is None
    assert (tmp_path / "file").read_text() == "mine"
