"""Remembers what a function gave for arguments of which the same was known."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from jaxmigrate.analysis.trees.references import Arguments, Closure, Instance
from jaxmigrate.analysis.trees.values import Fresh, Is, Token, Value, replace

_MAX_DEPTH: Final = 4
_MAX_SIZE: Final = 60


class _TooLarge(Exception):
    """The arguments are too large to be worth remembering."""


class Key:
    """Arguments with their tokens numbered in the order they come up, so that alike calls are equal.

    `identified` says that the arguments of a call with the same tokens are the same themselves.
    """

    def __init__(self, closure: Closure, arguments: Arguments, by_setting: bool) -> None:
        """Raises nothing: `words` is None if the arguments are too large."""
        self.tokens: dict[Token, int] = {}
        self.identified = True
        self._size = 0
        self.words: Hashable | None
        try:
            self.words = (
                closure.node,
                id(closure.frame),
                by_setting,
                tuple(self._word(value, 0) for value in arguments.args),
                tuple((k, self._word(v, 0)) for k, v in sorted(arguments.keywords.items())),
                self._word(arguments.more, 0) if arguments.more is not None else None,
            )
        except _TooLarge:
            self.words = None

    def _word(self, value: Value, depth: int) -> Hashable:
        self._size += 1
        if depth > _MAX_DEPTH or self._size > _MAX_SIZE:
            raise _TooLarge
        parts = value.parts
        self.identified &= _is_identified(value)
        return (
            value.none,
            value.inside,
            value.why,
            self._number(value.shape),
            frozenset(map(self._number, value.includes)) if value.includes else None,
            frozenset(map(self._number, value.minding)) if value.minding else None,
            value.source,
            _identity(value.reference),
            value.constant if isinstance(value.constant, Hashable) else None,
            type(value.constant),
            value.leaf,
            None
            if parts is None
            else tuple((k, self._word(v, depth + 1)) for k, v in parts.items()),
            None if value.rest is None else self._word(value.rest, depth + 1),
        )

    def _number(self, token: Token | None) -> int:
        return -1 if token is None else self.tokens.setdefault(token, len(self.tokens))


class Memory:
    """Results by key."""

    def __init__(self) -> None:
        self._results: dict[Hashable, _Result] = {}

    def recall(self, key: Key) -> Value | None:
        """The result of an alike call, in terms of this call's tokens; None if there was none.

        What that call made, this one made another time, unless its arguments are the same.
        """
        found = self._results.get(key.words) if key.words is not None else None
        if found is None:
            return None
        changed = {o: n for o, n in zip(found.tokens, key.tokens, strict=False) if o != n}
        if key.identified and not changed:
            return found.value
        return _renamed(found.value, _Renaming(changed, found.before))

    def keep(self, key: Key, value: Value, before: int) -> None:
        """Remember a result; `before` is the number of the newest token when the call began."""
        if key.words is not None:
            self._results[key.words] = _Result(tuple(key.tokens), value, before)


@dataclass(frozen=True, slots=True)
class _Result:
    tokens: tuple[Token, ...]
    value: Value
    before: int


@dataclass(frozen=True, slots=True)
class _Renaming:
    """What tokens become: those of arguments by `changed`, those made later than `before` alike."""

    changed: Mapping[Token, Token]
    before: int

    def __call__(self, token: Token | None) -> Token | None:
        if token in self.changed:
            return self.changed[token]
        if isinstance(token, Fresh):
            return dataclasses.replace(token, alike=True) if token.number > self.before else token
        return tuple(map(self, token)) if isinstance(token, tuple) else token


def _is_identified(value: Value) -> bool:
    """Whether another value of which the same is known, with the same tokens, is the same value."""
    if value.shape is not None or value.constant is not None or value.none is Is.YES:
        return True
    return value.reference is not None or bool(value.parts)


def _identity(reference: object) -> Hashable:
    return id(reference.cls) if isinstance(reference, Instance) else id(reference)


def _renamed(value: Value, renaming: _Renaming, depth: int = 0) -> Value:
    if depth > _MAX_DEPTH:
        return value
    parts = value.parts
    if parts is not None:
        parts = {key: _renamed(part, renaming, depth + 1) for key, part in parts.items()}
    return replace(
        value,
        shape=renaming(value.shape),
        includes=frozenset(map(renaming, value.includes)),
        minding=frozenset(map(renaming, value.minding)),
        parts=parts,
        rest=_renamed(value.rest, renaming, depth + 1) if value.rest is not None else None,
    )
