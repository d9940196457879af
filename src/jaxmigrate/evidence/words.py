"""Hits in the words that evidence is shown in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxmigrate.evidence.hits import Hit, HitKind, Installed, Place


def notes_of(hits: Sequence[Hit]) -> Iterator[str]:
    """What hits of one call say, each thing once: which None met what, in which test."""
    tests: dict[str, dict[str, None]] = {}
    for hit in hits:
        for what in _what(hit):
            tests.setdefault(what, {}).update(dict.fromkeys(hit.tests))
    for what, names in tests.items():
        yield f"{what} in a run{_tests(list(names))}"


def package_words(package: Installed) -> str:
    """A package with its version, where that is known."""
    return f"{package.name} {package.version}".rstrip()


def _what(hit: Hit) -> Iterator[str]:
    if hit.kind is HitKind.REMOVED_NAME:
        yield f"{hit.map or 'this'} failed"
    elif not hit.places:
        yield "None met a value"
    for place in hit.places:
        yield _met(place)


def _met(place: Place) -> str:
    return f"{place.key_path or 'None'} met {place.opposite or 'a value'}"


def _tests(names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f" ({names[0]}{more})"
