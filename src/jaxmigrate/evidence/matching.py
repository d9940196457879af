"""Finds the calls that hits are about, in the source as it is now; never guesses one.

A hit names a line as a process saw it. Where the line reads the same now, it is that line; where it does
not, it is the one line of the same function that does. What cannot be found, or could be two calls, is
given back with the reason.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from packaging.version import Version

from jaxmigrate.analysis.calls import tree_calls
from jaxmigrate.analysis.facts import Facts
from jaxmigrate.analysis.handrolled import hand_rolled
from jaxmigrate.analysis.jaxnames import RETIRED
from jaxmigrate.analysis.project import Module, Project
from jaxmigrate.analysis.trees.evidence import Position
from jaxmigrate.evidence.files import ProjectFiles
from jaxmigrate.evidence.hits import Hit, HitKind
from jaxmigrate.evidence.places import is_cell, is_machinery, package_of
from jaxmigrate.evidence.words import notes_of, package_words
from jaxmigrate.lines import LineIndex
from jaxmigrate.model import Evidence, Leftover, PackageEvidence

_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS: Final = {
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}

Proofs: TypeAlias = Mapping[Position, tuple[Evidence, ...]]
"""Evidence from runs by the position of the node that it is about."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Where in the project hits were found: a None that met a value, a name that is gone; and the rest."""

    met: Proofs = field(default_factory=dict)
    gone: Proofs = field(default_factory=dict)
    leftover: Leftover = field(default_factory=Leftover)


@dataclass(frozen=True, slots=True)
class _Node:
    """A node that a hit may be about; columns count from 1 in characters.

    `functions` are the names that code in it may go by. `also` are the places that are edited for it.
    """

    position: Position
    line: int
    column: int
    end_line: int
    end_column: int
    functions: frozenset[str]
    also: tuple[Position, ...] = ()

    def is_at(self, hit: Hit) -> bool:
        """Whether the hit names exactly this span."""
        span = (self.line, self.column, self.end_line, self.end_column)
        return span == (hit.line, hit.column, hit.end_line, hit.end_column)


class _NotFoundError(Exception):
    """The words that say why a hit is found nowhere."""


def match(hits: Sequence[Hit], project: Project, paths: Collection[str], root: Path) -> Matched:
    """Find what the hits are about among the project's files at `paths`, named as from `root`."""
    files = ProjectFiles(paths, root)
    found: dict[HitKind, dict[_Node, list[Hit]]] = {kind: defaultdict(list) for kind in HitKind}
    unmatched: dict[Evidence, None] = {}
    packages: dict[PackageEvidence, None] = {}
    nodes = _Nodes(project)
    for hit in hits:
        package = None if files.has(hit.path) else _package(hit)
        if package is not None:
            (note,) = notes_of([hit])
            packages[PackageEvidence(package, Evidence(hit.path, hit.line, note))] = None
            continue
        try:
            path = _file_of(hit, files)
            node = _Search(hit, nodes.of(path, hit.kind), nodes.lines(path)).result()
        except _NotFoundError as why:
            unmatched[Evidence(hit.path, hit.line, str(why))] = None
        else:
            found[hit.kind][node].append(hit)
    return Matched(
        _proofs(found[HitKind.NONE_PREFIX]),
        _proofs(found[HitKind.REMOVED_NAME]),
        Leftover(tuple(unmatched), tuple(packages)),
    )


def _proofs(found: Mapping[_Node, Sequence[Hit]]) -> Proofs:
    proofs: dict[Position, tuple[Evidence, ...]] = {}
    for node, hits in found.items():
        path, line, _ = node.position
        evidence = tuple(Evidence(path, line, note) for note in notes_of(hits))
        for position in (node.position, *node.also):
            proofs[position] = (*proofs.get(position, ()), *evidence)
    return proofs


def _package(hit: Hit) -> str | None:
    """The installed package that a hit is in, in words; JAX and what runs tests are none."""
    if hit.package is not None:
        return package_words(hit.package)
    return None if is_machinery(hit.path) else package_of(hit.path)


def _file_of(hit: Hit, files: ProjectFiles) -> str:
    if is_cell(hit.path):
        raise _NotFoundError("a cell of a notebook: which file it is from is not known")
    if is_machinery(hit.path):
        raise _NotFoundError(
            "no line outside JAX is named: give the whole traceback (pytest: --tb=short), or a trace"
        )
    found = files.named(hit.path)
    if not found:
        raise _NotFoundError("no file of this run has this path")
    if len(found) > 1:
        raise _NotFoundError(f"this may be any of {', '.join(found)}")
    if not hit.text and not files.has(hit.path) and not files.surely(hit.path, found[0]):
        raise _NotFoundError(f"only the name is that of {found[0]}, and no source is shown")
    return found[0]


class _Nodes:
    """The nodes of each file that a hit may be about, by kind; each file is read once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lines: dict[str, LineIndex] = {}
        self._found: dict[tuple[str, HitKind], tuple[_Node, ...]] = {}

    def lines(self, path: str) -> LineIndex:
        """The lines of a file."""
        if path not in self._lines:
            self._lines[path] = LineIndex(self._project.text(path))
        return self._lines[path]

    def of(self, path: str, kind: HitKind) -> tuple[_Node, ...]:
        """The nodes that a hit of this kind may be about."""
        if (path, kind) not in self._found:
            module = self._project.module(path)
            if module is None:
                raise _NotFoundError("the file cannot be parsed")
            read = self._maps if kind is HitKind.NONE_PREFIX else self._names
            self._found[path, kind] = tuple(read(module))
        return self._found[path, kind]

    def _maps(self, module: Module) -> Iterator[_Node]:
        """Maps over several trees. One by a partial is edited where that stands."""
        for call in tree_calls(module, self._project):
            if call.many:
                partial, home = call.bound.partial, call.bound.module
                also = () if partial is None or home is None else (_position(home, partial),)
                yield self._node(module, call.node, also)
        for by_hand in hand_rolled(module, self._project):
            yield self._node(module, by_hand.call)

    def _names(self, module: Module) -> Iterator[_Node]:
        """Names that JAX no longer has, where they are used and imported."""
        facts = Facts(module, self._project.text(module.path), self._project, Version("0"))
        for use in facts.uses(RETIRED):
            yield self._node(module, use.node)
        for source in sorted({name.rpartition(".")[0] for name in RETIRED}):
            for statement in facts.imports(source):
                if any(f"{source}.{alias.name}" in RETIRED for alias in statement.names):
                    yield self._node(module, statement)

    def _node(
        self, module: Module, node: ast.expr | ast.stmt, also: tuple[Position, ...] = ()
    ) -> _Node:
        lines = self.lines(module.path)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        line, column = lines.position(lines.offset(node.lineno, node.col_offset))
        end_line, end_column = lines.position(lines.offset(node.end_lineno, node.end_col_offset))
        functions = frozenset(_functions(module, node))
        return _Node(_position(module, node), line, column, end_line, end_column, functions, also)


def _position(module: Module, node: ast.expr | ast.stmt) -> Position:
    return module.path, node.lineno, node.col_offset


def _functions(module: Module, node: ast.AST) -> Iterator[str]:
    """What Python may call the code that a node stands in; comprehensions have code since before 3.12."""
    for outer in module.scopes.enclosing(node):
        if isinstance(outer, _SCOPES):
            yield getattr(outer, "name", "<lambda>")
            return
        if (name := _COMPREHENSIONS.get(type(outer))) is not None:
            yield name
    yield "<module>"


class _Search:
    """Looks for one hit among the nodes of its file."""

    def __init__(self, hit: Hit, nodes: Sequence[_Node], lines: LineIndex) -> None:
        self.hit = hit
        self.source = hit.text.strip()
        self.nodes = nodes
        self.lines = lines

    def result(self) -> _Node:
        """The node. Raises _NotFoundError with the reason if there is none, or more than one."""
        if self.source and self._text(self.hit.line) != self.source:
            return self._where_it_moved()
        exact = [node for node in self.nodes if node.is_at(self.hit)]
        here = exact or self._on(self.hit.line)
        found = [node for node in here if self._may_be_in(node)]
        if self.source and here and not found:
            return self._where_it_moved()
        return self._only(found, lambda: f"{self._what()} does not stand on this line")

    def _where_it_moved(self) -> _Node:
        found = [
            node
            for line in range(1, self.lines.line_count + 1)
            if self._text(line) == self.source
            for node in self._on(line)
            if self._may_be_in(node)
        ]
        function = f" in {self.hit.function}" if self.hit.function else ""
        words = f"it does not stand here any more, and no other line{function} reads so"
        return self._only(self._narrowed(found), lambda: words)

    def _narrowed(self, found: list[_Node]) -> list[_Node]:
        """Of several on a line, that at the hit's column."""
        if len(found) < 2 or self.hit.column is None:
            return found
        height = (self.hit.end_line or self.hit.line) - self.hit.line
        return [
            node
            for node in found
            if node.column == self.hit.column and node.end_line - node.line == height
        ]

    def _only(self, found: list[_Node], why_none: Callable[[], str]) -> _Node:
        nodes = list(dict.fromkeys(found))
        if not nodes:
            raise _NotFoundError(why_none())
        if len(nodes) > 1:
            raise _NotFoundError(
                f"{self._what()} could be {len(nodes)} here, and which is not said"
            )
        return nodes[0]

    def _on(self, line: int) -> list[_Node]:
        """The nodes that begin on a line, as Python names them; else those that stand across it."""
        begin = [node for node in self.nodes if node.line == line]
        return begin or [node for node in self.nodes if node.line <= line <= node.end_line]

    def _may_be_in(self, node: _Node) -> bool:
        function = self.hit.function.rpartition(".")[2]
        return not function or function in node.functions

    def _text(self, line: int) -> str:
        if not 0 < line <= self.lines.line_count:
            return ""
        return self.lines.line_text(line).strip()

    def _what(self) -> str:
        if self.hit.kind is HitKind.REMOVED_NAME:
            return self.hit.map or "a name that JAX no longer has"
        return "a tree map over several trees"
