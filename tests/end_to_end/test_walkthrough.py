"""The walk-through of docs/walkthrough.md: a training that fails on today's JAX, mended by a trace.

The project is optax 0.2.2 with a training script beside it. Its environment has JAX, equinox and no
jaxmigrate.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from whole_runs import committed, contents, differing, jaxmigrate, run

from benchmarks.packages import Unreachable, unpacked
from jaxmigrate.versions import NEWEST_KNOWN
from tests.environments import Unavailable, training_python

pytestmark = pytest.mark.packages

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "equinox_training"
GUARDED = {"trace": 77, "update_moment": 89, "update_moment_per_elem_norm": 112, "decay": 916}
"""The calls of optax 0.2.2 that the script makes with a None in the first tree, by their lines."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    try:
        optax = unpacked("optax", "0.2.2") / "optax"
    except Unreachable as error:
        pytest.skip(str(error))
    folder = tmp_path / "project"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(EXAMPLE, folder, ignore=ignored)
    shutil.copytree(optax, folder / "optax", ignore=ignored)
    return committed(folder)


@pytest.fixture(scope="module")
def today() -> Path:
    return training_python(NEWEST_KNOWN)


def train(python: Path, project: Path) -> subprocess.CompletedProcess[str]:
    return run(project, python, "-B", "train.py")


def losses(printed: str) -> dict[str, float]:
    lines = re.findall(r"^(\w+) (\d\.\d+)$", printed, re.MULTILINE)
    return {name: float(number) for name, number in lines}


def traced(project: Path, python: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return jaxmigrate(project, "trace", *options, "--", python, "-B", "train.py")


def test_the_training_fails_as_it_is(project: Path, today: Path) -> None:
    done = train(today, project)
    assert done.returncode == 1
    assert "ValueError: pytree structure error" in done.stderr


def test_a_trace_runs_it_to_its_end_and_lists_the_calls(project: Path, today: Path) -> None:
    done = traced(project, today)
    assert done.returncode == 0, done.stderr
    assert losses(done.stdout).keys() == {"adam", "sgd"}
    for line in GUARDED.values():
        assert f"optax/_src/transform.py:{line}:" in done.stderr
    assert f"{len(GUARDED)} calls of the project met a None" in done.stderr


def test_the_trace_mends_exactly_those(project: Path, today: Path) -> None:
    before = contents(project)
    traced(project, today)
    edit = ("--evidence", "jaxmigrate-trace.jsonl", "--confidence", "proven")
    shown = json.loads(jaxmigrate(project, "run", *edit, "--format", "json").stdout)
    sites = [site for file in shown["files"] for site in file["sites"]]
    edited = {s["line"] for s in sites if (s["codemod"], s["action"]) == ("none-prefix", "edit")}
    assert edited == {*GUARDED.values()}
    assert shown["unmatched_evidence"] == []
    select = ("--select", "none-prefix", "--write")
    assert jaxmigrate(project, "run", *edit, *select).returncode == 0
    changed = differing(before, contents(project)) - {"jaxmigrate-trace.jsonl"}
    assert changed == {"optax/_src/transform.py"}


def test_it_then_gives_the_losses_of_jax_0_4_28(project: Path, today: Path) -> None:
    try:
        wanted = train(training_python("0.4.28"), project)
    except Unavailable as error:
        pytest.skip(error.reason)
    assert wanted.returncode == 0, wanted.stderr
    traced(project, today)
    jaxmigrate(project, "run", "--evidence", "jaxmigrate-trace.jsonl", "--write")
    done = train(today, project)
    assert done.returncode == 0, done.stderr
    assert losses(done.stdout) == pytest.approx(losses(wanted.stdout), abs=2e-6)
    assert len(losses(done.stdout)) == 2


def test_a_check_fails_before_and_passes_behind(project: Path, today: Path) -> None:
    assert traced(project, today, "--check").returncode == 1
    jaxmigrate(project, "run", "--evidence", "jaxmigrate-trace.jsonl", "--write")
    done = traced(project, today, "--check")
    assert done.returncode == 0
    assert "No map over several trees met a None" in done.stderr
