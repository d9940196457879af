"""The words that every part of jaxmigrate uses: span, site, confidence, evidence, result.

Data only: nothing here reads a file, parses source or knows JAX.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Confidence(enum.IntEnum):
    """How sure it is that a site needs its edit; a greater value is surer."""

    POSSIBLE = 1
    LIKELY = 2
    PROVEN = 3

    @property
    def label(self) -> str:
        """The word that users read and write: `possible`, `likely` or `proven`."""
        return self.name.lower()


class Action(enum.StrEnum):
    """What becomes of a site.

    `edit`: it is rewritten. `hold`: it could be rewritten, and is left alone, for the reason given.
    `report`: it needs a person; no rewrite is known.
    """

    EDIT = "edit"
    HOLD = "hold"
    REPORT = "report"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a file's text: offsets in characters from 0, `end` not included.

    The text is the decoded file without its byte order mark, newlines as they stand in the file.
    """

    start: int
    end: int

    def contains(self, other: Span) -> bool:
        """Whether `other` lies within this span; a span contains itself."""
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that was read and where: `path` relative with `/`, `line` from 1, `note` in words."""

    path: str
    line: int
    note: str


@dataclass(frozen=True, slots=True)
class SiteReport:
    """A site as the user sees it.

    Lines and columns count from 1, columns in characters, and are those of the file as it was read;
    `end_column` is the column just behind the last character. `cell` counts notebook cells from 0 and
    is None outside notebooks. `before` and `after` are source text; `after` equals `before` unless the
    action is `edit`. `needless` marks a site that is held because it needs nothing.
    """

    codemod: str
    action: Action
    confidence: Confidence
    reason: str
    evidence: tuple[Evidence, ...]
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None
    before: str
    after: str
    needless: bool = False


class FailureKind(enum.StrEnum):
    """Whose fault a failure is: the file could not be processed (exit 3), or we failed on it (exit 4)."""

    SOURCE = "source"
    CODEMOD = "codemod"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a file was left untouched: one line of words for the user."""

    kind: FailureKind
    message: str

    def __post_init__(self) -> None:
        lines = (line.strip() for line in self.message.splitlines())
        object.__setattr__(self, "message", " ".join(line for line in lines if line))


@dataclass(frozen=True, slots=True)
class FileResult:
    """What one file came to.

    `path` is relative to the root, with `/`. `before` and `after` are the file's whole bytes;
    `after` equals `before` unless the file changes. `encoding` is the name to decode both with
    (`utf-8-sig` where there is a byte order mark).
    """

    path: str
    before: bytes
    after: bytes
    encoding: str = "utf-8"
    sites: tuple[SiteReport, ...] = ()
    failure: Failure | None = None

    @property
    def changed(self) -> bool:
        """Whether the file's bytes are to change."""
        return self.failure is None and self.before != self.after

    @property
    def status(self) -> str:
        """`changed`, `unchanged` or `failed`, as the report spells it."""
        if self.failure is not None:
            return "failed"
        return "changed" if self.changed else "unchanged"


@dataclass(frozen=True, slots=True)
class PackageEvidence:
    """Evidence that is about the code of an installed package, whose name and version `package` says."""

    package: str
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Leftover:
    """The evidence from runs that is about none of the files' sites.

    `unmatched` was found nowhere in them, and says why not; `in_packages` is not about them. `mended` is
    about calls that are guarded by now, or gone.
    """

    unmatched: tuple[Evidence, ...] = ()
    in_packages: tuple[PackageEvidence, ...] = ()
    mended: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a whole run came to; `files` holds every file looked at, in order of path.

    `from_logs` says that some of the evidence was read out of logs, which name one failure each.
    """

    target_jax: str
    files: tuple[FileResult, ...]
    leftover: Leftover = Leftover()
    from_logs: bool = False
