"""What the last line of a failure says: that a None prefix met a value, or that a name is gone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from jaxmigrate.analysis.jaxnames import RETIRED
from jaxmigrate.evidence.hits import HitKind, Place

MOST_LINES: Final = 6
"""How many lines of a message are looked at: as many as JAX 0.10.2 needs."""

_LONGEST: Final = 40

_STARTS: Final = re.compile(
    r"(?:ValueError: (?:Expected None, got |pytree structure error: different types at key path)"
    r"|DeprecationWarning: In a future release of JAX, flatten-up-to "
    r"|AttributeError: (?:jax[\w.]* was removed in JAX |module 'jax[\w.]*' has no attribute ')"
    r"|ImportError: cannot import name ')"
)
_VALUE: Final = re.compile(
    r"(?:ValueError: Expected None, got |"
    r"DeprecationWarning: In a future release of JAX, flatten-up-to will no longer consider None "
    r"to be a tree-prefix of non-None values, got: )(.*)"
)
_PREFIX: Final = re.compile(r"At that key path, the prefix pytree (.+) has a subtree of type$")
_OTHER: Final = "but at the same key path the full pytree has a subtree of different type"
_TYPE: Final = re.compile(r"<class '([^']*)'>\.?$")
_FUNCTIONS: Final = MappingProxyType(
    {"tree_map": "", "tree_map_with_path": "", "broadcast_prefix": "jax.tree.broadcast"}
)
"""The first words of what JAX 0.10.2 calls the trees that follow the rule about None, and whose they are."""

_GONE: Final = re.compile(r"AttributeError: (jax[\w.]*) was removed in JAX ")
_NO_ATTRIBUTE: Final = re.compile(r"AttributeError: module '(jax[\w.]*)' has no attribute '(\w+)'")
_NO_NAME: Final = re.compile(r"ImportError: cannot import name '(\w+)' from '(jax[\w.]*)'")
_TRACER: Final = re.compile(r"ShapedArray\((\w+\[[\d,]*\])")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a failure was about: `place` is where a None met a value, `name` what is gone or was called."""

    kind: HitKind
    name: str = ""
    place: Place | None = None


def begins(line: str) -> bool:
    """Whether a line may begin a message that means something here."""
    return _STARTS.match(line) is not None


def meaning(lines: Sequence[str]) -> Meaning | None:
    """What the message means that begins with these lines; None if nothing, or not yet."""
    if value := _VALUE.match(lines[0]):
        return Meaning(HitKind.NONE_PREFIX, place=Place("", _short(value[1])))
    if len(lines) == MOST_LINES:
        return _of_types(*lines[1:])
    name = _gone(lines[0])
    return Meaning(HitKind.REMOVED_NAME, name) if name in RETIRED else None


def _of_types(path: str, prefix: str, first: str, but: str, other: str) -> Meaning | None:
    """JAX 0.10.2 names both types, a line each; it is the first tree that must hold None."""
    name, holds, met = _PREFIX.match(prefix), _TYPE.match(first), _TYPE.match(other)
    if name is None or holds is None or met is None or but != _OTHER:
        return None
    if holds[1] != "NoneType" or name[1].partition(" ")[0] not in _FUNCTIONS:
        return None
    place = Place(path.removeprefix(name[1]), met[1].rpartition(".")[2])
    return Meaning(HitKind.NONE_PREFIX, _FUNCTIONS[name[1].partition(" ")[0]], place)


def _gone(line: str) -> str:
    if found := _GONE.match(line):
        return found[1]
    if found := _NO_ATTRIBUTE.match(line):
        return f"{found[1]}.{found[2]}"
    found = _NO_NAME.match(line)
    return f"{found[2]}.{found[1]}" if found else ""


def _short(value: str) -> str:
    """A value as JAX printed it, if that is short; of a traced one its type and shape."""
    if tracer := _TRACER.search(value):
        return tracer[1]
    value = value.removesuffix(".")
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
