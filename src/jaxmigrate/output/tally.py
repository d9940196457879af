"""Counts what a run came to, once, for the report and for the closing lines alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jaxmigrate.model import Action, FileResult, RunResult, SiteReport


@dataclass(frozen=True, slots=True)
class Tally:
    """How many files there are and what became of them; sites by name of codemod, sorted.

    `needless` counts the sites among those held that need nothing.
    """

    files: int
    changed: int
    failed: int
    edited: Mapping[str, int]
    held: Mapping[str, int]
    reported: Mapping[str, int]
    needless: int


def tally(run: RunResult) -> Tally:
    """Count `run`. An edit in a file that failed was not made, so it is not counted."""
    return Tally(
        files=len(run.files),
        changed=sum(file.changed for file in run.files),
        failed=sum(file.failure is not None for file in run.files),
        edited=_by_codemod(site for file in run.files for site in edits(file)),
        held=_by_codemod(site for _, site in acted(run, Action.HOLD)),
        reported=_by_codemod(site for _, site in acted(run, Action.REPORT)),
        needless=sum(site.needless for _, site in acted(run, Action.HOLD)),
    )


def edits(file: FileResult) -> list[SiteReport]:
    """The sites of `file` that are edited; none if the file failed."""
    if file.failure is not None:
        return []
    return [site for site in file.sites if site.action is Action.EDIT]


def acted(run: RunResult, action: Action) -> list[tuple[FileResult, SiteReport]]:
    """Every site of `run` with this action, with its file, in order."""
    return [(file, site) for file in run.files for site in file.sites if site.action is action]


def _by_codemod(sites: Iterable[SiteReport]) -> dict[str, int]:
    return dict(sorted(Counter(site.codemod for site in sites).items()))
