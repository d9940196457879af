"""Shows that the judge can fail: with one rule taken out, it finds programs that differ."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pytest

from jaxmigrate import pipeline
from tests.semantics.judge import Outcome, Status, Verdict, judge, migrate, run, run_old
from tests.semantics.pairs import PAIRS
from tests.semantics.programs import Program, seeded
from tests.semantics.rules import RULES, Rule
from tests.semantics.saboteurs import SABOTEURS

PROGRAMS = 400
WRITTEN = 200
TRIED = 60
"""How many programs that have a rule's forms are tried until one is found to differ."""


@pytest.fixture(autouse=True)
def _not_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """White space is not judged here, and takes most of the time."""
    monkeypatch.setattr(pipeline, "layout", lambda *_: [])


@lru_cache(maxsize=1)
def generated() -> tuple[Program, ...]:
    return tuple(seeded(seed) for seed in range(PROGRAMS))


def programs_for(rule: Rule) -> Iterator[str]:
    """The programs that need a rule: the one by hand, then those that have a form of it."""
    if rule.program:
        yield rule.program
        return
    fitting = [
        program.source
        for program in generated()
        if any(feature.startswith(rule.features) for feature in program.features)
    ]
    yield from fitting[:TRIED]


def is_caught(rule: Rule, broken: Verdict, whole: Verdict) -> bool:
    """Whether the verdict on a broken engine is another than that on the whole one."""
    if rule.by_gate:
        return broken.status is Status.FAILED
    if broken.status is Status.DIFFERS:
        return True
    # Sites that are left alone excuse a program that fails; not one that the whole engine mends, nor
    # one that it leaves as it was.
    mended = whole.status is Status.SAME
    spoilt = broken.edited and not whole.edited
    return (mended or spoilt) and not broken.new.same_as(broken.old)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_left_out_of_the_engine_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = RULES[name]
    for source in programs_for(rule):
        with monkeypatch.context() as patch:
            rule.leave_out(patch)
            broken = judge(source)
        if broken.status is Status.SAME:
            continue
        whole = judge(source)
        assert not whole.wrong, str(whole)
        if is_caught(rule, broken, whole):
            return
    pytest.fail(f"nothing differs without {name}")


def caught(old: Outcome, before: str, after: str, name: str) -> bool:
    """Whether `after`, sabotaged, no longer gives `old`."""
    sabotaged = SABOTEURS[name](before, after)
    return sabotaged is not None and not run(sabotaged).same_as(old)


@pytest.mark.parametrize("name", SABOTEURS)
def test_what_is_written_wrongly_is_caught_in_migrations_by_hand(name: str) -> None:
    assert any(caught(run_old(pair.before), pair.before, pair.after, name) for pair in PAIRS)


@pytest.fixture(scope="module")
def migrated() -> list[tuple[Outcome, str, str]]:
    """Programs that the tool edits and edits rightly: what they gave, before, after."""
    found = []
    for program in generated()[:WRITTEN]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "layout", lambda *_: [])
            result = migrate(program.source)
        after = result.after.decode(result.encoding)
        if result.changed and run(after).same_as(old := run_old(program.source)):
            found.append((old, program.source, after))
    return found


@pytest.mark.parametrize("name", SABOTEURS)
def test_what_is_written_wrongly_is_caught_in_programs(
    name: str, migrated: list[tuple[Outcome, str, str]]
) -> None:
    assert any(caught(*program, name) for program in migrated)
