"""`jaxmigrate.trees` against JAX itself, old and new, on pairs of trees that are near each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import jaxmigrate
from tests.environments import Unavailable, jax_python

COUNT = 2000
SCRIPT = Path(__file__).with_name("near_pairs.py")
NEWEST = "the one these tests run on"
NEW_RULE = ("0.4.34", NEWEST)
OLD_RULE = ("0.4.20", "0.4.28")
EVERY = (*OLD_RULE, *NEW_RULE)


def python(version: str) -> Path:
    if version == NEWEST:
        return Path(sys.executable)
    try:
        return jax_python(version)
    except Unavailable as unavailable:
        pytest.skip(unavailable.reason)


@cache
def answers(version: str) -> list[dict[str, Any]]:
    """What is said of each pair on that JAX."""
    source = str(Path(jaxmigrate.__file__ or "").parents[1])
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": source}
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said.json"
        command = [str(python(version)), str(SCRIPT), str(COUNT), str(said)]
        subprocess.run(command, check=True, env=environment)
        found: list[dict[str, Any]] = json.loads(said.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("version", NEW_RULE)
def test_a_pair_is_safe_exactly_when_jax_maps_it(version: str) -> None:
    wrong = [answer for answer in answers(version) if answer["safe"] != answer["maps"]]
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("version", OLD_RULE)
def test_old_jax_is_told_what_new_jax_would_do(version: str) -> None:
    assert [a["safe"] for a in answers(version)] == [a["safe"] for a in answers(NEWEST)]


def test_old_jax_itself_still_maps_what_only_none_keeps_apart() -> None:
    said = answers("0.4.28")
    assert not [a for a in said if a["safe"] and not a["maps"]]
    assert sum(a["maps"] and not a["safe"] for a in said) > COUNT // 50


@pytest.mark.parametrize("version", EVERY)
def test_every_place_is_named_with_its_cure_and_no_other(version: str) -> None:
    wrong = [answer for answer in answers(version) if answer["explained"] != answer["places"]]
    assert not wrong, wrong[:3]


def test_the_same_nones_are_at_the_same_key_paths() -> None:
    wrong = [answer for answer in answers(NEWEST) if answer["match"] != answer["same_nones"]]
    assert not wrong, wrong[:3]


# JAX up to 0.4.34 takes the keys of a defaultdict for one another and is not asked where its Nones are.
@pytest.mark.parametrize("version", EVERY)
def test_every_jax_finds_none_at_the_same_key_paths(version: str) -> None:
    assert [a["match"] for a in answers(version)] == [a["match"] for a in answers(NEWEST)]


def test_both_verdicts_are_well_represented() -> None:
    safe = sum(answer["safe"] for answer in answers(NEWEST))
    assert 0.3 * COUNT < safe < 0.7 * COUNT
    cures = "".join(place for answer in answers(NEWEST) for place in answer["places"])
    assert min(cures.count(name) for name in ("none-prefix", "sentinel-", "None)")) > 50
