"""What the user reads, as blocks of words; how they look is for the consoles to decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jaxmigrate.model import Action, Evidence, FileResult, RunResult, SiteReport
from jaxmigrate.output.summary import Mode, View, closing_lines
from jaxmigrate.output.tally import acted, edits
from jaxmigrate.output.visible import words


@dataclass(frozen=True, slots=True)
class Remark:
    """What is to be said of one site, with the lines of the file that it is about."""

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


Block = FileDiff | Remarks | Failures | Closing


def document(run: RunResult, view: View) -> Iterator[Block]:
    """The blocks to print for `run`, in order; an empty one is left out."""
    if view.verbosity >= 0:
        yield from _edited(run, view)
        yield from _remarks(acted(run, Action.HOLD), view)
        yield from _remarks(acted(run, Action.REPORT), view)
    failed = tuple(_failures(run))
    if failed:
        yield Failures(failed)
    yield Closing(closing_lines(run, view))


def _edited(run: RunResult, view: View) -> Iterator[Block]:
    """The diffs. Where the edits already stand in files or in a patch, a line each will do."""
    changed = [file for file in run.files if file.changed]
    if view.mode in (Mode.DRY_RUN, Mode.CHECK) or view.verbosity > 0:
        for file in changed:
            remarks = tuple(_remark(file, site, site.evidence) for site in edits(file))
            yield FileDiff(file, remarks, view.prefix)
    elif changed:
        yield from _remarks([(file, site) for file in changed for site in edits(file)], view)


def _remarks(sites: Iterable[tuple[FileResult, SiteReport]], view: View) -> Iterator[Remarks]:
    remarks = tuple(
        _remark(file, site, site.evidence if _shows_evidence(site, view) else ())
        for file, site in sites
    )
    if remarks:
        yield Remarks(remarks)


def _shows_evidence(site: SiteReport, view: View) -> bool:
    return site.action is Action.EDIT or view.verbosity > 0


def _remark(file: FileResult, site: SiteReport, evidence: tuple[Evidence, ...]) -> Remark:
    return Remark(
        where=words(_where(file, site)),
        title=words(_title(site)),
        reason=words(site.reason),
        evidence=tuple(words(f"{each.path}:{each.line}: {each.note}") for each in evidence),
        lines=range(site.line, site.end_line + 1),
    )


def _where(file: FileResult, site: SiteReport) -> str:
    # People count a notebook's cells from 1, as ruff does; the report counts them from 0.
    cell = "" if site.cell is None else f"cell {site.cell + 1}:"
    return f"{file.path}:{cell}{site.line}:{site.column}"


def _title(site: SiteReport) -> str:
    done = {Action.EDIT: "", Action.HOLD: " held", Action.REPORT: " reported"}[site.action]
    return f"{site.codemod} ({site.confidence.label}){done}"


def _failures(run: RunResult) -> Iterator[FailedFile]:
    for file in run.files:
        if file.failure is not None:
            yield FailedFile(words(file.path), words(file.failure.message))
