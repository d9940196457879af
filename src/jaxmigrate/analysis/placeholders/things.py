"""What an expression may stand for, as far as the flow of placeholders minds it."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from jaxmigrate.analysis.project import Definition, Module
from jaxmigrate.analysis.scopes import Scope

Key: TypeAlias = Hashable
FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Anywhere(enum.Enum):
    """The key of whatever stands at a place that is not known."""

    KEY = enum.auto()


ANY: Final = Anywhere.KEY


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the project's source: file, line from 1, column in bytes from 0."""

    path: str
    line: int
    column: int

    @property
    def words(self) -> str:
        """`path:line`."""
        return f"{self.path}:{self.line}"


def spot_of(node: ast.AST, module: Module) -> Spot:
    """Where a node stands."""
    return Spot(module.path, getattr(node, "lineno", 1), getattr(node, "col_offset", 0))


@dataclass(eq=False, slots=True)
class Node:
    """A place that values flow through: a variable, an argument, a part of a container.

    `known` are its `things` as a set, which is quick to compare. `fresh` are the last of them, which
    targets and listeners have not got yet. `is_derived` says that a node is no such place, but
    gathers what is at several.
    """

    things: dict[Thing, None] = field(default_factory=dict)
    known: set[Thing] = field(default_factory=set)
    fresh: list[Thing] = field(default_factory=list)
    listeners: list[Callable[[Thing], None]] = field(default_factory=list)
    targets: dict[Node, None] = field(default_factory=dict)
    is_derived: bool = False


class Form(enum.Enum):
    """How a None is written: as a tree's part, given back, or in a way that is not to be changed."""

    BUILT = enum.auto()
    RETURNED = enum.auto()
    BOUND = "is bound to a name first"
    ARGUMENT = "is an argument or a default"
    IMPLICIT = "is not written out"


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A None: the constant, or the place where it comes to be unwritten."""

    spot: Spot
    form: Form
    node: ast.AST = field(compare=False, repr=False)
    module: Module = field(compare=False, repr=False)

    def __hash__(self) -> int:
        return hash(self.spot)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number, an array, a string: no container and no placeholder."""


LEAF: Final = Leaf()


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something that comes from where the tool cannot look.

    `about_trees` says that it is of a library whose functions take trees; nothing else tells two of
    them apart, so that a node names the first that came there and passes on no other.
    """

    spot: Spot = field(compare=False)
    words: str = field(compare=False)
    about_trees: bool = False


@dataclass(eq=False, slots=True)
class Box:
    """A container: a display, an object of the project's classes, the result of a tree map.

    `fields` are the parts that are known by key, `rest` what may stand at any. `cls` is the class of an
    object; `children` the attributes that JAX sees, None if it sees all. `sealed` says that JAX takes
    the whole for a leaf. `made` is where it comes from, `origin` the box that maps and copies made it
    of. `empty` is the source text of a container that nothing was put into; `shrinks` says that
    parts are taken out, or come later, `loose` that they may move; `positions` are the names of a
    NamedTuple's parts, in order. `sources` are the boxes whose parts were copied.
    """

    kind: str
    made: Spot
    cls: Definition | None = None
    children: frozenset[str] | None = None
    sealed: bool = False
    origin: Box | None = None
    empty: str | None = None
    shrinks: bool = False
    loose: bool = False
    positions: tuple[str, ...] = ()
    sources: set[Box] = field(default_factory=set)
    fields: dict[Key, Node] = field(default_factory=dict)
    rest: Node = field(default_factory=Node)
    watchers: list[Callable[[Key, Node], None]] = field(default_factory=list)
    wanted: dict[Key, list[Callable[[Node], None]]] = field(default_factory=dict)
    images: dict[Hashable, Box] = field(default_factory=dict)

    @property
    def emptiness(self) -> str | None:
        """The source text of the empty container that this is, None if it may hold something."""
        made_of = self.origin or self
        return self.empty if made_of.empty == self.empty else None

    def may_be(self, text: str) -> bool:
        """Whether it may be the empty container of this source text."""
        if text in ("()", "{}"):
            alike = self.kind == ("tuple" if text == "()" else "dict")
            filled = any(node.things for node in self.fields.values()) and not self.may_shrink
            return alike and not filled
        return self.emptiness == text

    @property
    def may_shrink(self) -> bool:
        """Whether parts may have been taken out of it, or of what it is a copy of."""
        seen: set[Box] = set()
        waiting = [self]
        while waiting:
            box = waiting.pop()
            if box.shrinks:
                return True
            if box not in seen:
                seen.add(box)
                waiting.extend(box.sources)
        return False

    def field(self, key: Key) -> Node:
        """The node of the part at `key`."""
        if key is ANY:
            return self.rest
        key = self._named(key)
        if key not in self.fields:
            self.fields[key] = Node()
            for wanted in self.wanted.pop(key, ()):
                wanted(self.fields[key])
            for watcher in list(self.watchers):
                watcher(key, self.fields[key])
        return self.fields[key]

    def want(self, key: Key, wanted: Callable[[Node], None]) -> None:
        """Call `wanted` with the node of the part at `key`, once there is one."""
        key = self._named(key)
        if key is ANY or key in self.fields:
            wanted(self.field(key))
        else:
            self.wanted.setdefault(key, []).append(wanted)

    def _named(self, key: Key) -> Key:
        """The key of a part, by its name if it is one of a NamedTuple's positions."""
        if isinstance(key, int) and -len(self.positions) <= key < len(self.positions):
            return self.positions[key]
        return key

    def watch(self, watcher: Callable[[Key, Node], None]) -> None:
        """Tell `watcher` of every part, those to come included."""
        self.watchers.append(watcher)
        for key, node in [*self.fields.items(), (ANY, self.rest)]:
            watcher(key, node)

    def sees(self, key: Key) -> bool:
        """Whether JAX sees the part at `key`."""
        return self.children is None or key in self.children

    def shows(self, key: Key) -> bool:
        """Whether what stands at `key` is a part of the tree that JAX sees."""
        return not self.sealed and (self.sees(key) or (key is ANY and self.cls is None))


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the project."""

    node: FunctionNode
    module: Module
    scope: Scope

    def __hash__(self) -> int:
        return hash(self.node)


@dataclass(frozen=True, slots=True)
class Bound:
    """A function with its first argument."""

    function: Function
    owner: Node


@dataclass(frozen=True, slots=True)
class Class:
    """A class of the project."""

    definition: Definition


@dataclass(frozen=True, slots=True)
class Outside:
    """Something outside the project, by its dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class File:
    """A module of the project, as a value."""

    module: Module


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a container: `t.items`."""

    box: Box
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """The arguments of a call; `starred` and `double` are what `*` and `**` bring, all alike.

    `wrappers` counts the partials and transforms that they went through.
    """

    given: tuple[Node, ...] = ()
    named: Mapping[str, Node] = field(default_factory=dict)
    starred: Node | None = None
    double: Node | None = None
    wrappers: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Wrapped:
    """A function behind something: a `partial` with arguments, or a transform of JAX."""

    function: Node
    arguments: Arguments = field(default_factory=Arguments)
    transform: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """A treedef, and the tree it was taken from."""

    tree: Node
    none_is_leaf: bool | None = False


Thing: TypeAlias = (
    Placeholder
    | Leaf
    | Unseen
    | Box
    | Function
    | Bound
    | Class
    | Outside
    | File
    | Method
    | Wrapped
    | Structure
)
