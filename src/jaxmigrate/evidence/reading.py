"""Reads what the user gives as evidence: traces and logs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jaxmigrate.errors import UsageError
from jaxmigrate.evidence.hits import Hit
from jaxmigrate.evidence.log_lines import lines_of
from jaxmigrate.evidence.logs import hits_in
from jaxmigrate.sources.read import printable


@dataclass(frozen=True, slots=True)
class Seen:
    """What runs showed: hits in order; `from_logs` says that logs told some of them."""

    hits: tuple[Hit, ...] = ()
    from_logs: bool = False


def read_evidence(path: Path) -> Seen:
    """What a file says, be it a trace or a log. Raises UsageError if it cannot be read."""
    try:
        return Seen(hits_in(lines_of(path)), from_logs=True)
    except OSError as error:
        raise UsageError(f"{printable(str(path))}: cannot be read: {error.strerror}") from error


def together(seen: Iterable[Seen]) -> Seen:
    """What several files say, in their order."""
    parts = tuple(seen)
    hits = tuple(hit for part in parts for hit in part.hits)
    return Seen(hits, any(part.from_logs and part.hits for part in parts))
