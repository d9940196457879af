"""What a codemod may ask about one module, with the whole project behind it."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from packaging.version import Version

from jaxmigrate.analysis.calls import TreeCall, tree_calls
from jaxmigrate.analysis.fallbacks import Fallback, fallbacks
from jaxmigrate.analysis.guards import Plan, Question, plan_guard
from jaxmigrate.analysis.handrolled import HandRolled, hand_rolled
from jaxmigrate.analysis.helper import (
    helper_name,
    import_above,
    is_standard,
    place_for_helper,
    spelled_at_top,
)
from jaxmigrate.analysis.on_none import Place
from jaxmigrate.analysis.placeholders.changes import Change, Deed, optional_part, question_of
from jaxmigrate.analysis.placeholders.changes import Table as Changes
from jaxmigrate.analysis.placeholders.narrowing import asked_for_none
from jaxmigrate.analysis.project import External, Module, Project
from jaxmigrate.analysis.retired import RetiredUse, retired_uses
from jaxmigrate.analysis.same_nones import made_from_first
from jaxmigrate.analysis.scopes import Scope
from jaxmigrate.analysis.trees.evidence import Table
from jaxmigrate.analysis.verdicts import Verdict, judge, judge_tree, short
from jaxmigrate.lines import LineIndex
from jaxmigrate.model import Evidence, Span

_POSITIONED: Final = (ast.expr, ast.stmt, ast.alias)


def _binds(statement: ast.Import | ast.ImportFrom, names: Collection[str]) -> bool:
    """Whether an import binds one of the names, or may."""
    if isinstance(statement, ast.Import):
        return any((a.asname or a.name.partition(".")[0]) in names for a in statement.names)
    return any(a.name == "*" or (a.asname or a.name) in names for a in statement.names)


Position: TypeAlias = tuple[int, int]
"""A line from 1 and a column in UTF-8 bytes from 0."""


def _own_position(position: Position) -> Position:
    return position


@dataclass(frozen=True, slots=True)
class Use:
    """A place that names something outside the project: an attribute (`jax.tree_map`) or a bare name."""

    node: ast.Attribute | ast.Name
    name: str


@dataclass(frozen=True, slots=True)
class Helper:
    """A helper function to be written: its name, the tree map it calls, as spelled, and its place."""

    name: str
    function: str
    span: Span


def _asks(predicate: ast.expr | None, question: Question) -> bool:
    """Whether a predicate is a lambda that asks the question of its parameter."""
    if not isinstance(predicate, ast.Lambda) or not predicate.args.args:
        return False
    asked = ast.unparse(ast.parse(question.asked(predicate.args.args[0].arg), mode="eval"))
    return any(isinstance(n, ast.expr) and ast.unparse(n) == asked for n in ast.walk(predicate))


def _deeds(node: ast.AST) -> Iterator[Deed]:
    """What may be done to a node that names a placeholder."""
    if isinstance(node, ast.Constant) and node.value is None:
        yield Deed.BUILD
    elif isinstance(node, ast.Compare) and asked_for_none(node) is not None:
        yield Deed.ASK
    elif isinstance(node, ast.Call):
        yield Deed.GUARD
    if isinstance(node, ast.expr) and optional_part(node) is not None:
        yield Deed.ANNOTATE


class Facts:
    """The facts of one module.

    `text` is its source without byte order mark, `tree` its syntax tree, `target` the lowest JAX that
    the result must run on. `evidence` is what is known of the project's tree maps, by the position that
    each had when the file was read, which `original` tells. `with_helper` asks for one helper function
    in the place of several guards. Nothing here changes anything.
    """

    def __init__(
        self,
        module: Module,
        text: str,
        project: Project,
        target: Version,
        evidence: Table | None = None,
        original: Callable[[Position], Position] = _own_position,
        with_helper: bool = False,
        placeholders: Changes | None = None,
    ) -> None:
        self.with_helper = with_helper
        self._placeholders = placeholders or {}
        self._evidence = evidence or {}
        self._original = original
        self.module = module
        self.tree = module.tree
        self.path = module.path
        self.text = text
        self.project = project
        self.target = target

    @cached_property
    def lines(self) -> LineIndex:
        """The lines of the text."""
        return LineIndex(self.text)

    def span(self, node: ast.AST) -> Span:
        """Where a node of this module stands. Raises ValueError for a node without a position."""
        if not isinstance(node, _POSITIONED) or node.end_lineno is None:
            raise ValueError(f"{type(node).__name__} has no position")
        assert node.end_col_offset is not None
        return Span(
            self.lines.offset(node.lineno, node.col_offset),
            self.lines.offset(node.end_lineno, node.end_col_offset),
        )

    def source(self, node: ast.AST) -> str:
        """The source text of a node of this module."""
        span = self.span(node)
        return self.text[span.start : span.end]

    def evidence(self, node: ast.AST, note: str) -> Evidence:
        """A piece of evidence that stands at `node` in this file."""
        return self._as_read(Evidence(self.path, getattr(node, "lineno", 1), note))

    def _as_read(self, piece: Evidence) -> Evidence:
        """Evidence from this text, its line told in terms of the file as it was read."""
        if piece.path != self.path:
            return piece
        return dataclasses.replace(piece, line=self._original((piece.line, 0))[0])

    def place(self, scope: Scope) -> Place:
        """The place to resolve names from, for code in `scope`."""
        return Place(scope, self.module, self.project)

    def target_has(self, version: str) -> bool:
        """Whether every JAX that the result must run on is at least `version`."""
        return self.target >= Version(version)

    def uses(self, names: Collection[str]) -> Iterator[Use]:
        """Every attribute that stands for one of the dotted `names`, and spells it.

        Names that an import statement binds are not here; see `imports`.
        """
        last = {name.rpartition(".")[2] for name in names}
        for node, scope in self.module.scopes.attributes:
            if node.attr not in last:
                continue
            name = self.project.name_of(node, scope, self.module)
            if name is not None and name in names and self._is_spelled(node, scope):
                yield Use(node, name)

    def calls_of(self, names: Collection[str]) -> Iterator[tuple[ast.Call, Scope]]:
        """Every call of one of the dotted `names` by a bare name, with its scope."""
        last = {name.rpartition(".")[2] for name in names}
        for node, scope in self.module.scopes.calls:
            if not isinstance(node.func, ast.Name) or node.func.id not in last:
                continue
            if self.project.name_of(node.func, scope, self.module) in names:
                yield node, scope

    def star_uses(self, names: Collection[str]) -> Iterator[Use]:
        """Every bare name that stands for one of `names` because of an `import *`."""
        if not self.module.scopes.module.star_imports:
            return
        for node, scope in self.module.scopes.names:
            if scope.owner(node.id) is not None:
                continue
            for entity in self.project.lookup(node.id, scope, self.module):
                if isinstance(entity, External) and entity.name in names:
                    yield Use(node, entity.name)

    def imports(self, module: str) -> Iterator[ast.ImportFrom]:
        """Every `from module import …` statement."""
        for statement, _ in self.module.scopes.from_imports:
            if statement.level == 0 and statement.module == module:
                yield statement

    def imports_beside(
        self, statement: ast.ImportFrom, names: Collection[str]
    ) -> Iterator[ast.ImportFrom]:
        """The absolute `from` imports that the binding of `names` could move to from `statement`.

        They are in the same run of import statements, nearest first, those above it before those below,
        with nothing in between that binds one of the names.
        """
        block = self._block(statement)
        here = block.index(statement)
        for run in (reversed(block[:here]), block[here + 1 :]):
            for neighbour in run:
                if not isinstance(neighbour, ast.Import | ast.ImportFrom):
                    break
                if isinstance(neighbour, ast.ImportFrom) and neighbour.level == 0:
                    yield neighbour
                if _binds(neighbour, names):
                    break

    def stands_alone(self, statement: ast.stmt) -> bool:
        """Whether a statement can go with its lines: its block has others, and nothing is about it alone.

        No other statement may be on its lines, and no comment on them or right above them.
        """
        first, _ = self.lines.position(self.span(statement).start)
        above = self.lines.line_text(first - 1).lstrip() if first > 1 else ""
        return self.fills_lines(statement) and not above.startswith("#")

    def fills_lines(self, statement: ast.stmt) -> bool:
        """Whether a statement can go with its lines, which hold nothing else; its block has others."""
        span = self.span(statement)
        first, _ = self.lines.position(span.start)
        last, _ = self.lines.position(span.end)
        if last == self.lines.line_count:
            return False
        before = self.text[self.lines.line_start(first) : span.start]
        behind = self.lines.line_text(last)[span.end - self.lines.line_start(last) :]
        bare = not before.strip() and not behind.strip() and "#" not in self.source(statement)
        return bare and len(self._block(statement)) > 1

    def _block(self, statement: ast.stmt) -> list[ast.stmt]:
        parent = self.module.scopes.parents[statement]
        for name in ("body", "orelse", "finalbody", "handlers"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        raise ValueError("the statement is in no block")

    @property
    def tree_calls(self) -> Sequence[TreeCall]:
        """Every tree-map call of the module, in source order."""
        return tree_calls(self.module, self.project)

    @cached_property
    def fallbacks(self) -> Sequence[Fallback]:
        """Every `try` that falls back to a guarded tree map on the text of JAX's error."""
        return tuple(fallbacks(self.module, self.project, tuple(self.tree_calls)))

    @cached_property
    def hand_rolled(self) -> Sequence[HandRolled]:
        """Every call of `flatten_up_to`, with what stands around it."""
        return tuple(hand_rolled(self.module, self.project))

    @cached_property
    def retired_sentinels(self) -> Sequence[RetiredUse]:
        """Every place that uses a sentinel which JAX retired, and what becomes of it."""
        return tuple(retired_uses(self))

    def failures(self, node: ast.expr | ast.stmt) -> tuple[Evidence, ...]:
        """The runs that failed at a node for want of the name that it spells."""
        line, column = self._original((node.lineno, node.col_offset))
        known = self._evidence.get((self.path, line, column))
        return known.gone if known is not None else ()

    def judge_tree(self, call: ast.Call, tree: ast.expr | None) -> Verdict:
        """How likely it is that the tree a `flatten_up_to` goes by holds a None."""
        line, column = self._original((call.lineno, call.col_offset))
        words = short(tree) if tree is not None else "the tree"
        return judge_tree(words, self._evidence.get((self.path, line, column)))

    def helper_for(self, calls: Sequence[TreeCall]) -> Helper | None:
        """One helper function that could stand for the guards of `calls`; None if it has no place.

        It goes where the first statement behind the module's imports stands.
        """
        place = place_for_helper(self.module)
        spelled = [call for call in calls if place is not None and spelled_at_top(call, place)]
        if place is None or not spelled:
            return None
        span = self.span(place)
        line, _ = self.lines.position(span.end)
        if line == self.lines.line_count:
            return None
        function = self.source(spelled[0].node.func)
        offset = self.lines.line_start(line + 1)
        return Helper(helper_name(self.module), function, Span(offset, offset))

    def starts_line(self, statement: ast.stmt) -> bool:
        """Whether nothing but white space stands before a statement on its line."""
        start = self.span(statement).start
        line, _ = self.lines.position(start)
        return not self.text[self.lines.line_start(line) : start].strip()

    def has_long_string(self, node: ast.AST) -> bool:
        """Whether a string of several lines stands in a node, so that its lines cannot be moved."""
        strings = (n for n in ast.walk(node) if isinstance(n, ast.Constant | ast.JoinedStr))
        return any(n.end_lineno != n.lineno for n in strings)

    def plan_guard(self, call: TreeCall, *, several: bool = False) -> Plan:
        """How a tree-map call of this module is guarded against None prefixes.

        `several` says that a partial is known to be called with several trees.
        """
        return plan_guard(call, self.place(call.scope), self._text_with, several=several)

    def judge(self, call: TreeCall) -> Verdict:
        """How likely it is that the first tree of a call holds a None, and what says so."""
        line, column = self._original((call.node.lineno, call.node.col_offset))
        known = self._evidence.get((self.path, line, column))
        place = self.place(call.scope)
        same = not self.with_helper and made_from_first(call, self._tree_calls, place)
        return judge(call, known, place, self._line_text, self._as_read, same=same)

    @cached_property
    def _tree_calls(self) -> Mapping[ast.Call, TreeCall]:
        return {call.node: call for call in self.tree_calls}

    def placeholder_changes(self) -> Iterator[tuple[ast.expr, Change]]:
        """The changes of this module that name its placeholders, each with its node.

        Nodes that do not look any more as they did when the project was read are left out.
        """
        if not any(path == self.path for path, _, _, _ in self._placeholders):
            return
        for node in ast.walk(self.tree):
            for deed in _deeds(node):
                assert isinstance(node, ast.expr)
                line, column = self._original((node.lineno, node.col_offset))
                change = self._placeholders.get((self.path, line, column, deed))
                if change is not None:
                    yield node, change

    def plan_placeholder_guard(self, call: ast.expr, change: Change) -> Plan | None:
        """How a tree map is guarded against the placeholder; None if it is already, or is no tree map."""
        question = question_of(change.expr, change.cls)
        for found in self.tree_calls:
            if found.node is call and not _asks(found.is_leaf, question):
                return plan_guard(
                    found,
                    self.place(found.scope),
                    self._text_with,
                    several=False,
                    question=question,
                )
        return None

    def place_for_import(self, text: str) -> Span:
        """Where an import is added: among those that the module begins with, else at its start."""
        place = import_above(self.module, text)
        if place is None:
            first = self.tree.body[0]
            docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            line = (first.end_lineno or first.lineno) + 1 if docstring else first.lineno
        else:
            line = (place.end_lineno or place.lineno) + 1
        offset = self.lines.line_start(line) if line <= self.lines.line_count else len(self.text)
        return Span(offset, offset)

    def import_stands_apart(self, text: str) -> bool:
        """Whether a blank line goes before an added import: it follows those of Python's own library."""
        above = import_above(self.module, text)
        return above is not None and is_standard(above)

    def _line_text(self, line: int) -> str:
        return self.lines.line_text(line) if 0 < line <= self.lines.line_count else ""

    def inside_fstring(self, node: ast.AST) -> bool:
        """Whether a node stands in an f-string, where positions are not exact before Python 3.12."""
        return any(isinstance(outer, ast.JoinedStr) for outer in self.module.scopes.enclosing(node))

    def is_exact(self, node: ast.expr) -> bool:
        """Whether the text at a node's position is the node; it is, but for some f-strings."""
        try:
            again = ast.parse(f"({self.source(node)})", mode="eval").body
        except (SyntaxError, ValueError):
            return False
        return ast.dump(again) == ast.dump(node)

    def _is_spelled(self, node: ast.Attribute, scope: Scope) -> bool:
        """Whether the old name stands here itself, and is not reached through a project's own alias."""
        owners = self.project.resolve(node.value, scope, self.module)
        return all(isinstance(owner, External) for owner in owners)

    def _text_with(self, expr: ast.expr, parts: Sequence[ast.expr], new: str) -> str:
        whole = self.span(expr)
        text, end = "", whole.start
        for part in sorted(self.span(part) for part in parts):
            text += self.text[end : part.start] + new
            end = part.end
        return text + self.text[end : whole.end]
