"""Names the placeholders of a project, or makes those the same that meet."""

from __future__ import annotations

from typing import Final

from jaxmigrate.analysis.placeholders.groups import (
    Bounds,
    Found,
    find_agreements,
    find_changes,
)
from jaxmigrate.analysis.placeholders.reading import Reader
from jaxmigrate.analysis.placeholders.sentinel import parse_sentinel
from jaxmigrate.analysis.project import Project
from jaxmigrate.analysis.trees.evidence import Known, Table
from jaxmigrate.analysis.trees.meetings import Meeting, Outcome

CONSISTENT: Final = Known(Meeting(Outcome.NO_NONE), None)
"""What is known of a map in whose first tree all placeholders get a name."""

WHOLLY_CONSISTENT: Final = Known(Meeting(Outcome.NO_NONE), None, is_whole=True)
"""The same where nothing else in the first tree could be None."""


def name_placeholders(project: Project, text: str | None, evidence: Table, bounds: Bounds) -> Found:
    """The changes that make every placeholder of a project's trees the sentinel `text`.

    None for `text` makes two trees hold the same placeholder where one holds None opposite an empty
    container. Raises UsageError for a text that is no sentinel.
    """
    if text is None:
        return find_agreements(_read(project), evidence, bounds)
    sentinel = parse_sentinel(text, project)
    return find_changes(_read(project), sentinel, evidence, bounds)


def _read(project: Project) -> Reader:
    reader = Reader(project)
    modules = [project.module(path) for path in sorted(project.paths)]
    reader.read(module for module in modules if module is not None)
    return reader
