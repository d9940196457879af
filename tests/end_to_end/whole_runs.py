"""The command line as a user starts it, and what a directory holds before and after."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

Contents = Mapping[str, bytes]


def jaxmigrate(directory: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the tool in `directory`."""
    return run(directory, sys.executable, "-m", "jaxmigrate", *arguments)


def python(directory: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Python in `directory`, JAX on the CPU."""
    return run(directory, sys.executable, *arguments)


def git(directory: Path, *arguments: str | Path) -> str:
    """What git prints; it must succeed."""
    options = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.autocrlf=false")
    done = run(directory, "git", *options, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def committed(directory: Path) -> Path:
    """Make `directory` a checkout with everything in it committed."""
    git(directory, "init", "-q")
    git(directory, "add", "--all", "--force")
    git(directory, "commit", "-q", "-m", "as released")
    return directory


def contents(directory: Path) -> Contents:
    """The bytes of every file below `directory`, git's own and Python's caches left out."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not {".git", "__pycache__"} & set(path.parts)
    }


def differing(before: Contents, after: Contents) -> set[str]:
    """The paths of the files that are not the same in both."""
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}


def run(directory: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in `directory`, for at most five minutes."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"JAX_PLATFORMS": "cpu", "GIT_CONFIG_NOSYSTEM": "1", "COLUMNS": "100"}
    return subprocess.run(
        [os.fspath(part) for part in command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
