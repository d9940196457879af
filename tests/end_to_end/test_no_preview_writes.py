"""Whatever is asked for short of --write, no file of the tree changes: not its bytes, mode or time."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from whole_runs import committed, jaxmigrate

from jaxmigrate.cli import main

Flags = tuple[str, ...]
Snapshot = dict[str, tuple[int, int, bytes]]

OUT = "OUT"
"""Stands for a folder outside the tree."""

OUTPUT: tuple[Sequence[Flags], ...] = (
    ((), ("--patch", f"{OUT}/all.patch")),
    ((), ("--patch-dir", f"{OUT}/patches")),
    ((), ("--check",)),
    ((), ("--format", "json")),
    ((), ("--color",), ("--no-color",)),
    ((), ("-q",), ("-v",)),
)
"""Each group of flags that say how to show or save the edits; one of each group goes together."""

CHOICE: tuple[Sequence[Flags], ...] = (
    ((), ("--confidence", "proven"), ("--confidence", "possible")),
    ((), ("--target-jax", "0.4.20")),
    ((), ("--select", "tree-aliases"), ("--select", "none-prefix"), ("--ignore", "tree-aliases")),
    ((), ("--exclude", "pkg/"), ("--exclude", "*.py")),
)
"""Each group of flags that say what to edit."""

LEGACY = """\
import jax
from jax import tree_leaves


def update(params, grads):
    return jax.tree_map(lambda p, g: p - g, {"w": params, "b": None}, grads)
"""


def combinations(groups: Sequence[Sequence[Flags]]) -> Iterator[Flags]:
    return (tuple(itertools.chain(*flags)) for flags in itertools.product(*groups))


def fill(tree: Path) -> None:
    """A checkout with something for every part of a run to stumble over."""
    (tree / "pkg").mkdir(parents=True)
    (tree / "pkg" / "__init__.py").write_text("from pkg.crlf import update\n")
    (tree / "pkg" / "crlf.py").write_bytes(LEGACY.replace("\n", "\r\n").encode("utf-8-sig"))
    (tree / "plain.py").write_text(LEGACY)
    (tree / "wrapper.py").write_text(
        "import jax\ndef tmap(f, *ts):\n  return jax.tree_map(f, *ts)\n"
    )
    (tree / "broken.py").write_text("import jax\njax.tree_map(\n")
    (tree / "binary.py").write_bytes(b"\xff\xfe\x00jax.tree_map\x00")
    (tree / "empty.py").touch()
    (tree / "skipped.py").write_text(
        LEGACY.replace("import jax\n", "import jax  # jaxmigrate: skip\n")
    )
    (tree / "notes.md").write_text("```python\nimport jax\njax.tree_map(f, a)\n```\n")
    (tree / ".gitignore").write_text("ignored.py\n")
    (tree / "pyproject.toml").write_text('[project]\nname = "p"\ndependencies = ["jax>=0.4.26"]\n')
    (tree / "link.py").symlink_to("plain.py")
    committed(tree)
    (tree / "ignored.py").write_text(LEGACY)
    (tree / "untracked.py").write_text(LEGACY)
    (tree / "plain.py").write_text(LEGACY + "# not committed\n")
    (tree / "read_only.py").write_text(LEGACY)
    (tree / "read_only.py").chmod(0o444)


def snapshot(tree: Path) -> Snapshot:
    """Mode, time and bytes of everything in the tree, git's own files included."""
    return {
        path.relative_to(tree).as_posix(): _facts(path) for path in (tree, *sorted(tree.rglob("*")))
    }


def _facts(path: Path) -> tuple[int, int, bytes]:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        data = os.fsencode(path.readlink())
    else:
        data = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
    return status.st_mode, status.st_mtime_ns, data


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("preview") / "tree"
    fill(folder)
    return folder


@pytest.fixture(scope="module")
def no_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("preview") / "tree"
    fill(folder)
    shutil.rmtree(folder / ".git")
    return folder


@pytest.fixture(params=["checkout", "no_checkout"])
def tree(request: pytest.FixtureRequest) -> Path:
    folder = request.getfixturevalue(request.param)
    assert isinstance(folder, Path)
    return folder


@pytest.mark.parametrize("how", [*combinations(OUTPUT)], ids=" ".join)
def test_showing_and_saving(
    checkout: Path, how: Flags, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing_changes(checkout, ("--confidence", "possible", *how), tmp_path, monkeypatch)


@pytest.mark.parametrize("what", [*combinations(CHOICE)], ids=" ".join)
def test_choosing(
    checkout: Path, what: Flags, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ("--allow-dirty", "--patch", f"{OUT}/all.patch", *what)
    nothing_changes(checkout, flags, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "flags", [f for group in (*OUTPUT, *CHOICE) for f in group if f], ids=" ".join
)
def test_outside_git(
    no_checkout: Path, flags: Flags, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing_changes(no_checkout, flags, tmp_path, monkeypatch)


def nothing_changes(
    tree: Path, flags: Flags, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(tree)
    monkeypatch.chdir(tree)
    with pytest.raises(SystemExit) as stopped:
        main(["run", *(flag.replace(OUT, str(outside)) for flag in flags)])
    assert stopped.value.code in (0, 1, 3)
    assert snapshot(tree) == before


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("-j", "2"),
        ("-j", "2", "--check", "--confidence", "possible"),
        ("-j", "2", "--format", "json", "--patch", f"{OUT}/all.patch"),
        ("plain.py", "link.py", "pkg", "notes.md", "nowhere.py"),
    ],
    ids=" ".join,
)
def test_as_a_process(tree: Path, flags: Flags, tmp_path: Path) -> None:
    before = snapshot(tree)
    done = jaxmigrate(tree, "run", *(flag.replace(OUT, str(tmp_path)) for flag in flags))
    assert done.returncode == 3, done.stderr
    assert snapshot(tree) == before


@pytest.mark.parametrize(
    "flags", [("--check", "--write"), ("--select", "nothing"), ("--jobs", "0")]
)
def test_a_refusal(tree: Path, flags: Flags) -> None:
    before = snapshot(tree)
    assert jaxmigrate(tree, "run", *flags).returncode == 2
    assert snapshot(tree) == before


def test_writing_over_uncommitted_changes_is_refused_whole(checkout: Path) -> None:
    before = snapshot(checkout)
    done = jaxmigrate(checkout, "run", "--write")
    assert done.returncode == 2
    assert "plain.py" in done.stderr
    assert snapshot(checkout) == before


def test_the_snapshot_sees_a_write(tmp_path: Path) -> None:
    fill(tmp_path / "tree")
    before = snapshot(tmp_path / "tree")
    jaxmigrate(tmp_path / "tree", "run", "--write", "--allow-dirty")
    after = snapshot(tmp_path / "tree")
    assert {path for path in before if before[path][2] != after[path][2]} >= {
        "pkg/crlf.py",
        "plain.py",
        "untracked.py",
    }
