"""What one meeting of trees in a map says: a None that meets a value, the same Nones, or nothing."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxmigrate.analysis.trees.references import Instance
from jaxmigrate.analysis.trees.values import (
    MAX_DEPTH,
    UNKNOWN,
    Is,
    Key,
    Value,
    all_children,
    child,
)
from jaxmigrate.model import Evidence

if TYPE_CHECKING:
    from jaxmigrate.analysis.trees.classes import Classes


class Outcome(enum.IntEnum):
    """What a meeting shows of the first tree; a greater value calls more for a guard."""

    NO_NONE = 0
    SAME_NONES = 1
    UNKNOWN = 2
    MAY_MEET = 3
    MEETS = 4


@dataclass(frozen=True, slots=True)
class Meeting:
    """The outcome of a meeting, with the evidence for a None."""

    outcome: Outcome
    why: tuple[Evidence, ...] = ()


def meeting(first: Value, others: Sequence[Value], classes: Classes) -> Meeting:
    """What it means that `first` is mapped along with `others`.

    That they hold the same Nones is said of whole trees only: what is known of parts may be out of
    date, where something else changed a tree in place.
    """
    if all(_same(first, other) for other in others):
        return Meeting(Outcome.SAME_NONES)
    found = _meet(first, list(others), classes, MAX_DEPTH)
    return Meeting(Outcome.NO_NONE) if found.outcome is Outcome.SAME_NONES else found


def meets_empty(first: Value, others: Sequence[Value], depth: int = MAX_DEPTH) -> bool:
    """Whether a None in the first tree meets what may be an empty container in another."""
    if first.none in (Is.YES, Is.MAYBE) and any(_may_be_empty(other) for other in others):
        return True
    if depth <= 0:
        return False
    return any(
        meets_empty(part, [_at(other, key) for other in others], depth - 1)
        for key, part in all_children(first)
    )


def _may_be_empty(value: Value) -> bool:
    if value.leaf or value.none is Is.YES:
        return False
    return not value.parts and value.rest is None


def children(value: Value, classes: Classes) -> Iterator[tuple[Key | None, Value]]:
    """The children of a value that JAX sees; an object of a class that is no pytree has none."""
    if not isinstance(value.reference, Instance):
        yield from all_children(value)
        return
    facts = classes.facts(value.reference.cls.definition)
    if facts.children is None:
        return
    for key, part in all_children(value):
        if facts.every_attribute or key is None or key in facts.children:
            yield key, part


def _meet(first: Value, others: list[Value], classes: Classes, depth: int) -> Meeting:
    if _is_leaf(first, classes):
        return Meeting(Outcome.NO_NONE)
    if all(_same(first, other) for other in others):
        return Meeting(Outcome.SAME_NONES)
    if first.none in (Is.YES, Is.MAYBE):
        met = _none_meets(first, others)
        if met.outcome is not Outcome.SAME_NONES or first.none is Is.YES:
            return met
    return _inside(first, others, classes, depth)


def _is_leaf(value: Value, classes: Classes) -> bool:
    if value.none is not Is.NO:
        return False
    if isinstance(value.reference, Instance):
        return classes.facts(value.reference.cls.definition).children is None
    return value.leaf


def _same(first: Value, other: Value) -> bool:
    if first is other and first.shape is not None:
        return True
    if first.none in (Is.YES, Is.MAYBE) and other.none is Is.NO:
        return False
    return first.shape is not None and (first.shape == other.shape or first.shape in other.includes)


def _none_meets(first: Value, others: list[Value]) -> Meeting:
    def stays(other: Value) -> bool:
        if other.none is Is.YES:
            return True
        alike = first.source is not None and first.source == other.source
        return alike and other.none is Is.MAYBE

    if all(stays(other) for other in others):
        return Meeting(Outcome.SAME_NONES)
    certain = first.none is Is.YES and any(other.none is Is.NO for other in others)
    return Meeting(Outcome.MEETS if certain else Outcome.MAY_MEET, first.why)


def _inside(first: Value, others: list[Value], classes: Classes, depth: int) -> Meeting:
    worst = Meeting(Outcome.NO_NONE if first.inside is Is.NO else Outcome.UNKNOWN)
    if first.none is Is.UNKNOWN:
        worst = Meeting(Outcome.UNKNOWN)
    if first.inside is Is.MAYBE:
        worst = Meeting(Outcome.MAY_MEET, first.why)
    if depth <= 0:
        return worst
    for key, part in children(first, classes):
        opposite = [_at(other, key) for other in others]
        met = _meet(part, opposite, classes, depth - 1)
        if met.outcome > worst.outcome:
            worst = met
    return worst


def _at(value: Value, key: Key | None) -> Value:
    if key is None:
        return value.rest or (UNKNOWN if value.shape is None else _any_child(value))
    found = child(value, key)
    if found is not None:
        return found
    return Value(shape=("child", value.shape, key)) if value.shape is not None else UNKNOWN


def _any_child(value: Value) -> Value:
    return Value(shape=("child", value.shape, None))
