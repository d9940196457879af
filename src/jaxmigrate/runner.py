"""A whole run: find the files, read them, put each through the codemods. Writes nothing."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from packaging.version import Version

from jaxmigrate.analysis.aliases import alias_names, project_aliases
from jaxmigrate.analysis.placeholders.changes import Table as Changes
from jaxmigrate.analysis.project import Project
from jaxmigrate.analysis.trees.evidence import Table, with_runs
from jaxmigrate.context import files_around
from jaxmigrate.errors import SourceError
from jaxmigrate.evidence.matching import Matched, match
from jaxmigrate.evidence.seen import Seen
from jaxmigrate.ground import Ground, with_evidence, with_placeholders
from jaxmigrate.lines import searchable
from jaxmigrate.model import Confidence, Failure, FailureKind, FileResult, RunResult
from jaxmigrate.pipeline import Settings, deep_recursion, failure_of, migrate_file, parse_tree
from jaxmigrate.registry import choose
from jaxmigrate.sources.discover import FoundFile, discover
from jaxmigrate.sources.read import read
from jaxmigrate.sources.skips import MARK
from jaxmigrate.sources.text import SourceFile, decode
from jaxmigrate.versions import NEWEST_KNOWN

IN_PROCESS_BELOW: Final = 4_000_000
"""Bytes of candidate files below which starting workers costs more than it saves; see benchmarks."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is asked for.

    `paths` are relative to `root` or absolute, `select`, `ignore` name codemods, `exclude` are
    patterns as in .gitignore, `jobs` counts processes (0: one a core), `with_helper` asks for one
    helper function in the place of several guards, `sentinel` is what placeholders in trees are to be,
    `seen` what runs showed of the project's calls.
    """

    paths: tuple[Path, ...]
    root: Path
    target: Version
    confidence: Confidence = Confidence.LIKELY
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    jobs: int = 0
    with_helper: bool = False
    sentinel: str | None = None
    seen: Seen = field(default_factory=Seen)

    def settings(self) -> Settings:
        """What the pipeline is to work with, as far as it is known before the files are read.

        Raises UsageError for a name that no codemod has.
        """
        codemods = choose(self.select, self.ignore)
        return Settings(codemods, self.confidence, self.target, with_helper=self.with_helper)


@dataclass(frozen=True, slots=True)
class _Shared:
    """What every worker process needs to know."""

    files: tuple[FoundFile, ...]
    aliases: frozenset[str]
    request: Request
    evidence: Table
    placeholders: Changes


@dataclass(slots=True)
class _Collected:
    """The files as read: those that may hold a site; the others, and what they come to."""

    candidates: list[SourceFile] = field(default_factory=list)
    others: dict[str, SourceFile] = field(default_factory=dict)
    results: list[FileResult] = field(default_factory=list)
    aliases: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)


def run(
    request: Request, progress: Callable[[int, int], None] = lambda _done, _of: None
) -> RunResult:
    """Everything that is to happen to the files, in order of path.

    `progress` is told how many candidate files are done, and of how many. Raises UsageError for names
    and patterns that do not exist or are malformed.
    """
    settings = request.settings()
    found = discover(request.paths, request.exclude, request.root)
    with _no_warnings():
        collected = _collect(found.files, settings)
        context = files_around(request.paths, request.exclude, request.root, found.files)
        _look_around(collected, context)
        project = Project(collected.texts, collected.texts.get, collected.aliases)
        files = (*found.files, *context)
        matched = match(request.seen.hits, project, [file.path for file in files], request.root)
        settings = _prepared(settings, project, collected, request, matched)
        with deep_recursion():
            collected.results.extend(_only_parsed(s) for s in collected.others.values())
        results = [*collected.results, *(_failure(path, why) for path, why in found.problems)]
        migrated = _migrated(collected, files, request, settings, project)
        for done, result in enumerate(migrated, start=1):
            results.append(result)
            progress(done, len(collected.candidates))
    return _result(request, tuple(sorted(results, key=lambda r: r.path)), matched)


def run_on_text(data: bytes, name: str, request: Request, place: Path | None = None) -> RunResult:
    """What a run makes of one file called `name` that holds `data`; the file itself is not looked at.

    `place` is where it would be, for the settings of its formatter; `name` by default.
    """
    settings = request.settings()
    try:
        source = decode(data, name, place or Path(name))
    except SourceError as error:
        return _result(request, (_failure(name, str(error), data),), Matched())
    project = Project([name], {name: source.text}.get, alias_names(source.text))
    with _no_warnings():
        matched = match(request.seen.hits, project, [name], request.root)
        collected = _Collected([source], texts={name: source.text})
        settings = _prepared(settings, project, collected, request, matched)
        files = collected.results or [migrate_file(source, project, settings)]
        return _result(request, tuple(files), matched)


def migrate_source(
    source: str,
    *,
    confidence: Confidence = Confidence.LIKELY,
    target_jax: str = NEWEST_KNOWN,
    select: Sequence[str] = (),
    path: str = "module.py",
    sentinel: str | None = None,
) -> FileResult:
    """What becomes of a piece of source that is a project of its own, without settings for its layout.

    Raises as `run_on_text` does.
    """
    request = Request((), Path(), Version(target_jax), confidence, tuple(select), sentinel=sentinel)
    return run_on_text(source.encode(), path, request, Path("/") / path).files[0]


def _result(request: Request, files: tuple[FileResult, ...], matched: Matched) -> RunResult:
    return RunResult(str(request.target), files, matched.leftover, request.seen.from_logs)


@contextmanager
def _no_warnings() -> Iterator[None]:
    """Parsing warns of odd escapes in the files that are read; those are not ours to tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _collect(files: Iterable[FoundFile], settings: Settings) -> _Collected:
    """Read every file; what mentions nothing that a codemod needs or skips is only parsed."""
    collected = _Collected()
    rest: list[SourceFile] = []
    words = sorted({MARK, *(word for codemod in settings.codemods for word in codemod.mentions)})
    for found in files:
        try:
            source = read(found)
        except SourceError as error:
            collected.results.append(_failure(found.path, str(error)))
            continue
        collected.texts[source.path] = source.text
        if any(word in searchable(source.text) for word in words):
            collected.candidates.append(source)
        else:
            rest.append(source)
    texts = [source.text for source in collected.candidates]
    collected.aliases = project_aliases(texts)
    _add_users_of_aliases(collected, rest)
    collected.others = {source.path: source for source in rest}
    return collected


def _look_around(collected: _Collected, context: Iterable[FoundFile]) -> None:
    """Add the texts of files that are not to be edited, for what they tell of the others."""
    for found in context:
        try:
            source = read(found)
        except SourceError:
            continue
        collected.texts[source.path] = source.text
        collected.aliases |= alias_names(source.text)


def _add_users_of_aliases(collected: _Collected, rest: list[SourceFile]) -> None:
    """Move the files that mention an alias of a tree map from `rest` to the candidates."""
    if not collected.aliases:
        return
    users = {s.path for s in rest if any(alias in s.text for alias in collected.aliases)}
    collected.candidates.extend(source for source in rest if source.path in users)
    rest[:] = [source for source in rest if source.path not in users]


def _add_named(collected: _Collected, settings: Settings) -> None:
    """Files in which a placeholder is named are candidates, whatever else they mention."""
    for path in sorted({path for path, *_ in settings.placeholders} & collected.others.keys()):
        collected.candidates.append(collected.others.pop(path))


def _only_parsed(source: SourceFile) -> FileResult:
    try:
        parse_tree(source.path, source.text)
    except SourceError as error:
        return _failure(source.path, str(error), source.data)
    return FileResult(source.path, source.data, source.data, source.encoding)


def _failure(
    path: str, why: str, data: bytes = b"", kind: FailureKind = FailureKind.SOURCE
) -> FileResult:
    return FileResult(path, data, data, failure=Failure(kind, why))


def _prepared(
    settings: Settings,
    project: Project,
    collected: _Collected,
    request: Request,
    matched: Matched,
) -> Settings:
    """The settings with all that is found out about the project before a file is edited.

    Files in which that fails become results, files that it adds sites to become candidates.
    """
    sources = [*collected.candidates, *collected.others.values()]
    paths = [source.path for source in collected.candidates]
    ground = Ground(project, paths, collected.texts, matched)
    settings, failures = with_evidence(settings, ground)
    _give_up(failures, collected)
    editable = {source.path: source.text for source in sources}
    settings = with_placeholders(settings, project, request.sentinel, editable)
    _add_named(collected, settings)
    return dataclasses.replace(
        settings, evidence=with_runs(settings.evidence, matched.met, matched.gone)
    )


def _give_up(failures: Mapping[str, Exception], collected: _Collected) -> None:
    """Name the files in which looking for evidence failed, and leave them alone."""
    for path, error in failures.items():
        collected.candidates = [s for s in collected.candidates if s.path != path]
        collected.others.pop(path, None)
        data = collected.texts[path].encode()
        collected.results.append(FileResult(path, data, data, failure=failure_of(error)))


def _migrated(
    collected: _Collected,
    files: Sequence[FoundFile],
    request: Request,
    settings: Settings,
    project: Project,
) -> Iterator[FileResult]:
    jobs = request.jobs or os.cpu_count() or 1
    size = sum(len(source.data) for source in collected.candidates)
    if jobs == 1 or len(collected.candidates) < 2 or (not request.jobs and size < IN_PROCESS_BELOW):
        for source in collected.candidates:
            yield migrate_file(source, project, settings)
        return
    from jaxmigrate.pool import WorkerDied, over_processes

    shared = _Shared(
        tuple(files),
        frozenset(collected.aliases),
        request,
        settings.evidence,
        settings.placeholders,
    )
    for source, result in over_processes(_worker, shared, collected.candidates, jobs):
        if isinstance(result, WorkerDied):
            why = f"the worker process {result.how}"
            yield _failure(source.path, why, source.data, FailureKind.CODEMOD)
        else:
            yield result


def _worker(shared: _Shared) -> Callable[[SourceFile], FileResult]:
    """In a worker process: what migrates one file, reading the project's other files as needed."""
    warnings.simplefilter("ignore")
    found = {file.path: file for file in shared.files}
    settings = dataclasses.replace(
        shared.request.settings(), evidence=shared.evidence, placeholders=shared.placeholders
    )

    def load(path: str) -> str | None:
        try:
            return read(found[path]).text
        except SourceError:
            return None

    project = Project(found, load, shared.aliases)
    return lambda source: migrate_file(source, project, settings)
