"""Abstract values: what is known of a Python value as a pytree."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from jaxmigrate.model import Evidence

Key: TypeAlias = str | int
Token: TypeAlias = Hashable
"""Stands for the places at which a tree holds None: equal tokens, equal places."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """The token of a value that was made at `line` of `path`, the one with this `number`.

    `alike` says that it is not that value itself, but what the same code made another time.
    """

    path: str
    line: int
    number: int
    alike: bool = False


def is_alike(token: Token) -> bool:
    """Whether a token stands for what the same code made, and not for one and the same tree."""
    if isinstance(token, Fresh):
        return token.alike
    return isinstance(token, tuple) and any(map(is_alike, token))


def maker(token: Token) -> Token:
    """What is the same for all that the same code makes."""
    if isinstance(token, Fresh):
        return Fresh(token.path, token.line, token.number)
    return tuple(map(maker, token)) if isinstance(token, tuple) else token


@dataclass(frozen=True, slots=True)
class BySetting:
    """Marks a None that is there by a setting of the program; `source` is where it was put."""

    source: Token


@dataclass(frozen=True, slots=True)
class InsteadOf:
    """Marks a None that a setting of the program put in the place of another value.

    `before` stands for that value, `source` is where the None was put.
    """

    before: Token
    source: Token


@dataclass(frozen=True, slots=True)
class AnyItem:
    """Stands for whichever item of a sequence, of which `sequence` is the token."""

    sequence: Token


MAX_DEPTH: Final = 6
MAX_CHAIN: Final = 4


class Is(enum.Enum):
    """Whether something is so: surely not, perhaps, surely, or nothing known."""

    NO = enum.auto()
    MAYBE = enum.auto()
    YES = enum.auto()
    UNKNOWN = enum.auto()


@dataclass(slots=True)
class Value:
    """An abstract value; never changed once it is made (frozen dataclasses are made too slowly).

    `none` says whether the value is None itself, `inside` whether it holds a None further down where
    `parts` and `rest` do not tell. `parts` are the children that are known one by one, `rest` what
    all other children are like (None: there are no others, where `parts` is not None). `why` is the
    evidence for a None. `shape` stands for the places of its Nones, `includes` for places at which it
    surely holds None too, `minding` for trees whose Nones were looked at when this one was made.
    `source` tells Nones apart by where they were put. `constant` is a literal's value, `leaf` says that
    it is no container.
    """

    none: Is = Is.UNKNOWN
    inside: Is = Is.UNKNOWN
    why: tuple[Evidence, ...] = ()
    parts: Mapping[Key, Value] | None = None
    rest: Value | None = None
    shape: Token | None = None
    includes: frozenset[Token] = frozenset()
    minding: frozenset[Token] = frozenset()
    source: Token | None = None
    reference: object | None = None
    constant: object = None
    leaf: bool = False

    def __hash__(self) -> int:
        return hash((self.none, self.inside, self.shape, self.source, id(self.reference)))


def replace(value: Value, **changes: Any) -> Value:
    """A copy of a value with some of its fields changed; `dataclasses.replace`, but fast."""
    new: Value = object.__new__(Value)
    new.none = value.none
    new.inside = value.inside
    new.why = value.why
    new.parts = value.parts
    new.rest = value.rest
    new.shape = value.shape
    new.includes = value.includes
    new.minding = value.minding
    new.source = value.source
    new.reference = value.reference
    new.constant = value.constant
    new.leaf = value.leaf
    for name, changed in changes.items():
        setattr(new, name, changed)
    return new


LEAF: Final = Value(none=Is.NO, inside=Is.NO, leaf=True)
"""A number, an array, a string: nothing that could hold a None."""

UNKNOWN: Final = Value()


def unknown(token: Token) -> Value:
    """A value of which nothing is known but that it is one and the same."""
    return Value(shape=token)


def none(evidence: Evidence | None, source: Token = None) -> Value:
    """None itself, with the evidence for it."""
    why = (evidence,) if evidence is not None else ()
    return Value(none=Is.YES, inside=Is.NO, why=why, source=source)


def container(parts: Mapping[Key, Value] | None, rest: Value | None = None) -> Value:
    """A container with known children, and what its other children are like."""
    return Value(none=Is.NO, inside=Is.NO, parts=dict(parts or {}), rest=rest)


def referring(reference: object) -> Value:
    """A function, class or module: no tree of its own."""
    return Value(none=Is.NO, inside=Is.NO, reference=reference, leaf=True)


def maybe_none(value: Value, evidence: Evidence) -> Value:
    """The same value, or None."""
    return replace(value, none=Is.MAYBE, why=(evidence,), source=None)


def not_none(value: Value) -> Value:
    """What is known of the value once it is known not to be None itself."""
    if value.none is Is.NO:
        return value
    keeps_why = value.inside is Is.MAYBE
    return replace(value, none=Is.NO, why=value.why if keeps_why else ())


def child(value: Value, key: Key) -> Value | None:
    """The child at `key`, or None if nothing is known of it."""
    if value.parts is None:
        return None
    if key in value.parts:
        return value.parts[key]
    if isinstance(key, int) and key < 0 and value.rest is None:
        return value.parts.get(len(value.parts) + key)
    return value.rest


def element(value: Value) -> Value | None:
    """What any one child is like, or None if nothing is known."""
    if value.parts is None:
        return None
    children = [*value.parts.values(), *([value.rest] if value.rest is not None else [])]
    if not children:
        return UNKNOWN
    return joined(children)


def with_child(value: Value, key: Key, new: Value) -> Value:
    """The value with another child at `key`."""
    parts = {**(value.parts or {}), key: new}
    rest = value.rest if value.parts is not None else UNKNOWN
    inside = value.inside
    if value.parts is None and value.inside is Is.UNKNOWN:
        inside = Is.UNKNOWN
    return replace(
        value, parts=parts, rest=rest, inside=inside, shape=None, includes=frozenset(), leaf=False
    )


def with_any_child(value: Value, new: Value) -> Value:
    """The value with `new` at a key that is not known."""
    parts = {key: join(old, new) for key, old in (value.parts or {}).items()}
    rest = (
        new if value.rest is None and value.parts is not None else join(value.rest or UNKNOWN, new)
    )
    return replace(value, parts=parts, rest=rest, shape=None, includes=frozenset(), leaf=False)


def without_child(value: Value, key: Key) -> Value:
    """The value once the child at `key` is gone."""
    if value.parts is None:
        return value
    parts = {k: v for k, v in value.parts.items() if k != key}
    return replace(value, parts=parts, shape=None, includes=frozenset())


def another(value: Value, depth: int = MAX_DEPTH) -> Value:
    """A value of which the same is known, but that need not be the same."""
    parts = value.parts
    if parts is not None and depth > 0:
        parts = {key: another(part, depth - 1) for key, part in parts.items()}
    rest = another(value.rest, depth - 1) if value.rest is not None and depth > 0 else value.rest
    return replace(value, shape=None, includes=frozenset(), parts=parts, rest=rest)


def joined(values: list[Value]) -> Value:
    """What holds of every one of several values."""
    result = values[0]
    for value in values[1:]:
        result = join(result, value)
    return result


def join(one: Value, other: Value, depth: int = MAX_DEPTH) -> Value:
    """What holds of both values."""
    if one is other or _are_alike_leaves(one, other):
        return one
    if one.none is Is.YES and other.none is Is.YES:
        return replace(one, source=one.source if one.source == other.source else None)
    if one.none is Is.YES or other.none is Is.YES:
        absent, present = (one, other) if one.none is Is.YES else (other, one)
        return replace(
            present,
            none=Is.MAYBE,
            why=absent.why or present.why,
            source=absent.source,
            constant=None,
        )
    parts, rest = _joined_children(one, other, depth)
    same_shape = one.shape is not None and one.shape == other.shape
    return Value(
        none=_either(one.none, other.none),
        inside=_either(one.inside, other.inside),
        why=one.why or other.why,
        parts=parts,
        rest=rest,
        shape=one.shape if same_shape else None,
        includes=one.includes & other.includes,
        minding=one.minding & other.minding,
        source=one.source if one.source == other.source else None,
        reference=one.reference if one.reference is other.reference else _both(one, other),
        leaf=one.leaf and other.leaf,
    )


def _are_alike_leaves(one: Value, other: Value) -> bool:
    both = one.leaf and other.leaf and one.reference is other.reference
    return both and one.constant == other.constant


@dataclass(frozen=True, slots=True)
class OneOf:
    """A reference to one of several functions or objects; None among them is one that is not known."""

    choices: tuple[object, ...]


def _both(one: Value, other: Value) -> object | None:
    choices: list[object] = []
    referring = [v for v in (one, other) if v.reference is not None or _may_be_anything(v)]
    for reference in (value.reference for value in referring):
        if isinstance(reference, OneOf):
            choices.extend(reference.choices)
        else:
            choices.append(reference)
    unique = tuple(dict.fromkeys(choices))
    return OneOf(unique[:8]) if len(unique) > 1 else (unique[0] if unique else None)


def _may_be_anything(value: Value) -> bool:
    return value.none is Is.UNKNOWN and value.parts is None and not value.leaf


def _either(one: Is, other: Is) -> Is:
    if one is other:
        return one
    if Is.MAYBE in (one, other) or Is.YES in (one, other):
        return Is.MAYBE
    return Is.UNKNOWN


def _joined_children(
    one: Value, other: Value, depth: int
) -> tuple[Mapping[Key, Value] | None, Value | None]:
    if one.leaf and other.parts is not None:
        return other.parts, other.rest
    if other.leaf and one.parts is not None:
        return one.parts, one.rest
    if depth <= 0:
        return None, None
    if one.parts is None or other.parts is None:
        known = one if one.parts is not None else other
        if known.parts is None:
            return None, None
        # The other may be anything, but what is put into this one may be there.
        perhaps = {key: join(part, UNKNOWN, depth - 1) for key, part in known.parts.items()}
        return perhaps, known.rest or UNKNOWN
    keys = dict.fromkeys([*one.parts, *other.parts])
    parts: dict[Key, Value] = {}
    for key in keys:
        mine, theirs = one.parts.get(key, one.rest), other.parts.get(key, other.rest)
        present = [value for value in (mine, theirs) if value is not None]
        parts[key] = joined_pair(present, depth - 1)
    rests = [rest for rest in (one.rest, other.rest) if rest is not None]
    return parts, joined_pair(rests, depth - 1) if rests else None


def joined_pair(values: list[Value], depth: int) -> Value:
    """The join of one or two values."""
    return values[0] if len(values) == 1 else join(values[0], values[1], depth)


def told(value: Value, evidence: Evidence) -> Value:
    """The value with a further hop in the evidence of each None it may hold."""
    if not holds_none(value):
        return value

    def added(why: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
        return why if evidence in why or len(why) >= MAX_CHAIN else (*why, evidence)

    parts = value.parts
    if parts is not None:
        parts = {key: told(part, evidence) for key, part in parts.items()}
    rest = told(value.rest, evidence) if value.rest is not None else None
    return replace(value, why=added(value.why) if value.why else (), parts=parts, rest=rest)


Children: TypeAlias = Callable[[Value], Iterator[tuple[Key | None, Value]]]


def all_children(value: Value) -> Iterator[tuple[Key | None, Value]]:
    """Every child that is known, and what the others are like under the key None."""
    yield from (value.parts or {}).items()
    if value.rest is not None:
        yield None, value.rest


def holds_none(
    value: Value, children: Children = all_children, depth: int = MAX_DEPTH
) -> tuple[Evidence, ...]:
    """The evidence that the tree may hold a None; empty if there is none."""
    if value.none in (Is.YES, Is.MAYBE):
        return value.why
    if depth > 0:
        for _, part in children(value):
            found = holds_none(part, children, depth - 1)
            if found:
                return found
    return value.why if value.inside is Is.MAYBE else ()


def is_clean(value: Value, children: Children = all_children, depth: int = MAX_DEPTH) -> bool:
    """Whether the tree surely holds no None."""
    if value.leaf:
        return True
    if value.none is not Is.NO or value.inside is not Is.NO or depth <= 0:
        return False
    return all(is_clean(part, children, depth - 1) for _, part in children(value))
