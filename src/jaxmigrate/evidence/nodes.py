"""The nodes of the project's files that a hit may be about, and what is needed to tell them apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from packaging.version import Version

from jaxmigrate.analysis.calls import tree_calls
from jaxmigrate.analysis.facts import Facts
from jaxmigrate.analysis.guards import Unneeded
from jaxmigrate.analysis.handrolled import hand_rolled
from jaxmigrate.analysis.helper import HELPER_NAMES
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

Stretch: TypeAlias = tuple[int, int, int, int]
"""Line and column where a node begins, those just behind it: from 1, columns in characters."""


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
        return (self.line, self.column, self.end_line, self.end_column) == stretch_of(hit)


def stretch_of(hit: Hit) -> tuple[int | None, ...]:
    """The stretch that a hit names, None for what it does not know."""
    return (hit.line, hit.column, hit.end_line, hit.end_column)


class NotFoundError(Exception):
    """The words that say why a hit is found nowhere."""


class MendedError(NotFoundError):
    """A hit is found nowhere, since its call is guarded by now, or gone."""

    def __init__(self) -> None:
        super().__init__("it is guarded already, or gone")


class Nodes:
    """The nodes of each file that a hit may be about, by kind; each file is read once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lines: dict[str, LineIndex] = {}
        self._found: dict[tuple[str, HitKind], tuple[Node, ...]] = {}
        self._calls: dict[str, frozenset[Stretch]] = {}
        self._guarded: dict[str, frozenset[Position]] = {}

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

    def calls(self, path: str) -> frozenset[Stretch]:
        """Where calls of any kind stand in a file."""
        if path not in self._calls:
            module = self._project.module(path)
            found = () if module is None else (node for node, _ in module.scopes.calls)
            self._calls[path] = frozenset(self._stretch(path, node) for node in found)
        return self._calls[path]

    def guarded(self, path: str) -> frozenset[Position]:
        """Where None is a leaf in a map over several trees already."""
        if path not in self._guarded:
            module = self._project.module(path)
            found = () if module is None else self._guarded_in(module)
            self._guarded[path] = frozenset(found)
        return self._guarded[path]

    def functions(self, path: str) -> frozenset[str]:
        """What code in a file may go by."""
        module = self._project.module(path)
        tree = module.tree if module is not None else ast.Module([], [])
        named = (node.name for node in ast.walk(tree) if isinstance(node, _SCOPES[:2]))
        return frozenset({"<module>", *named})

    def statement(self, node: Node) -> Position:
        """Where the statement stands that a node is part of."""
        path, *place = node.position
        module = self._project.module(path)
        assert module is not None
        found = next(
            module.scopes.statement_of(call)
            for call, _ in module.scopes.calls
            if [call.lineno, call.col_offset] == place
        )
        return _position(module, found)

    def helped(self, path: str) -> Iterator[Node]:
        """The calls that go through the helper which `--style helper` wrote."""
        module = self._project.module(path)
        for call, _ in () if module is None else module.scopes.calls:
            if isinstance(call.func, ast.Name) and call.func.id in HELPER_NAMES:
                assert module is not None
                yield self._node(module, call)

    def _guarded_in(self, module: Module) -> Iterator[Position]:
        facts = self._facts(module)
        for call in facts.tree_calls:
            if call.many and isinstance(facts.plan_guard(call, several=True), Unneeded):
                yield _position(module, call.node)
        for by_hand in hand_rolled(module, self._project):
            if by_hand.safe:
                yield _position(module, by_hand.call)
        yield from (node.position for node in self.helped(module.path))

    def _facts(self, module: Module) -> Facts:
        text = self._project.text(module.path)
        return Facts(module, text, self._project, Version("0"))

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
        facts = self._facts(module)
        for use in facts.uses(RETIRED):
            yield self._node(module, use.node)
        for source in sorted({name.rpartition(".")[0] for name in RETIRED}):
            for statement in facts.imports(source):
                if any(f"{source}.{alias.name}" in RETIRED for alias in statement.names):
                    yield self._node(module, statement)

    def _node(
        self, module: Module, node: ast.expr | ast.stmt, also: tuple[Position, ...] = ()
    ) -> Node:
        functions = frozenset(_functions(module, node))
        return Node(_position(module, node), *self._stretch(module.path, node), functions, also)

    def _stretch(self, path: str, node: ast.expr | ast.stmt) -> Stretch:
        lines = self.lines(path)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = lines.position(lines.offset(node.lineno, node.col_offset))
        return (*start, *lines.position(lines.offset(node.end_lineno, node.end_col_offset)))


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
