"""A program in the making: what is written so far, which names are taken, where the call stands."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tests.semantics.choosing import Chooser, chance, pick, shuffled, weighted
from tests.semantics.trees import CLASS_IMPORTS, CLASSES, Tree

T = TypeVar("T")
R = TypeVar("R")

# Scopes of the call. In `class` a nested function cannot see the names around the call.
SCOPES = ("function", "main", "closure", "method", "async", "generator", "class", "module")
# Names that a wrapper's parameters are likely to have, and so may capture.
CLASHING = (
    *("x", "y", "z", "w", "xs", "x0", "x1", "x2", "f", "fn", "g", "func", "callback", "tree"),
    *("leaf", "leaves", "node", "a", "b", "c", "path", "p", "q", "pred", "is_leaf", "rest"),
    *("args", "others", "other", "n", "t", "v", "kp", "key", "value", "apply", "trees"),
)
PARAMETERS = (
    ("p", "g", "h", "m", "k1"),
    ("x", "y", "z", "w", "v"),
    ("a", "b", "c", "d", "e"),
    ("tree", "other", "leaf", "node", "last"),
    ("old", "new", "mean", "var", "more"),
    ("größe", "wert", "β", "name", "rest"),
)
RESERVED = {
    *("_LOG", "_e", "_c", "_run", "_drive", "main", "out", "jax", "functools", "operator"),
    *("partial", "OrderedDict", "NamedTuple", "dataclasses", "Pair", "Box", "Rec", "self"),
    *keyword.kwlist,
    *dir(builtins),
}


@dataclass
class Draft:
    """What the parts of a program write to; one is made for each program."""

    chooser: Chooser
    scope: str = "function"
    nested: bool = False
    one_line: bool = False
    imports: list[str] = field(default_factory=list)
    module: list[str] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    parameters: list[tuple[str, str]] = field(default_factory=list)
    keyword_parameters: list[tuple[str, str]] = field(default_factory=list)
    fallback: str = ""
    with_path: bool = False
    sent: str = "None"
    base: str = ""
    rebinds: str = ""
    classes: set[str] = field(default_factory=set)
    features: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=lambda: set(RESERVED))
    labels: int = 0

    def pick(self, *options: T) -> T:
        """One of `options`."""
        return pick(self.chooser, options)

    def chance(self, percent: int) -> bool:
        """True in `percent` of a hundred cases."""
        return chance(self.chooser, percent)

    def weighted(self, *options: tuple[T, int]) -> T:
        """One of `options` by weight."""
        return weighted(self.chooser, options)

    def name(self, *wanted: str) -> str:
        """A name nothing else in the program has: the first free one of `wanted`."""
        tries = (*wanted, *(f"{wanted[0]}{number}" for number in range(1, 1000)))
        free = next(name for name in tries if name not in self.taken)
        self.taken.add(free)
        return free

    def clashing_name(self) -> str:
        """A free name that a careless wrapper would capture."""
        return self.name(*shuffled(self.chooser, CLASHING)[:12])

    def label(self, stem: str = "f") -> str:
        """What a callback calls itself in the log."""
        self.labels += 1
        return f"{stem}{self.labels}"

    def use_class(self, name: str) -> None:
        """Have one of the node classes defined."""
        if name in CLASSES:
            self.classes.add(name)

    def use_classes_of(self, tree: Tree) -> None:
        """Have the node classes of `tree` defined."""
        for kind in sorted(tree.kinds):
            self.use_class(kind)

    def import_line(self, line: str) -> None:
        """Have `line` among the imports, once."""
        if line not in self.imports:
            self.imports.append(line)

    @property
    def local_is_visible(self) -> bool:
        """Whether what stands beside the call can be seen from it."""
        return not (self.scope == "class" and self.nested)

    def put_module(self, *lines: str) -> None:
        """Write to the top level of the module."""
        self.module.extend(lines)

    def put_local(self, *lines: str) -> None:
        """Write into the scope of the call, ahead of it, if it can be seen from there."""
        (self.setup if self.local_is_visible else self.module).extend(lines)

    def put_either(self, *lines: str) -> None:
        """Write into the scope of the call or to the top level."""
        if self.chance(50):
            self.put_local(*lines)
        else:
            self.put_module(*lines)

    def logged(self, stem: str, text: str, percent: int = 15) -> str:
        """`text`, now and then noted in the log when it is evaluated."""
        if not self.chance(percent):
            return text
        self.features.add("logged:" + stem)
        return f'_e("{self.label(stem)}", {text})'

    def preamble(self) -> list[str]:
        """The lines that define the classes in use."""
        lines: list[str] = []
        for name in sorted(self.classes):
            if name == "OrderedDict":
                self.import_line(CLASSES[name])
                continue
            for line in CLASS_IMPORTS[name].split("\n"):
                self.import_line(line)
            lines += ["", "", *CLASSES[name].split("\n")]
        return lines


@dataclass(frozen=True, slots=True)
class Form(Generic[R]):
    """One way to write something, how often, and where it can stand."""

    write: Callable[..., R]
    weight: int
    scopes: frozenset[str]
    flat: bool

    def fits(self, draft: Draft) -> bool:
        """Whether it can stand where the call of `draft` stands."""
        return draft.scope in self.scopes and not (self.flat and draft.nested)


class Forms(Generic[R]):
    """The ways to write something, by name; a decorator adds one."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.forms: dict[str, Form[R]] = {}

    def add(
        self, weight: int, scopes: Iterable[str] = SCOPES, *, flat: bool = False
    ) -> Callable[[Callable[..., R]], Callable[..., R]]:
        """Add the decorated function; `flat` forms cannot stand in a nested scope."""

        def note(write: Callable[..., R]) -> Callable[..., R]:
            self.forms[write.__name__] = Form(write, weight, frozenset(scopes), flat)
            return write

        return note

    def choose(self, draft: Draft, allowed: Sequence[str] | None = None) -> Callable[..., R]:
        """One that fits, noted as a feature of the program."""
        fitting = [
            (name, form.weight)
            for name, form in self.forms.items()
            if form.fits(draft) and (allowed is None or name in allowed)
        ]
        name = weighted(draft.chooser, fitting)
        draft.features.add(f"{self.kind}:{name}")
        return self.forms[name].write


FUNCTIONS = ("function", "method", "async", "generator")
LOCALS = (*FUNCTIONS, "main", "closure")
