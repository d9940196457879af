"""What the user reads, as blocks of words; how they look is for the consoles to decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, TypeAlias

from jaxmigrate.model import (
    Action,
    Confidence,
    Evidence,
    FileResult,
    Leftover,
    RunResult,
    SiteReport,
)
from jaxmigrate.output.summary import Mode, View, closing_lines
from jaxmigrate.output.tally import acted, edits
from jaxmigrate.output.visible import words

MOST_ALIKE: Final = 5
"""How many sites of one file that are held or reported alike are listed before the rest is counted."""

_Placed: TypeAlias = tuple[FileResult, SiteReport]


@dataclass(frozen=True, slots=True)
class Remark:
    """What is to be said of one site, or of several, with the lines of the file that it is about."""

    where: str
    title: str
    reason: str
    evidence: tuple[str, ...]
    lines: range

    def text(self) -> str:
        """The first line: place, codemod, reason."""
        return f"{self.where} {self.title}: {self.reason}"


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A changed file, the reasons for its edits, and what goes before its path in a patch."""

    file: FileResult
    remarks: tuple[Remark, ...]
    prefix: str


@dataclass(frozen=True, slots=True)
class Remarks:
    """A list of sites that belong together: edited, held or reported."""

    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that was left untouched, and why."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Failures:
    """All files that failed."""

    files: tuple[FailedFile, ...]


@dataclass(frozen=True, slots=True)
class Closing:
    """The last lines: a summary sentence, then what to do next."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unplaced:
    """Evidence that is about none of the files: a line for each piece."""

    lines: tuple[str, ...]


Block = FileDiff | Remarks | Failures | Unplaced | Closing


def document(run: RunResult, view: View) -> Iterator[Block]:
    """The blocks to print for `run`, in order; an empty one is left out."""
    if view.verbosity >= 0:
        yield from _edited(run, view)
        for action in (Action.HOLD, Action.REPORT):
            yield from _left_alone(acted(run, action), view)
    failed = tuple(_failures(run))
    if failed:
        yield Failures(failed)
    lines = tuple(leftover_lines(run.leftover, view.verbosity))
    if lines:
        yield Unplaced(lines)
    yield Closing(closing_lines(run, view))


def leftover_lines(leftover: Leftover, verbosity: int = 0) -> Iterator[str]:
    """What is to be said of evidence that was found in none of the files, and of installed packages.

    Calls that are mended are counted, and listed only if verbose.
    """
    for piece in leftover.unmatched:
        yield words(f"evidence not matched: {_at(piece)}: {piece.note}")
    for found in leftover.in_packages:
        yield words(f"evidence in {found.package}: {_at(found.evidence)}: {found.evidence.note}")
    if verbosity > 0:
        for piece in leftover.mended:
            yield words(f"evidence no longer needed: {_at(piece)}: {piece.note}")
    elif leftover.mended:
        yield _mended(len(leftover.mended))


def _mended(number: int) -> str:
    them, verb = ("call", "is") if number == 1 else ("calls", "are")
    return f"{number} {them} that a run met {verb} guarded already, or gone (-v lists them)"


def _at(piece: Evidence) -> str:
    return f"{piece.path}:{piece.line}" if piece.line else piece.path


def _edited(run: RunResult, view: View) -> Iterator[Block]:
    """The diffs. Where the edits already stand in files or in a patch, a line each will do."""
    changed = [file for file in run.files if file.changed]
    if view.mode in (Mode.DRY_RUN, Mode.CHECK) or view.verbosity > 0:
        for file in changed:
            remarks = tuple(_remark(file, site, site.evidence) for site in edits(file))
            yield FileDiff(file, remarks, view.prefix)
    elif changed:
        yield Remarks(
            tuple(_remark(file, site, site.evidence) for file in changed for site in edits(file))
        )


def _left_alone(sites: Iterable[_Placed], view: View) -> Iterator[Remarks]:
    """The sites of one action: all of them with their evidence if verbose, else what matters."""
    if view.verbosity > 0:
        remarks = [_remark(file, site, site.evidence) for file, site in sites]
    else:
        needed = [(file, site) for file, site in sites if not _is_counted_only(site, view)]
        remarks = [
            remark
            for _, of_file in groupby(needed, lambda placed: placed[0].path)
            for remark in _shortened(list(of_file), view)
        ]
    if remarks:
        yield Remarks(tuple(remarks))


def _is_counted_only(site: SiteReport, view: View) -> bool:
    """Whether a site needs nothing, or nobody asked for it: who wants what is proven is not to read on."""
    unasked = (view.threshold, site.confidence) == (Confidence.PROVEN, Confidence.POSSIBLE)
    return site.needless or (unasked and site.action is Action.HOLD)


def _shortened(sites: Sequence[_Placed], view: View) -> Iterator[Remark]:
    """The sites of one file, of those that are alike the first few, the others counted behind them."""
    kinds = [_kind(site, view) for _, site in sites]
    for number, ((file, site), kind) in enumerate(zip(sites, kinds, strict=True)):
        before, of_kind = kinds[:number].count(kind), kinds.count(kind)
        # one line that says "and 1 more" would take the place of the one that it leaves out
        if before < MOST_ALIKE or of_kind == MOST_ALIKE + 1:
            yield _remark(file, site, ())
        elif before == MOST_ALIKE:
            yield _and_more(file, site, of_kind - MOST_ALIKE)


def _kind(site: SiteReport, view: View) -> tuple[object, ...]:
    """What sites have in common that need not all be listed.

    Where nothing but confidence is wanting, the reason says no more than which tree it is about.
    """
    reason = site.reason if site.confidence >= view.threshold else ""
    return (site.codemod, site.action, site.confidence, reason)


def _and_more(file: FileResult, site: SiteReport, number: int) -> Remark:
    return Remark(
        where=words(file.path),
        title=words(_title(site)),
        reason=f"and {number} more like this (-v lists them)",
        evidence=(),
        lines=range(site.line, site.end_line + 1),
    )


def _remark(file: FileResult, site: SiteReport, evidence: tuple[Evidence, ...]) -> Remark:
    told = next((each for each in evidence if each.note and each.note in site.reason), None)
    place = "" if told is None else _place(told, file, site)
    return Remark(
        where=words(_where(file, site)),
        title=words(_title(site)),
        reason=words(f"{site.reason} ({place})" if place else site.reason),
        evidence=tuple(
            words(f"{each.path}:{each.line}: {each.note}") for each in evidence if each is not told
        ),
        lines=range(site.line, site.end_line + 1),
    )


def _place(told: Evidence, file: FileResult, site: SiteReport) -> str:
    """Where that stands which the reason has told already; empty where that is the site itself."""
    if told.path != file.path:
        return f"{told.path}:{told.line}"
    return "" if site.line <= told.line <= site.end_line else f"line {told.line}"


def _where(file: FileResult, site: SiteReport) -> str:
    # People count a notebook's cells from 1, as ruff does; the report counts them from 0.
    cell = "" if site.cell is None else f"cell {site.cell + 1}:"
    return f"{file.path}:{cell}{site.line}:{site.column}"


def _title(site: SiteReport) -> str:
    if site.needless:
        return f"{site.codemod} needs nothing"
    done = {Action.EDIT: "", Action.HOLD: " held", Action.REPORT: " reported"}[site.action]
    return f"{site.codemod} ({site.confidence.label}){done}"


def _failures(run: RunResult) -> Iterator[FailedFile]:
    for file in run.files:
        if file.failure is not None:
            yield FailedFile(words(file.path), words(file.failure.message))
