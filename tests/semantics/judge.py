"""Runs a program under the old rule and its migration under today's JAX, and compares."""

from __future__ import annotations

import itertools
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from jaxmigrate.model import Action, Confidence, FileResult
from tests.semantics.old_rule import old_jax, old_names

Migrate = Callable[[str], FileResult]
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave: the text of what `main()` returned, or the class of the exception."""

    text: str
    raised: str = ""
    detail: str = ""

    def same_as(self, other: Outcome) -> bool:
        """Whether both gave the same; messages of exceptions do not count."""
        return (self.text, self.raised) == (other.text, other.raised)

    def __str__(self) -> str:
        return f"{self.raised}: {self.detail}" if self.raised else self.text


class Status(StrEnum):
    """What a program came to.

    `same`: the migrated program does as the old one did. `held`: it does not, and the tool said
    that it left something alone. `differs`: it does not, and the tool should have known. `failed`:
    the tool says that it failed.
    """

    SAME = "same"
    HELD = "held"
    DIFFERS = "differs"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a program."""

    status: Status
    before: str
    after: str
    old: Outcome
    new: Outcome
    back: Outcome
    edited: bool
    held: tuple[str, ...]
    failure: str = ""

    @property
    def wrong(self) -> bool:
        """Whether this is a fault of the tool."""
        return self.status in (Status.DIFFERS, Status.FAILED)

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Why sites were left alone, without what is known of their trees: these can be counted."""
        return tuple(reason.split("; ", 1)[-1] for reason in self.held)

    def __str__(self) -> str:
        parts = [
            f"status: {self.status} {self.failure}".rstrip(),
            f"--- program\n{self.before}",
            f"--- migrated\n{self.after if self.edited else '(not edited)'}",
            f"--- old rule gave\n{self.old}",
            f"--- migrated gave\n{self.new}",
            f"--- migrated gave under the old rule\n{self.back}",
            *(f"--- held: {reason}" for reason in self.held),
        ]
        return "\n".join(parts)


def run(source: str) -> Outcome:
    """Execute `source` as a module of its own and call its `main()`, with JAX as it now is."""
    name = f"semantics_program_{next(_numbers)}"
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, f"<{name}>", "exec"), module.__dict__)
            return Outcome(repr(module.__dict__["main"]()))
    except Exception as error:
        return Outcome("", type(error).__name__, str(error)[:300])
    finally:
        del sys.modules[name]
        # JAX keeps registered classes for good, and they their module; not what is in it.
        module.__dict__.clear()


def run_old(source: str) -> Outcome:
    """Execute `source` as JAX 0.4.28 would have."""
    with old_jax():
        return run(source)


def depends_on_the_rule(source: str) -> bool:
    """Whether today's rule, with the names of 0.4.28, changes what `source` gives."""
    with old_names():
        today = run(source)
    return not run_old(source).same_as(today)


def migrate(source: str) -> FileResult:
    """What the tool makes of `source` when every site is to be edited."""
    from jaxmigrate.runner import migrate_source

    return migrate_source(source, confidence=Confidence.POSSIBLE)


def judge(source: str, migrate: Migrate = migrate) -> Verdict:
    """Compare `source` under the old rule with its migration under today's JAX.

    A guarded call does not depend on the rule, and one that was held still does: under the old rule
    the migrated program must give the same in any case, which finds wrong edits beside held ones.
    """
    result = migrate(source)
    after = result.after.decode(result.encoding)
    old, new, back = run_old(source), run(after), run_old(after)
    held = tuple(
        site.reason for site in result.sites if site.action is not Action.EDIT and not site.needless
    )
    failure = result.failure.message if result.failure is not None else ""
    if failure:
        status = Status.FAILED
    elif not old.same_as(back):
        status = Status.DIFFERS
    elif old.same_as(new):
        status = Status.SAME
    else:
        status = Status.HELD if held else Status.DIFFERS
    return Verdict(status, source, after, old, new, back, result.changed, held, failure)
