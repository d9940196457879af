"""What a value can refer to: functions, classes, modules, and what is made of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.project import Definition, Module
from jaxmigrate.analysis.scopes import Scope
from jaxmigrate.analysis.trees.values import AnyItem, Value

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(slots=True, eq=False)
class Frame:
    """The variables of one activation of a function, or of a module.

    `parent` is the frame of the enclosing function, None below the module. `exits` collects the
    variables at each `break` and `continue` of the loop being run, `returns` and `yields` what came
    out; `changed` are the variables changed in place, `filled` those whose every item a loop replaced.
    """

    module: Module
    scope: Scope
    parent: Frame | None
    variables: dict[str, Value] = field(default_factory=dict)
    returns: list[Value] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    exits: list[dict[str, Value]] = field(default_factory=list)
    changed: set[str] = field(default_factory=set)
    filled: set[str] = field(default_factory=set)

    def home(self, name: str) -> Frame | None:
        """The frame, this one or an enclosing one, that has a variable of this name."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.variables:
                return frame
            frame = frame.parent
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function with the frame it was defined in (None: the module's).

    `by_setting` says that it is a setting of the program which makes it the one that is called.
    """

    node: FunctionNode
    module: Module
    scope: Scope
    frame: Frame | None
    by_setting: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A function bound to its first argument; `owner` is the class whose method it is."""

    function: Closure
    instance: Value
    owner: ClassReference | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ClassReference:
    """A class of the project."""

    definition: Definition


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class of the project."""

    cls: ClassReference


@dataclass(frozen=True, slots=True)
class ExternalReference:
    """Something outside the project, by its dotted name."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class ModuleReference:
    """A module of the project."""

    module: Module


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A function with some arguments given: `functools.partial`."""

    function: Value
    args: tuple[Value, ...]
    keywords: Mapping[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """The gradient of a function: a tree of the structure of one of its arguments.

    `with_value` says that the function's value comes first, `has_aux` that it brings something else
    along, `filtered` that parts which cannot be differentiated become None.
    """

    function: Value
    argument: int
    with_value: bool
    has_aux: bool
    filtered: bool


@dataclass(frozen=True, slots=True, eq=False)
class Cotangent:
    """What `jax.vjp` gives to pull cotangents back: a tree of the structure of each primal."""

    primals: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PartialMap:
    """A partial of a tree map, in the frame it was made in."""

    call: TreeCall
    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """A treedef, with the tree it was read off."""

    tree: Value


@dataclass(frozen=True, slots=True)
class Record:
    """A class that only holds fields, known by their names: a `namedtuple`, optax's pair of functions.

    `defaults` are those of its last fields.
    """

    fields: tuple[str, ...]
    defaults: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class BoundBuiltin:
    """A method of a built-in container: `d.update`, with the value it belongs to."""

    name: str
    owner: Value


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a call: by position, by keyword, and what `*` and `**` may add."""

    args: tuple[Value, ...] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict)
    more: Value | None = None

    def at(self, position: int, name: str = "") -> Value | None:
        """The argument at `position` (from 0) or called `name`, None if it is not given."""
        if name in self.keywords:
            return self.keywords[name]
        if position < len(self.args):
            return self.args[position]
        return self.beyond(position)

    def beyond(self, position: int) -> Value | None:
        """What an argument at `position` is like, which only `*` can have brought."""
        if self.more is None or not isinstance(self.more.shape, AnyItem):
            return self.more
        return Value(shape=("child", self.more.shape.sequence, position - len(self.args)))
