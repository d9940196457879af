"""What is found out about a whole project before any of its files is edited."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxmigrate.analysis.mentions import Mentions
from jaxmigrate.analysis.placeholders import (
    CONSISTENT,
    WHOLLY_CONSISTENT,
    agree_on_placeholders,
    name_placeholders,
)
from jaxmigrate.analysis.placeholders.groups import Bounds
from jaxmigrate.analysis.project import Project
from jaxmigrate.analysis.trees.evidence import collect
from jaxmigrate.pipeline import Settings, deep_recursion
from jaxmigrate.sources.skips import skips


@dataclass(frozen=True, slots=True)
class Ground:
    """A project, the paths of the files that may hold sites, and the texts of all its files."""

    project: Project
    candidates: Sequence[str]
    texts: Mapping[str, str]


def with_evidence(settings: Settings, ground: Ground) -> tuple[Settings, Mapping[str, Exception]]:
    """The settings with what is known of the project's trees, if a codemod asks for it.

    And the errors, by path, of the files in which looking for it failed.
    """
    if not any(codemod.reads_evidence for codemod in settings.codemods):
        return settings, {}
    paths = ground.candidates
    others = {path: ground.texts[path] for path in ground.texts.keys() - set(paths)}
    found = collect(ground.project, paths, Mentions(dict(sorted(others.items()))))
    return dataclasses.replace(settings, evidence=found.table), found.failures


def with_placeholders(
    settings: Settings, project: Project, sentinel: str | None, editable: Mapping[str, str]
) -> Settings:
    """The settings with the changes to the project's placeholders, if a codemod makes them.

    Without a `sentinel` those are made one that meet each other.
    `editable` are the texts of the files that may be edited. Raises UsageError for what is no sentinel.
    """
    names = {codemod.name for codemod in settings.codemods if codemod.names_placeholders}
    if not names:
        return settings
    comments = {path: skips(text) for path, text in editable.items()}

    def is_skipped(path: str, first: int, last: int) -> bool:
        return any(
            skip.covers(name, first, last) for skip in comments.get(path, ()) for name in names
        )

    with deep_recursion():
        bounds = Bounds(editable.__contains__, is_skipped)
        if sentinel is not None:
            found = name_placeholders(project, sentinel, settings.evidence, bounds)
        else:
            found = agree_on_placeholders(project, settings.evidence, bounds)
    evidence = dict(settings.evidence)
    for place, is_whole in found.consistent.items():
        evidence[place] = WHOLLY_CONSISTENT if is_whole else CONSISTENT
    return dataclasses.replace(settings, placeholders=found.changes, evidence=evidence)
