"""Runs the command line on a real directory: in this process where speed matters, else in its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jaxmigrate_codemods

import jaxmigrate
from jaxmigrate.cli import main

SEARCH_PATH = os.pathsep.join(
    str(Path(package.__file__ or "").resolve().parents[1])
    for package in (jaxmigrate, jaxmigrate_codemods)
)

RETIRED = "import jax\njax.tree_map(f, t)\n"
MENDED = "import jax\njax.tree.map(f, t)\n"
# short enough to stay on one line once it is guarded
PREFIX = "from jax.tree import map as m\nm(lambda p, g: g, [None], t)\n"
GUARDED = (
    "from jax.tree import map as m\n"
    "m(lambda p, g: None if p is None else g, [None], t, is_leaf=lambda x: x is None)\n"
)
UNKNOWN = "import jax\njax.tree.map(f, a, b)\n"
BROKEN = "def f(:\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the command line answered."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        """Standard output as text."""
        return self.stdout.decode("utf-8", "surrogateescape")

    @property
    def err(self) -> str:
        """Standard error as text."""
        return self.stderr.decode("utf-8", "surrogateescape")

    @property
    def both(self) -> str:
        """Both, for words that may stand in either."""
        return self.out + self.err

    @property
    def report(self) -> dict[str, Any]:
        """The JSON report on standard output."""
        report = json.loads(self.stdout)
        assert isinstance(report, dict)
        return report

    def file(self, path: str) -> dict[str, Any]:
        """A file's entry in the report."""
        entries = [entry for entry in self.report["files"] if entry["path"] == path]
        assert len(entries) == 1, f"{path} is {len(entries)} times in the report"
        return dict(entries[0])


def call(*arguments: str, cwd: Path, stdin: bytes = b"") -> Answer:
    """Run `jaxmigrate ARGUMENTS` in this process, as if from `cwd`."""
    out, err = io.BytesIO(), io.BytesIO()
    before = sys.stdin, sys.stdout, sys.stderr, Path.cwd()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", write_through=True)
    os.chdir(cwd)
    try:
        main(arguments)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        said = out.getvalue(), err.getvalue()
        sys.stdin, sys.stdout, sys.stderr, folder = before
        os.chdir(folder)
    return Answer(code, *said)


def environment(
    extra: Mapping[str, str] | None = None, path: tuple[Path, ...] = ()
) -> dict[str, str]:
    """The environment for a process; `path` goes before everything else that Python imports from."""
    places = [*(str(p) for p in path), SEARCH_PATH, os.environ.get("PYTHONPATH", "")]
    joined = os.pathsep.join(place for place in places if place)
    return {**os.environ, "PYTHONPATH": joined, "PYTHONUTF8": "1", **(extra or {})}


def command(*arguments: str) -> list[str]:
    """The command line that runs jaxmigrate in a process of its own."""
    return [sys.executable, "-m", "jaxmigrate", *arguments]


def process(
    *arguments: str,
    cwd: Path,
    stdin: bytes = b"",
    extra: Mapping[str, str] | None = None,
    path: tuple[Path, ...] = (),
) -> Answer:
    """Run `python -m jaxmigrate ARGUMENTS` in a process of its own."""
    done = subprocess.run(
        command(*arguments),
        cwd=cwd,
        input=stdin,
        env=environment(extra, path),
        capture_output=True,
        timeout=300,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def fill(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Make files below `folder`; gives the folder."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below `folder` with its bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def git(folder: Path, *arguments: str) -> str:
    """Run git in `folder`; gives its standard output."""
    options = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.autocrlf=false"]
    done = subprocess.run(
        ["git", "-C", str(folder), *options, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
