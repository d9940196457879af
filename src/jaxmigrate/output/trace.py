"""What the user reads after a traced command has ended: the calls, then what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from packaging.version import InvalidVersion, Version

from jaxmigrate.evidence.hits import Hit, Installed, Place
from jaxmigrate.evidence.tracing import Traced
from jaxmigrate.evidence.upgrades import mended_in
from jaxmigrate.output.document import Block, Closing, Remark, Remarks
from jaxmigrate.output.visible import words

MOST_PLACES = 3
"""How many places in the trees are listed of one call before the rest is counted."""

_REFUSING = Version("0.4.34")


@dataclass(frozen=True, slots=True)
class Given:
    """What `jaxmigrate trace` was told: where to save, and whether a proof is wanted.

    `is_kept` says that `file` was left as it was.
    """

    file: str
    check: bool = False
    is_kept: bool = False


def trace_document(traced: Traced, given: Given) -> Iterator[Block]:
    """The blocks to print: the project's calls, others', those of packages, and what it came to."""
    for hits, advice in (
        (traced.of_project, ""),
        (traced.of_others, "; a file outside this project: run jaxmigrate there"),
        (traced.of_packages, ""),
    ):
        if hits:
            yield Remarks(tuple(_remark(hit, advice or _upgrade(hit)) for hit in hits))
    yield Closing(tuple(words(line) for line in _closing(traced, given)))


def _refuses(hit: Hit) -> bool:
    """Whether the JAX that a call was recorded under refuses it without a trace."""
    try:
        return Version(hit.jax) >= _REFUSING
    except InvalidVersion:
        return False


def _remark(hit: Hit, advice: str) -> Remark:
    return Remark(
        where=words(_where(hit)),
        title=f"{_codemod(hit)} ({_times(hit.count)})",
        reason=words(f"{hit.map} in {hit.function}: {_places(hit.places)}{advice}"),
        evidence=tuple(words(line) for line in _evidence(hit)),
        lines=range(hit.line, (hit.end_line or hit.line) + 1),
    )


def _codemod(hit: Hit) -> str:
    """The codemod that mends a call, in words where none does."""
    if "broadcast" in hit.map:
        return "no codemod"
    return "none-flatten" if hit.map.endswith("flatten_up_to") else "none-prefix"


def _where(hit: Hit) -> str:
    column = "" if hit.column is None else f":{hit.column}"
    if hit.package is None:
        return f"{hit.path}:{hit.line}{column}"
    return f"{_named(hit.package)}, {_below_packages(hit.path)}:{hit.line}{column}"


def _upgrade(hit: Hit) -> str:
    """What is to be done about a call of an installed package."""
    if hit.package is None:
        return ""
    if hit.package.source:
        place = f"{hit.package.name} at {hit.package.source}"
        return f"; an editable install of {place}: run jaxmigrate there"
    release = mended_in(hit)
    return f"; upgrade{f' to {release}' if release else ','} or guard it upstream"


def _named(package: Installed) -> str:
    return f"{package.name} {package.version}".rstrip()


def _below_packages(path: str) -> str:
    for folder in ("site-packages", "dist-packages"):
        _, found, below = path.replace("\\", "/").rpartition(f"/{folder}/")
        if found:
            return below
    return path


def _places(places: Sequence[Place]) -> str:
    shown = places[:MOST_PLACES]
    texts = [f"{_spot(place)} met {_article(place.opposite)}" for place in shown]
    more = len(places) - len(shown)
    return ", ".join(texts) + (f", and {more} more" if more else "")


def _spot(place: Place) -> str:
    return f"None at {place.key_path}" if place.key_path else "None"


def _article(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def _evidence(hit: Hit) -> Iterator[str]:
    if hit.text:
        yield hit.text
    if hit.tests:
        first, *others = hit.tests
        yield f"in {first}" + (f" and {_count(len(others), 'other test')}" if others else "")


def _closing(traced: Traced, given: Given) -> Iterator[str]:
    yield _sentence(traced)
    if given.check and not traced.exit_code:
        yield from _only_packages(traced)
    for why in traced.not_followed:
        yield f"A process could not be followed, its JAX is not known to this jaxmigrate: {why}."
    if traced.lost:
        yield "Some calls could not be recorded: the disk may be full."
    argument = shlex.quote(given.file)
    if given.is_kept:
        yield f"{argument} is left as it was."
    elif not traced.hits:
        yield f"The trace in {argument} names no call."
    else:
        yield f"The trace is saved in {argument}."
    if traced.of_project:
        yield f"Migrate with: jaxmigrate run {_folder(traced.of_project)}--evidence {argument}"


def _folder(hits: Sequence[Hit]) -> str:
    """The folder to migrate that holds all of the hits, and a blank; nothing if the current one does."""
    up = max(PurePosixPath(hit.path).parts.count("..") for hit in hits)
    return f"{'/'.join(['..'] * up)} " if up else ""


def _only_packages(traced: Traced) -> Iterator[str]:
    """What a proof leaves open: the project is done, and its packages are not."""
    if traced.of_project or traced.of_others:
        return
    named = {hit.package.name: None for hit in traced.of_packages if hit.package and _refuses(hit)}
    if named:
        yield f"Without the trace this run fails in {', '.join(named)}."


def _sentence(traced: Traced) -> str:
    if not traced.recorded:
        return (
            "Nothing was recorded: no Python process of the command ran the recorder."
            " It needs Python 3.9 or newer, and comes by PYTHONPATH, which python -I, -E and -S ignore"
            " and tox does not pass on."
        )
    if not traced.jax:
        return "Nothing was recorded: no Python process of the command imported JAX."
    versions = f"JAX {', '.join(traced.jax)}"
    if not traced.hits:
        return f"No map over several trees met a None that stands opposite something else ({versions})."
    counts = [
        (len(traced.of_project), "the project"),
        (len(traced.of_others), "files outside the project"),
        (len(traced.of_packages), "installed packages"),
    ]
    clauses = [f"{_count(number, 'call')} of {whose}" for number, whose in counts if number]
    return f"{_listed(clauses)} met a None in the first of several trees ({versions})."


def _listed(clauses: Sequence[str]) -> str:
    *others, last = clauses
    return f"{', '.join(others)} and {last}" if others else last


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
