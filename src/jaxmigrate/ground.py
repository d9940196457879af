"""What is found out about a whole project before any of its files is edited."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from jaxmigrate.analysis.mentions import Mentions
from jaxmigrate.analysis.project import Project
from jaxmigrate.analysis.trees.evidence import collect
from jaxmigrate.evidence.matching import Matched
from jaxmigrate.pipeline import Settings, deep_recursion
from jaxmigrate.sources.skips import Skip, skips


@dataclass(frozen=True, slots=True)
class Ground:
    """A project, the paths of the files that may hold sites, and the texts of all its files.

    `matched` is what runs showed of its calls.
    """

    project: Project
    candidates: Sequence[str]
    texts: Mapping[str, str]
    matched: Matched


def with_evidence(settings: Settings, ground: Ground) -> tuple[Settings, Mapping[str, Exception]]:
    """The settings with what is known of the project's trees, if a codemod asks for it.

    And the errors, by path, of the files in which looking for it failed.
    """
    if not any(codemod.reads_evidence for codemod in settings.codemods):
        return settings, {}
    paths = ground.candidates
    others = {path: ground.texts[path] for path in ground.texts.keys() - set(paths)}
    mentions = Mentions(dict(sorted(others.items())))
    found = collect(ground.project, paths, mentions, ground.matched.met)
    return dataclasses.replace(settings, evidence=found.table), found.failures


def with_placeholders(
    settings: Settings, project: Project, sentinel: str | None, editable: Mapping[str, str]
) -> Settings:
    """The settings with the changes to the project's placeholders, if a codemod makes them.

    Without a `sentinel` those are made one that meet each other; the project is looked into only if the
    evidence has such a meeting. `editable` are the texts of the files that may be edited. Raises
    UsageError for what is no sentinel.
    """
    names = {codemod.name for codemod in settings.codemods if codemod.names_placeholders}
    meet = any(known.meets_empty for known in settings.evidence.values())
    if not names or (sentinel is None and not meet):
        return settings
    from jaxmigrate.analysis.placeholders import naming
    from jaxmigrate.analysis.placeholders.groups import Bounds

    bounds = Bounds(editable.__contains__, _Comments(editable, names).skip)
    with deep_recursion():
        found = naming.name_placeholders(project, sentinel, settings.evidence, bounds)
    evidence = dict(settings.evidence)
    for place, is_whole in found.consistent.items():
        evidence[place] = naming.WHOLLY_CONSISTENT if is_whole else naming.CONSISTENT
    return dataclasses.replace(settings, placeholders=found.changes, evidence=evidence)


class _Comments:
    """The skip comments of files, read when they are first asked for."""

    def __init__(self, texts: Mapping[str, str], codemods: Collection[str]) -> None:
        self._texts = texts
        self._codemods = codemods
        self._read: dict[str, Sequence[Skip]] = {}

    def skip(self, path: str, first: int, last: int) -> bool:
        """Whether a comment covers the lines from `first` to `last` of a file."""
        if path not in self._read:
            self._read[path] = skips(self._texts.get(path, ""))
        return any(
            comment.covers(name, first, last)
            for comment in self._read[path]
            for name in self._codemods
        )
