"""Remembers what a function gave for arguments of which the same was known."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Final

from jaxmigrate.analysis.trees.references import Arguments, Closure, Instance
from jaxmigrate.analysis.trees.values import Token, Value, replace

_MAX_DEPTH: Final = 4
_MAX_SIZE: Final = 60


class _TooLarge(Exception):
    """The arguments are too large to be worth remembering."""


class Key:
    """Arguments with their tokens numbered in the order they come up, so that alike calls are equal."""

    def __init__(self, closure: Closure, arguments: Arguments, by_setting: bool) -> None:
        """Raises nothing: `words` is None if the arguments are too large."""
        self.tokens: dict[Token, int] = {}
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
        self._results: dict[Hashable, tuple[tuple[Token, ...], Value]] = {}

    def recall(self, key: Key) -> Value | None:
        """The result of an alike call, in terms of this call's tokens; None if there was none."""
        found = self._results.get(key.words) if key.words is not None else None
        if found is None:
            return None
        tokens, value = found
        renamed = {old: new for old, new in zip(tokens, key.tokens, strict=False) if old != new}
        return _renamed(value, renamed) if renamed else value

    def keep(self, key: Key, value: Value) -> None:
        """Remember a result."""
        if key.words is not None:
            self._results[key.words] = (tuple(key.tokens), value)


def _identity(reference: object) -> Hashable:
    return id(reference.cls) if isinstance(reference, Instance) else id(reference)


def _renamed(value: Value, tokens: Mapping[Token, Token], depth: int = 0) -> Value:
    if depth > _MAX_DEPTH:
        return value
    parts = value.parts
    if parts is not None:
        parts = {key: _renamed(part, tokens, depth + 1) for key, part in parts.items()}
    return replace(
        value,
        shape=_token(value.shape, tokens),
        includes=frozenset(_tokens(value.includes, tokens)),
        minding=frozenset(_tokens(value.minding, tokens)),
        parts=parts,
        rest=_renamed(value.rest, tokens, depth + 1) if value.rest is not None else None,
    )


def _tokens(found: Iterable[Token], tokens: Mapping[Token, Token]) -> Iterable[Token]:
    return (_token(token, tokens) for token in found)


def _token(token: Token | None, tokens: Mapping[Token, Token]) -> Token | None:
    if token in tokens:
        return tokens[token]
    if isinstance(token, tuple):
        return tuple(_token(part, tokens) for part in token)
    return token
