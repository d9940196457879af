"""What is seen of placeholders while a project is read, and from where."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.placeholders.things import FunctionNode, Node, Placeholder, Spot
from jaxmigrate.analysis.project import Module
from jaxmigrate.analysis.scopes import Scope


@dataclass(frozen=True, slots=True)
class Here:
    """Where an expression is read: what is known to be no placeholder, and whether errors are caught.

    `weak` is what was known before something ran that may have changed it.
    """

    module: Module
    scope: Scope
    narrow: frozenset[str] = frozenset()
    trying: bool = False
    function: FunctionNode | None = None
    weak: frozenset[str] = frozenset()

    def knowing(self, narrow: frozenset[str]) -> Here:
        """The same place with more known."""
        return replace(self, narrow=self.narrow | narrow, weak=self.weak - narrow)

    def weakened(self, narrow: frozenset[str]) -> Here:
        """The same place where this is no longer sure."""
        return replace(self, weak=self.weak | narrow)


@dataclass(frozen=True, slots=True, eq=False)
class Asker:
    """`operand is None`, or `is not None`."""

    node: ast.Compare
    module: Module
    operand: Node
    positive: bool


@dataclass(frozen=True, slots=True, eq=False)
class Annotation:
    """An annotation, and the node of what it is about."""

    expr: ast.expr
    module: Module
    scope: Scope
    node: Node


@dataclass(frozen=True, slots=True)
class Leaving:
    """Where a placeholder leaves sight, and how."""

    spot: Spot
    words: str


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """A placeholder in the first tree of a map, and what stands opposite.

    `is_leaf` says that the map takes it for a leaf.
    """

    call: TreeCall
    placeholder: Placeholder
    others: tuple[Node, ...]
    is_leaf: bool


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A use whose answer may be another for another placeholder: a truth test, a class test."""

    node: Node
    spot: Spot
    classes: frozenset[str] = frozenset()
