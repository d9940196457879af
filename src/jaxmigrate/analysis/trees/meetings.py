"""What one meeting of trees in a map says: a None that meets a value, the same Nones, or nothing."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jaxmigrate.analysis.trees.references import Instance
from jaxmigrate.analysis.trees.values import (
    MAX_DEPTH,
    UNKNOWN,
    InsteadOf,
    Is,
    Key,
    Value,
    all_children,
    child,
    is_alike,
    maker,
)
from jaxmigrate.model import Evidence

if TYPE_CHECKING:
    from jaxmigrate.analysis.trees.classes import Classes


class Outcome(enum.IntEnum):
    """What a meeting shows of the first tree; a greater value calls more for a guard."""

    NO_NONE = 0
    SAME_NONES = 1
    UNKNOWN = 2
    UNLIKELY = 3
    MAY_MEET = 4
    MEETS = 5


@dataclass(frozen=True, slots=True)
class Meeting:
    """The outcome of a meeting, with the evidence for a None, and in words what speaks against one."""

    outcome: Outcome
    why: tuple[Evidence, ...] = ()
    against: str = ""


def unlikely(against: str) -> Meeting:
    """A meeting in which the first tree may hold a None, that likely meets no value."""
    return Meeting(Outcome.UNLIKELY, against=against)


_SAME_MAKER: Final = "both trees come from the same maker"
_MADE_TO_MATCH: Final = "the other tree was made with an eye on its Nones"
_BY_SETTING: Final = "a setting says for both trees whether there is a value"


def meeting(first: Value, others: Sequence[Value], classes: Classes) -> Meeting:
    """What it means that `first` is mapped along with `others`.

    That they hold the same Nones is said of whole trees only: what is known of parts may be out of
    date, where something else changed a tree in place.
    """
    if all(_same(first, other) for other in others):
        return Meeting(Outcome.SAME_NONES)
    if all(_alike(first, other) for other in others):
        return unlikely(_SAME_MAKER)
    found = _meet(first, list(others), classes, MAX_DEPTH)
    if found.outcome is Outcome.MAY_MEET and all(_minds(other, first) for other in others):
        return unlikely(_MADE_TO_MATCH)
    return Meeting(Outcome.NO_NONE) if found.outcome is Outcome.SAME_NONES else found


def meets_empty(first: Value, others: Sequence[Value], depth: int = MAX_DEPTH) -> bool:
    """Whether a None in the first tree meets what is known to be an empty container in another."""
    if first.none in (Is.YES, Is.MAYBE) and any(_is_empty(other) for other in others):
        return True
    if depth <= 0:
        return False
    return any(
        meets_empty(part, [_at(other, key) for other in others], depth - 1)
        for key, part in all_children(first)
    )


def _is_empty(value: Value) -> bool:
    known = value.parts is not None and value.none is not Is.YES and not value.leaf
    return known and not value.parts and value.rest is None


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
    if first.shape is None or _only_first_absent(first, other) or is_alike(first.shape):
        return False
    return first.shape == other.shape or first.shape in other.includes


def _alike(first: Value, other: Value) -> bool:
    """Whether both come from the same maker, called with arguments that need not be the same."""
    if first.shape is None or other.shape is None or _only_first_absent(first, other):
        return False
    return maker(first.shape) == maker(other.shape)


def _only_first_absent(first: Value, other: Value) -> bool:
    """Whether the first may be None as a whole where the other is not known to be."""
    return first.none in (Is.YES, Is.MAYBE) and other.none in (Is.NO, Is.UNKNOWN)


def _none_meets(first: Value, others: list[Value]) -> Meeting:
    present = [other for other in others if other.none is not Is.YES]
    if not present:
        return Meeting(Outcome.SAME_NONES)
    if first.source is not None and all(_same_source(first, other) for other in present):
        return unlikely(_SAME_MAKER)
    if all(_before_setting(first, other) for other in present):
        return unlikely(_BY_SETTING)
    certain = first.none is Is.YES and any(other.none is Is.NO for other in others)
    return Meeting(Outcome.MEETS if certain else Outcome.MAY_MEET, first.why)


def _same_source(first: Value, other: Value) -> bool:
    return other.none is Is.MAYBE and first.source == other.source


def _minds(other: Value, first: Value) -> bool:
    """Whether the other tree was made with an eye on the Nones of the first."""
    return first.shape is not None and first.shape in other.minding


def _before_setting(first: Value, other: Value) -> bool:
    """Whether a setting put the None in the place of what stands opposite: it is None there too."""
    return isinstance(first.source, InsteadOf) and first.source.before == other.shape


def _inside(first: Value, others: list[Value], classes: Classes, depth: int) -> Meeting:
    worst = Meeting(Outcome.NO_NONE if first.inside is Is.NO else Outcome.UNKNOWN)
    if first.none is Is.UNKNOWN:
        worst = Meeting(Outcome.UNKNOWN)
    if first.inside is Is.MAYBE:
        matches = all(_minds(other, first) for other in others)
        worst = unlikely(_MADE_TO_MATCH) if matches else Meeting(Outcome.MAY_MEET, first.why)
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
