"""Tries the judge and the generator themselves: right answers pass, others are found out."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from jaxmigrate.model import FileResult
from tests.semantics import standin
from tests.semantics.judge import Status, depends_on_the_rule, judge, run_old
from tests.semantics.pairs import PAIRS, Pair
from tests.semantics.programs import SCOPED, Program, programs, seeded

PROGRAMS = 300


def by_hand(pair: Pair) -> FileResult:
    return FileResult("module.py", pair.before.encode(), pair.after.encode())


def unchanged(source: str) -> FileResult:
    return FileResult("module.py", source.encode(), source.encode())


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_migration_by_hand_passes(pair: Pair) -> None:
    verdict = judge(pair.before, lambda _: by_hand(pair))
    assert verdict.status is Status.SAME, verdict
    assert not verdict.old.raised
    if pair.depends:
        assert judge(pair.before, unchanged).status is Status.DIFFERS


def test_every_program_has_a_right_answer() -> None:
    verdicts = [judge(seeded(seed).source, standin.migrate) for seed in range(PROGRAMS)]
    assert not [str(verdict) for verdict in verdicts if verdict.status is not Status.SAME]


def test_most_programs_depend_on_the_rule() -> None:
    found = [depends_on_the_rule(seeded(seed).source) for seed in range(PROGRAMS)]
    assert sum(found) > PROGRAMS / 2


def sound(program: Program) -> str:
    """What is wrong with a program under the old rule; empty if nothing is."""
    outcome = run_old(program.source)
    if outcome.raised not in ("", "ValueError") and not program.may_raise_other:
        return f"{program.source}\n{outcome}"
    return f"{program.source}\n{outcome}" if "0x" in outcome.text else ""


def test_programs_run_under_the_old_rule() -> None:
    assert not [wrong for seed in range(2 * PROGRAMS) if (wrong := sound(seeded(seed)))]


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(programs())
def test_hypothesis_draws_the_same_kind_of_programs(program: Program) -> None:
    assert not sound(program)


def test_every_form_occurs() -> None:
    seen = Counter(feature for seed in range(4000) for feature in seeded(seed).features)
    assert not [form for form in SCOPED if seen[form] < 5]
