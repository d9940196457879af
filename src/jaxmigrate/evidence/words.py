"""Hits in the words that evidence is shown in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from jaxmigrate.evidence.hits import Hit, HitKind, Installed, Place

_MOST_PLACES: Final = 2
"""How many places in the trees are told of one call; the others are counted."""


def notes_of(hits: Sequence[Hit]) -> Iterator[str]:
    """What hits of one call say, each thing once: which None met what, in which tests."""
    tests: dict[str, dict[str, None]] = {}
    for hit in hits:
        tests.setdefault(_what(hit), {}).update(dict.fromkeys(hit.tests))
    for what, names in tests.items():
        yield f"{what} in a run{_tests(list(names))}"


def package_words(package: Installed) -> str:
    """A package with its version, where that is known."""
    return f"{package.name} {package.version}".rstrip()


def _what(hit: Hit) -> str:
    if hit.kind is HitKind.REMOVED_NAME:
        return f"{hit.map or 'this'} failed"
    places = hit.places or (Place("", ""),)
    more = len(places) - _MOST_PLACES
    shown = ", ".join(_met(place) for place in places[:_MOST_PLACES])
    return f"{shown} and {more} more" if more > 0 else shown


def _met(place: Place) -> str:
    return f"{place.key_path or 'None'} met {place.opposite or 'a value'}"


def _tests(names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f" ({names[0]}{more})"
