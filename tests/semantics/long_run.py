"""Judges many programs and sums up: `python -m tests.semantics.long_run --programs 20000 -j 2`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from tests.semantics import standin
from tests.semantics.judge import Status, Verdict, judge, migrate, run_old
from tests.semantics.programs import seeded

CHUNK = 250
# Programs of one run never occur in another.
STRIDE = 10**9


@dataclass
class Tally:
    """What became of a number of programs."""

    statuses: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    edited: int = 0
    wrong: list[tuple[int, str]] = field(default_factory=list)
    by_form: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Take in what became of others."""
        self.statuses += other.statuses
        self.held += other.held
        self.edited += other.edited
        self.wrong += other.wrong
        self.by_form += other.by_form
        self.failures += other.failures


def blocks(lines: list[str]) -> Iterator[range]:
    """Each line with what is indented below it, the longest first."""
    found = []
    for start, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        end = start + 1
        while end < len(lines) and (
            not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > depth
        ):
            end += 1
        found += (
            [range(start, end)]
            if end == start + 1
            else [range(start, end), range(start, start + 1)]
        )
    yield from sorted(found, key=len, reverse=True)


def _alike(one: Verdict, other: Verdict) -> bool:
    """Whether both go wrong in the same way, as far as can be told."""
    raised = (one.new.raised, one.back.raised) == (other.new.raised, other.back.raised)
    said = one.failure[:25] == other.failure[:25]
    return raised and said and one.status is other.status and one.edited == other.edited


def minimised(verdict: Verdict, judged: Callable[[str], Verdict]) -> Verdict:
    """The verdict on a part of the program that goes wrong in the same way."""
    smaller = True
    while smaller:
        smaller = False
        lines = verdict.before.split("\n")
        for block in blocks(lines):
            source = "\n".join(line for at, line in enumerate(lines) if at not in block)
            if run_old(source).raised != verdict.old.raised:
                continue
            tried = judged(source)
            if _alike(tried, verdict):
                verdict, smaller = tried, True
                break
    return verdict


def tally(seeds: range, tool: str) -> Tally:
    """Judge the programs of `seeds`."""
    judged = partial(judge, migrate=standin.migrate if tool == "standin" else migrate)
    found = Tally()
    for seed in seeds:
        program = seeded(seed)
        verdict = judged(program.source)
        found.statuses[verdict.status] += 1
        found.edited += verdict.edited
        if verdict.status is Status.HELD:
            found.held.update(verdict.obstacles)
        if verdict.wrong:
            found.by_form.update(program.features)
            found.failures[verdict.failure.split(" (")[0] or "other result"] += 1
            found.wrong.append((seed, str(minimised(verdict, judged))))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=20, help="how many differing programs to print")
    parser.add_argument("--tool", choices=("jaxmigrate", "standin"), default="jaxmigrate")
    options = parser.parse_args()
    first, last = options.seed * STRIDE, options.seed * STRIDE + options.programs
    chunks = [range(start, min(start + CHUNK, last)) for start in range(first, last, CHUNK)]
    total, began = Tally(), time.monotonic()
    with ProcessPoolExecutor(options.jobs) as pool:
        for part in pool.map(partial(tally, tool=options.tool), chunks):
            total.add(part)
    for seed, text in total.wrong[: options.show]:
        print(f"=== program {seed}\n{text}\n")
    print(f"programs   {options.programs} in {time.monotonic() - began:.0f} s, seed {options.seed}")
    print(f"edited     {total.edited}")
    for status in Status:
        print(f"{status:10} {total.statuses[status]}")
    for reason, count in total.held.most_common():
        print(f"  held {count:6}  {reason}")
    for failure, count in total.failures.most_common(12):
        print(f"  wrong {count:5}  {failure}")
    for form, count in total.by_form.most_common(12):
        print(f"  wrong {count:5}  {form}")
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
