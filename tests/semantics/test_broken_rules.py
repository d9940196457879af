"""Shows that the judge can fail: migrations with one rule taken out are found to differ."""

from __future__ import annotations

import pytest

from tests.semantics.judge import Outcome, migrate, run, run_old
from tests.semantics.pairs import PAIRS
from tests.semantics.programs import seeded
from tests.semantics.saboteurs import SABOTEURS

PROGRAMS = 400


def caught(old: Outcome, before: str, after: str, name: str) -> bool:
    """Whether `after` with a rule taken out no longer gives `old`."""
    sabotaged = SABOTEURS[name](before, after)
    return sabotaged is not None and not run(sabotaged).same_as(old)


@pytest.mark.parametrize("name", SABOTEURS)
def test_a_rule_taken_out_is_caught_in_migrations_by_hand(name: str) -> None:
    assert any(caught(run_old(pair.before), pair.before, pair.after, name) for pair in PAIRS)


@pytest.fixture(scope="module")
def migrated() -> list[tuple[Outcome, str, str]]:
    """Programs that the tool edits and edits rightly: what they gave, before, after."""
    found = []
    for seed in range(PROGRAMS):
        source = seeded(seed).source
        result = migrate(source)
        after = result.after.decode(result.encoding)
        if result.changed and run(after).same_as(old := run_old(source)):
            found.append((old, source, after))
    return found


@pytest.mark.parametrize("name", SABOTEURS)
def test_a_rule_taken_out_is_caught_in_programs(
    name: str, migrated: list[tuple[Outcome, str, str]]
) -> None:
    assert any(caught(*program, name) for program in migrated)
