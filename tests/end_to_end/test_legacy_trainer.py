"""The example fails on today's JAX, and after a run it gives the numbers that it gave on JAX 0.4.28."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from whole_runs import committed, contents, jaxmigrate, python

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "legacy_trainer"

ON_JAX_0_4_28 = {
    "parameters": 593.0,
    "step 0 loss": 0.623184,
    "step 50 loss": 0.096830,
    "step 100 loss": 0.034470,
    "step 150 loss": 0.018362,
    "loss": 0.015825,
    "drift": 6.139411,
    "average": 121.937859,
    "checksum": 124.933838,
}
"""What `python train.py` printed on JAX 0.4.28, on a CPU."""


@pytest.fixture
def trainer(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    return committed(Path(shutil.copytree(EXAMPLE, tmp_path / "trainer", ignore=ignored)))


def printed_numbers(trainer: Path) -> dict[str, float]:
    done = python(trainer, "train.py")
    assert done.returncode == 0, done.stderr
    lines = [line.rpartition(" ") for line in done.stdout.splitlines()]
    return {words: float(number) for words, _, number in lines}


def test_the_trainer_fails_as_it_is(trainer: Path) -> None:
    done = python(trainer, "train.py")
    assert done.returncode == 1
    assert "ImportError" in done.stderr


def test_new_names_alone_do_not_mend_it(trainer: Path) -> None:
    assert jaxmigrate(trainer, "run", "--write", "--select", "tree-aliases").returncode == 0
    done = python(trainer, "train.py")
    assert done.returncode == 1
    assert "ValueError" in done.stderr
    assert "None" in done.stderr


@pytest.mark.parametrize("confidence", ["likely", "possible"])
def test_after_a_run_it_gives_the_old_numbers(trainer: Path, confidence: str) -> None:
    done = jaxmigrate(trainer, "run", "--write", "--confidence", confidence)
    assert done.returncode == 0, done.stderr
    assert printed_numbers(trainer) == pytest.approx(ON_JAX_0_4_28, rel=1e-5)


def test_a_second_run_edits_nothing(trainer: Path) -> None:
    jaxmigrate(trainer, "run", "--write")
    once = contents(trainer)
    done = jaxmigrate(trainer, "run", "--write", "--allow-dirty", "--format", "json")
    assert json.loads(done.stdout)["summary"]["edited"] == {}
    assert contents(trainer) == once


def test_a_dry_run_shows_the_edits_and_makes_none(trainer: Path) -> None:
    before = contents(trainer)
    done = jaxmigrate(trainer, "run")
    assert done.returncode == 0
    assert "-from jax import tree_leaves" in done.stdout
    assert "+from jax.tree_util import tree_leaves" in done.stdout
    assert contents(trainer) == before


def test_the_spelling_fits_the_jax_that_it_asks_for(trainer: Path) -> None:
    jaxmigrate(trainer, "run", "--write")
    assert "jax.tree.flatten(tree)" in (trainer / "train.py").read_text()
