"""Runs `jaxmigrate trace` as a stranger would: in a process of its own, which has no JAX."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import jaxmigrate_codemods

import jaxmigrate
from jaxmigrate.evidence.hits import Hit
from jaxmigrate.evidence.trace_file import read_trace

FOLDERS = [
    str(Path(package.__file__ or "").resolve().parents[1])
    for package in (jaxmigrate, jaxmigrate_codemods)
]
TOOL = f"""
import sys
sys.path[:0] = {FOLDERS!r}
sys.modules["jax"] = None
from jaxmigrate.cli import main
main()
"""
FILE = "jaxmigrate-trace.jsonl"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a traced command answered, and what was noted."""

    code: int
    out: str
    err: str
    hits: tuple[Hit, ...]

    @property
    def lines(self) -> list[int]:
        """The lines that were hit."""
        return [hit.line for hit in self.hits]


def arguments(command: Sequence[str | Path], *options: str) -> list[str]:
    """The command line of `jaxmigrate trace`."""
    # -I: neither the folder nor the environment of the command are for the tool to import from
    tool = [sys.executable, "-I", "-c", TOOL, "trace", *options, "--"]
    return [*tool, *map(str, command)]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a stranger: nothing of ours on the search path."""
    own = {"JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1", **(more or {})}
    left_out = {"PYTHONPATH", "PYTHONHOME", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER"}
    return {key: value for key, value in os.environ.items() if key not in left_out} | own


def trace(
    command: Sequence[str | Path],
    folder: Path,
    *options: str,
    environ: Mapping[str, str] | None = None,
    file: str = FILE,
) -> Answer:
    """Trace `command` in `folder`."""
    done = subprocess.run(
        arguments(command, *options),
        cwd=folder,
        env=environment(environ),
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    path = folder / file
    hits = read_trace(path).hits if path.exists() else ()
    return Answer(done.returncode, done.stdout, done.stderr, hits)


def plain(
    command: Sequence[str | Path], folder: Path, environ: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Run `command` itself in the same environment: exit code, standard output and error."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=environment(environ),
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return code, done.stdout, done.stderr


def started(
    command: Sequence[str | Path], folder: Path, *options: str, environ: Mapping[str, str]
) -> subprocess.Popen[str]:
    """Begin to trace `command`, in a session of its own."""
    return subprocess.Popen(
        arguments(command, *options),
        cwd=folder,
        env=environment(environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str]) -> None:
    """End whatever is left of a process that `started` gave."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
