"""One file through all codemods and gates: from its text to a result, touching nothing on disk."""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias

from packaging.version import Version

from jaxmigrate.analysis.facts import Facts
from jaxmigrate.analysis.placeholders.changes import Table as Changes
from jaxmigrate.analysis.project import Module, Project, module_of
from jaxmigrate.analysis.trees.evidence import Table
from jaxmigrate.codemod import Codemod, NodeKind, Site
from jaxmigrate.errors import SourceError
from jaxmigrate.lines import LineIndex, newline_of, searchable
from jaxmigrate.model import (
    Action,
    Confidence,
    Evidence,
    Failure,
    FailureKind,
    FileResult,
    SiteReport,
    Span,
)
from jaxmigrate.rewriting import gates
from jaxmigrate.rewriting.layout import layout
from jaxmigrate.rewriting.nodes import Unparsable
from jaxmigrate.rewriting.offsets import OffsetMap
from jaxmigrate.rewriting.refining import refined
from jaxmigrate.rewriting.splice import Edit, rewrite, splice
from jaxmigrate.sources.skips import Skip, skips
from jaxmigrate.sources.style import Style, style_of
from jaxmigrate.sources.text import SourceFile, decode, encode

SKIP_COMMENT: Final = "skip-comment"
"""The name under which a skip comment that suppresses nothing is reported."""

_SKIPPED: Final = "a run met a None here; a comment says to leave it"

_News: TypeAlias = Mapping[Span, str]
_RECURSION_LIMIT: Final = 20_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run works with: codemods in their order, how sure to be, the lowest JAX, evidence."""

    codemods: tuple[Codemod, ...]
    confidence: Confidence
    target: Version
    evidence: Table = field(default_factory=dict)
    with_helper: bool = False
    placeholders: Changes = field(default_factory=dict)


def migrate_file(source: SourceFile, project: Project, settings: Settings) -> FileResult:
    """What becomes of one file. Never raises: whatever goes wrong is the result's failure."""
    unchanged = FileResult(source.path, source.data, source.data, source.encoding)
    try:
        with deep_recursion():
            return _Migration(source, project, settings).result()
    except SourceError as error:
        return _failed(unchanged, FailureKind.SOURCE, str(error))
    except gates.GateFailure as error:
        return _failed(unchanged, FailureKind.CODEMOD, str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a bug of ours or of a plug-in: it costs this file, not the run
        return dataclasses.replace(unchanged, failure=failure_of(error))


def failure_of(error: BaseException) -> Failure:
    """What an error that nobody expected is to the user: a file too deep for us, or a bug of ours."""
    if isinstance(error, RecursionError):
        return Failure(FailureKind.SOURCE, "is nested too deeply to be analysed")
    return Failure(FailureKind.CODEMOD, f"internal error: {type(error).__name__}: {error}")


def parse_tree(path: str, text: str) -> ast.Module:
    """The syntax tree of a text. Raises SourceError in words if Python cannot parse it."""
    try:
        return ast.parse(text, filename=path)
    except SyntaxError as error:
        where = f" (line {error.lineno})" if error.lineno else ""
        raise SourceError(f"cannot be parsed: {error.msg}{where}") from error
    except (RecursionError, MemoryError) as error:
        raise SourceError("cannot be parsed: it is nested too deeply") from error
    except ValueError as error:
        raise SourceError(f"cannot be parsed: {error}") from error


def _failed(unchanged: FileResult, kind: FailureKind, message: str) -> FileResult:
    return dataclasses.replace(unchanged, failure=Failure(kind, message))


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Room for syntax trees that are deeper than Python's usual limit."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@dataclass(slots=True)
class _Stage:
    """The file as one codemod sees it; `to_original` maps its offsets to those of the file read."""

    facts: Facts
    to_original: OffsetMap


@dataclass(slots=True)
class _Skipping:
    """The skip comments of the file as read, and which of them suppressed something."""

    comments: tuple[Skip, ...]
    used: set[Skip] = field(default_factory=set)

    def suppresses(self, codemod: str, first: int, last: int, statement: int) -> bool:
        """Whether a comment covers these lines, or stands above the statement they are in."""
        covering = [
            comment
            for comment in self.comments
            if comment.covers(codemod, first, last) or comment.covers(codemod, statement, statement)
        ]
        self.used.update(covering)
        return bool(covering)


class _Migration:
    """One file on its way through the codemods."""

    def __init__(self, source: SourceFile, project: Project, settings: Settings) -> None:
        self.source = source
        self.project = project
        self.settings = settings
        self.skipping = _Skipping(skips(source.text))
        self.reports: list[SiteReport] = []

    @cached_property
    def newline(self) -> str:
        """The newline that the file's lines end with."""
        return newline_of(self.source.text)

    @cached_property
    def original(self) -> LineIndex:
        """The lines of the file as it was read."""
        return LineIndex(self.source.text)

    @cached_property
    def met(self) -> frozenset[Evidence]:
        """What runs met in the project."""
        return frozenset(piece for known in self.settings.evidence.values() for piece in known.met)

    @cached_property
    def style(self) -> Style:
        """How the file is laid out."""
        return style_of(self.source.text, self.source.real_path)

    def result(self) -> FileResult:
        """The file after all codemods, checked."""
        module = self.project.module(self.source.path)
        if module is None:
            module = module_of(self.source.path, parse_tree(self.source.path, self.source.text))
        facts = self._facts(module, self.source.text, OffsetMap())
        stage = _Stage(facts, OffsetMap())
        for codemod in self.settings.codemods:
            if self._may_concern(codemod):
                stage = self._through(codemod, stage)
        self._report_idle_skips()
        after = self.source.data
        if stage.facts is not facts:
            after = self._checked(stage)
        return FileResult(
            self.source.path,
            self.source.data,
            after,
            self.source.encoding,
            tuple(sorted(self.reports, key=lambda r: (r.line, r.column, r.codemod))),
        )

    def _may_concern(self, codemod: Codemod) -> bool:
        """Whether the file mentions anything that a codemod needs, or an alias of a tree map."""
        if any(path == self.source.path for path, *_ in self.settings.placeholders):
            return True
        words = (*codemod.mentions, *self.project.aliases)
        text = searchable(self.source.text)
        return any(word in text for word in words)

    def _through(self, codemod: Codemod, stage: _Stage) -> _Stage:
        text = stage.facts.text
        sites = list(self._sites(codemod, stage))
        chosen = [site for site in sites if site.action is Action.EDIT]
        if not chosen:
            self._note(codemod, stage, sites, {})
            return stage
        try:
            edits, new = rewrite(
                codemod, text, chosen, self.newline, stage.facts.lines, self.style.indent
            )
        except Unparsable as error:
            raise gates.GateFailure(str(error)) from error
        self._note(codemod, stage, sites, new)
        return self._next(stage, edits)

    def _next(self, stage: _Stage, edits: list[Edit]) -> _Stage:
        text = stage.facts.text
        new_text = splice(text, Span(0, len(text)), edits)
        tree = gates.check_syntax(new_text, self.source.path)
        gates.check_only_edited(stage.facts.tree, tree, edits, text, new_text)
        to_original = stage.to_original.after(refined(edits, text))
        moves = layout(text, stage.facts.tree, new_text, edits, lambda: self.style)
        if moves:
            text_before = new_text
            new_text = splice(new_text, Span(0, len(new_text)), moves)
            laid_out = gates.check_syntax(new_text, self.source.path)
            gates.check_same(tree, laid_out, moves, text_before, new_text)
            tree, to_original = laid_out, to_original.after(refined(moves, text_before))
        module = module_of(self.source.path, tree)
        return _Stage(self._facts(module, new_text, to_original), to_original)

    def _facts(self, module: Module, text: str, to_original: OffsetMap) -> Facts:
        if not to_original.moves:
            return Facts(
                module,
                text,
                self.project,
                self.settings.target,
                self.settings.evidence,
                with_helper=self.settings.with_helper,
                placeholders=self.settings.placeholders,
            )
        lines = LineIndex(text)

        def original(position: tuple[int, int]) -> tuple[int, int]:
            offset = to_original.offset(lines.offset(*position))
            line, column = self.original.position(offset)
            return line, len(self.original.line_text(line)[: column - 1].encode())

        settings = self.settings
        return Facts(
            module,
            text,
            self.project,
            settings.target,
            settings.evidence,
            original,
            settings.with_helper,
            settings.placeholders,
        )

    def _sites(self, codemod: Codemod, stage: _Stage) -> Iterator[Site]:
        """The sites that are not skipped, those that are not sure enough held."""
        threshold = self.settings.confidence
        for site in codemod.find(stage.facts):
            if self.skipping.comments and self._is_skipped(codemod, site, stage):
                if not self._met(site):
                    continue
                site = dataclasses.replace(site, action=Action.HOLD, reason=_SKIPPED)
            if site.action is Action.EDIT and site.confidence < threshold:
                if site.kind is NodeKind.INSERTION:
                    continue
                site = dataclasses.replace(site, action=Action.HOLD)
            yield site

    def _is_skipped(self, codemod: Codemod, site: Site, stage: _Stage) -> bool:
        span = stage.to_original.span(site.span)
        first, _ = self.original.position(span.start)
        last, _ = self.original.position(span.end)
        return self.skipping.suppresses(codemod.name, first, last, self._statement_line(first))

    def _met(self, site: Site) -> bool:
        """Whether a run met a None at a site."""
        return any(piece in self.met for piece in site.evidence)

    def _statement_line(self, line: int) -> int:
        """The line on which the simple statement that covers `line` starts."""
        starts = [
            node.lineno
            for node in ast.walk(self._original_tree())
            if isinstance(node, ast.stmt)
            and not hasattr(node, "body")
            and node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        return max(starts, default=line)

    def _original_tree(self) -> ast.Module:
        module = self.project.module(self.source.path)
        return module.tree if module is not None else ast.parse(self.source.text)

    def _note(self, codemod: Codemod, stage: _Stage, sites: Sequence[Site], new: _News) -> None:
        for site in sites:
            span = stage.to_original.span(site.span)
            line, column = self.original.position(span.start)
            end_line, end_column = self.original.position(span.end)
            before = self.source.text[span.start : span.end]
            self.reports.append(
                SiteReport(
                    codemod=codemod.name,
                    action=site.action,
                    confidence=site.confidence,
                    reason=site.reason,
                    evidence=site.evidence,
                    line=line,
                    column=column,
                    end_line=end_line,
                    end_column=end_column,
                    cell=None,
                    before=before,
                    after=new.get(site.span, before),
                    needless=site.needless,
                )
            )

    def _checked(self, stage: _Stage) -> bytes:
        """The new bytes, if every promise holds that the result as a whole must keep."""
        text = stage.facts.text
        gates.check_comments(self.source.text, text)
        gates.check_style(self.source.text, text)
        try:
            after = encode(text, self.source)
        except SourceError as error:
            raise gates.GateFailure(f"the result {error}") from error
        if decode(after, self.source.path, self.source.real_path).encoding != self.source.encoding:
            raise gates.GateFailure("the result has another encoding")
        for codemod in filter(self._may_concern, self.settings.codemods):
            for site in self._sites(codemod, stage):
                if site.action is Action.EDIT:
                    raise gates.GateFailure(f"{codemod.name} would edit its own result again")
        return after

    def _report_idle_skips(self) -> None:
        ran = {codemod.name for codemod in self.settings.codemods}
        for comment in self.skipping.comments:
            unknown = sorted(comment.names - ran - _names_of_codemods()) if comment.names else []
            if unknown:
                names = ", ".join(unknown)
                self._report_skip(comment, f"no codemod is called {names}")
            elif comment not in self.skipping.used and comment.names <= ran:
                self._report_skip(comment, "this comment suppresses nothing")

    def _report_skip(self, comment: Skip, reason: str) -> None:
        self.reports.append(
            SiteReport(
                codemod=SKIP_COMMENT,
                action=Action.REPORT,
                confidence=Confidence.PROVEN,
                reason=reason,
                evidence=(),
                line=comment.line,
                column=comment.column,
                end_line=comment.line,
                end_column=comment.column + len(comment.text),
                cell=None,
                before=comment.text,
                after=comment.text,
            )
        )


def _names_of_codemods() -> set[str]:
    from jaxmigrate.registry import all_codemods

    return {codemod.name for codemod in all_codemods()}
