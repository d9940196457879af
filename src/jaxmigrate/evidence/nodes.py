"""The nodes of the project's files that a hit may be about, and what is needed to tell them apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from packaging.version import Version

from jaxmigrate.analysis.calls import tree_calls
from jaxmigrate.analysis.facts import Facts
from jaxmigrate.analysis.handrolled import hand_rolled
from jaxmigrate.analysis.jaxnames import RETIRED
from jaxmigrate.analysis.project import Module, Project
from jaxmigrate.analysis.trees.evidence import Position
from jaxmigrate.evidence.hits import Hit, HitKind
from jaxmigrate.lines import LineIndex

_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS: Final = {
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}


@dataclass(frozen=True, slots=True)
class Node:
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


class NotFoundError(Exception):
    """The words that say why a hit is found nowhere."""


class Nodes:
    """The nodes of each file that a hit may be about, by kind; each file is read once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lines: dict[str, LineIndex] = {}
        self._found: dict[tuple[str, HitKind], tuple[Node, ...]] = {}

    def lines(self, path: str) -> LineIndex:
        """The lines of a file."""
        if path not in self._lines:
            self._lines[path] = LineIndex(self._project.text(path))
        return self._lines[path]

    def of(self, path: str, kind: HitKind) -> tuple[Node, ...]:
        """The nodes that a hit of this kind may be about."""
        if (path, kind) not in self._found:
            module = self._project.module(path)
            if module is None:
                raise NotFoundError("the file cannot be parsed")
            read = self._maps if kind is HitKind.NONE_PREFIX else self._names
            self._found[path, kind] = tuple(read(module))
        return self._found[path, kind]

    def _maps(self, module: Module) -> Iterator[Node]:
        """Maps over several trees. One by a partial is edited where that stands."""
        for call in tree_calls(module, self._project):
            if call.many:
                partial, home = call.bound.partial, call.bound.module
                also = () if partial is None or home is None else (_position(home, partial),)
                yield self._node(module, call.node, also)
        for by_hand in hand_rolled(module, self._project):
            yield self._node(module, by_hand.call)

    def _names(self, module: Module) -> Iterator[Node]:
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
    ) -> Node:
        lines = self.lines(module.path)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        line, column = lines.position(lines.offset(node.lineno, node.col_offset))
        end_line, end_column = lines.position(lines.offset(node.end_lineno, node.end_col_offset))
        functions = frozenset(_functions(module, node))
        return Node(_position(module, node), line, column, end_line, end_column, functions, also)


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
