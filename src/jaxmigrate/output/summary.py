"""The closing lines: what the run came to, and what to do next."""

from __future__ import annotations

import enum
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jaxmigrate.model import Action, Confidence, RunResult
from jaxmigrate.output.tally import Tally, acted, tally
from jaxmigrate.output.visible import words


class Mode(enum.Enum):
    """What was done with the result of a run."""

    DRY_RUN = "dry run"
    CHECK = "check"
    WRITTEN = "written"
    PATCHED = "patched"
    PATCHED_DIR = "patched, one patch a file"


@dataclass(frozen=True, slots=True)
class View:
    """How a run is shown.

    `verbosity` is -1 for quiet, 1 for verbose. `threshold` is the confidence from which sites were
    edited. `patch` names the patch file, or the directory, for the modes that wrote one. `prefix`
    is the folder from the top of the repository to the root of the run, for the headers of diffs;
    `in_git` says whether there is a repository.
    """

    mode: Mode = Mode.DRY_RUN
    verbosity: int = 0
    threshold: Confidence = Confidence.LIKELY
    patch: str | None = None
    prefix: str = ""
    in_git: bool = True


def closing_lines(run: RunResult, view: View) -> tuple[str, ...]:
    """The summary sentence, then a line for each thing to do next; quiet has the sentence only."""
    counts = tally(run)
    sentence = words(_sentence(counts, view.mode, len(run.leftover.unmatched)))
    if view.verbosity < 0:
        return (sentence,)
    steps = (*_next_steps(counts, view), *_held_hint(run, view.threshold), *_trace_hint(run))
    return (sentence, *steps)


def _sentence(counts: Tally, mode: Mode, left: int) -> str:
    if counts.files:
        clauses = [_main_clause(counts, mode), _sites_clause(counts), _failed_clause(counts)]
    else:
        clauses = ["No files to migrate were found"]
    return "; ".join(clause for clause in (*clauses, _left_clause(left)) if clause) + "."


def _main_clause(counts: Tally, mode: Mode) -> str:
    if counts.changed:
        verb = "changed" if mode is Mode.WRITTEN else "would change"
        share = f"{counts.changed} of " if counts.files > 1 else ""
        edited = ", ".join(_edits(counts.edited))
        return f"{share}{_count(counts.files, 'file')} {verb}" + (f": {edited}" if edited else "")
    sound = counts.files - counts.failed
    return f"Nothing to edit in {_count(sound, 'file')}" if sound else ""


def _edits(edited: Mapping[str, int]) -> Iterator[str]:
    return (f"{codemod} {_count(number, 'edit')}" for codemod, number in edited.items())


def _sites_clause(counts: Tally) -> str:
    held = sum(counts.held.values()) - counts.needless
    reported = sum(counts.reported.values())
    parts = [(held, "held"), (reported, "reported")]
    return ", ".join(f"{number} {word}" for number, word in parts if number)


def _failed_clause(counts: Tally) -> str:
    return f"{_count(counts.failed, 'file')} failed" if counts.failed else ""


def _left_clause(left: int) -> str:
    verb = "is" if left == 1 else "are"
    return f"{_count(left, 'call')} that a run met {verb} left" if left else ""


def _next_steps(counts: Tally, view: View) -> Iterator[str]:
    if not counts.changed:
        return
    match view.mode:
        case Mode.DRY_RUN:
            yield ("Nothing was written. Apply with --write, or save a patch with --patch FILE.")
        case Mode.CHECK:
            yield "Nothing was written. Apply with --write."
        case Mode.WRITTEN if view.in_git:
            yield "Review with git diff."
        case Mode.PATCHED:
            yield f"The patch is saved. Apply with: git apply {_argument(view.patch)}"
        case Mode.PATCHED_DIR:
            place = _argument(view.patch)
            yield f"The patches are saved in {place}, one a file. Apply each with git apply."
        case _:
            pass


def _held_hint(run: RunResult, threshold: Confidence) -> Iterator[str]:
    """How to edit the sites that were held for want of confidence."""
    unsure = [
        site.confidence
        for _, site in acted(run, Action.HOLD)
        if site.confidence < threshold and not site.needless
    ]
    if unsure:
        labels = " or ".join(level.label for level in sorted(set(unsure), reverse=True))
        sites = f"{_count(len(unsure), 'held site')} {'is' if len(unsure) == 1 else 'are'}"
        them = "it" if len(unsure) == 1 else "them"
        yield f"{sites} only {labels}: --confidence {min(unsure).label} edits {them} too."


def _trace_hint(run: RunResult) -> Iterator[str]:
    """That there is more to find than logs show."""
    if run.from_logs:
        yield (
            "A log names one call a failure: jaxmigrate trace -- COMMAND finds all of them in one run."
        )


def _argument(path: str | None) -> str:
    return words(shlex.quote(path or ""))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
