"""The promise itself: a migrated program gives on today's JAX what it gave on 0.4.28."""

from __future__ import annotations

from collections import Counter

from tests.semantics.judge import Status, judge
from tests.semantics.programs import seeded

PROGRAMS = 500
HELD_SHARE = 0.10


def test_migrated_programs_give_what_they_gave() -> None:
    verdicts = {seed: judge(seeded(seed).source) for seed in range(PROGRAMS)}
    wrong = [
        f"=== program {seed}\n{verdict}" for seed, verdict in verdicts.items() if verdict.wrong
    ]
    assert not wrong, f"{len(wrong)} of {PROGRAMS} differ\n\n" + "\n\n".join(wrong[:5])
    held = [verdict for verdict in verdicts.values() if verdict.status is Status.HELD]
    reasons = Counter(reason for verdict in held for reason in verdict.obstacles)
    listed = "\n".join(f"{count:5} {reason}" for reason, count in reasons.most_common())
    print(f"{len(held)} of {PROGRAMS} held\n{listed}")
    assert len(held) <= HELD_SHARE * PROGRAMS, f"{len(held)} of {PROGRAMS} held\n{listed}"
    assert sum(verdict.edited for verdict in verdicts.values()) > PROGRAMS / 2
