"""What all the evidence that a run is given comes to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jaxmigrate.evidence.hits import Hit


@dataclass(frozen=True, slots=True)
class Seen:
    """What runs showed: hits in order; `from_logs` says that logs, and not traces alone, told them.

    `remark` is what the user should know of the file that says so.
    """

    hits: tuple[Hit, ...] = ()
    from_logs: bool = False
    remark: str = ""


def together(seen: Iterable[Seen]) -> Seen:
    """What several files say, in their order."""
    parts = tuple(seen)
    hits = tuple(hit for part in parts for hit in part.hits)
    return Seen(hits, any(part.from_logs and part.hits for part in parts))
