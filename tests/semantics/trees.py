"""Random pytrees as source text: a first tree with its `None`s, and trees to stand opposite it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.semantics.choosing import Chooser, chance, pick, shuffled, weighted

# Falsy values are many on purpose: a guard that asks `if not x` must be found out.
LEAVES = ("0", "1", "0.0", "2.5", '""', '"s"', "False", "7")
KEYS = ("b", "a", "w", "größe")
MAPPINGS = ("dict", "OrderedDict")
CLASSES: dict[str, str] = {
    "OrderedDict": "from collections import OrderedDict",
    "Pair": "class Pair(NamedTuple):\n    left: object\n    right: object",
    "Box": (
        "class Box:\n"
        "    def __init__(self, *items):\n"
        "        self.items = items\n"
        "\n"
        "    def __repr__(self):\n"
        '        return f"Box{self.items!r}"\n'
        "\n"
        "\n"
        "jax.tree_util.register_pytree_node(\n"
        "    Box, lambda box: (box.items, None), lambda _, items: Box(*items)\n"
        ")"
    ),
    "Rec": (
        "@dataclasses.dataclass\n"
        "class Rec:\n"
        "    left: object\n"
        "    right: object\n"
        '    tag: str = "t"\n'
        "\n"
        "\n"
        "jax.tree_util.register_dataclass(\n"
        '    Rec, data_fields=["left", "right"], meta_fields=["tag"]\n'
        ")"
    ),
}
CLASS_IMPORTS = {
    "Pair": "from typing import NamedTuple",
    "Box": "import jax.tree_util",
    "Rec": "import dataclasses\nimport jax.tree_util",
}


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree before it is text: `kind` is `leaf`, `none` or a container's name."""

    kind: str
    value: str = ""
    keys: tuple[str, ...] = ()
    children: tuple[Tree, ...] = ()

    def walk(self) -> Iterator[Tree]:
        """This tree and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of node that occur."""
        return frozenset(node.kind for node in self.walk())

    def text(self) -> str:
        """The expression that builds this tree."""
        parts = [child.text() for child in self.children]
        match self.kind:
            case "leaf":
                return self.value
            case "none":
                return "None"
            case "list":
                return f"[{', '.join(parts)}]"
            case "tuple":
                return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
            case "dict":
                return "{" + ", ".join(f'"{k}": {v}' for k, v in self._items(parts)) + "}"
            case "OrderedDict":
                pairs = ", ".join(f'("{k}", {v})' for k, v in self._items(parts))
                return f"OrderedDict([{pairs}])"
            case _:
                return f"{self.kind}({', '.join(parts)})"

    def _items(self, parts: list[str]) -> list[tuple[str, str]]:
        return list(zip(self.keys, parts, strict=True))


NONE = Tree("none")


def leaf(chooser: Chooser) -> Tree:
    """Some leaf."""
    return Tree("leaf", pick(chooser, LEAVES))


def container(chooser: Chooser, depth: int, none_percent: int) -> Tree:
    """A container of random kind."""
    kinds = (("dict", 6), ("tuple", 4), ("list", 4), ("Pair", 2))
    kind = weighted(chooser, (*kinds, ("Box", 2), ("Rec", 2), ("OrderedDict", 1)))
    sizes = ((2, 6), (1, 3), (3, 3), (0, 1))
    size = 2 if kind in ("Pair", "Rec") else weighted(chooser, sizes)
    keys = tuple(shuffled(chooser, KEYS)[:size]) if kind in MAPPINGS else ()
    children = tuple(random_tree(chooser, depth - 1, none_percent) for _ in range(size))
    return Tree(kind, keys=keys, children=children)


def random_tree(chooser: Chooser, depth: int, none_percent: int) -> Tree:
    """A tree at most `depth` deep, a node being `None` in `none_percent` of a hundred cases."""
    if chance(chooser, none_percent):
        return NONE
    if depth <= 0 or chance(chooser, 45):
        return leaf(chooser)
    return container(chooser, depth, none_percent)


def first_tree(chooser: Chooser) -> Tree:
    """A tree to be mapped over: mostly a container that holds a `None`."""
    what = weighted(chooser, (("some", 80), ("free", 10), ("root", 6), ("any", 4)))
    if what == "root":
        return NONE
    if what == "free":
        return container(chooser, 2, 0)
    tree = container(chooser, 2, 30)
    if what == "some" and "none" not in tree.kinds:
        tree = Tree("list", children=shuffled_pair(chooser, tree, NONE))
    return tree


def shuffled_pair(chooser: Chooser, one: Tree, other: Tree) -> tuple[Tree, ...]:
    """Both, in some order."""
    return tuple(shuffled(chooser, (one, other)))


def opposite(chooser: Chooser, tree: Tree) -> Tree:
    """A tree of which `tree` was a prefix under the old rule."""
    if tree.kind == "none":
        what = weighted(chooser, (("leaf", 6), ("none", 2), ("container", 3)))
        if what == "none":
            return NONE
        return leaf(chooser) if what == "leaf" else container(chooser, 1, 25)
    if tree.kind == "leaf":
        what = weighted(chooser, (("leaf", 8), ("none", 1), ("container", 1)))
        if what == "none":
            return NONE
        return leaf(chooser) if what == "leaf" else container(chooser, 1, 25)
    order = shuffled(chooser, range(len(tree.children))) if tree.kind == "dict" else None
    children = [opposite(chooser, child) for child in tree.children]
    if order is None:
        return replace(tree, children=tuple(children))
    keys = tuple(tree.keys[i] for i in order)
    return replace(tree, keys=keys, children=tuple(children[i] for i in order))


def broken(chooser: Chooser, tree: Tree) -> Tree:
    """`tree` changed in one place so that it may no longer match."""
    if not tree.children or chance(chooser, 30):
        if tree.kind in ("leaf", "none"):
            return container(chooser, 1, 10)
        return pick(chooser, (NONE, leaf(chooser), Tree("list"), Tree("tuple")))
    index = chooser.integer(0, len(tree.children) - 1)
    how = pick(chooser, ("deeper", "shorter", "longer"))
    if how == "deeper" or tree.kind in ("Pair", "Rec"):
        children = list(tree.children)
        children[index] = broken(chooser, children[index])
        return replace(tree, children=tuple(children))
    if how == "shorter":
        keys = tree.keys[:index] + tree.keys[index + 1 :]
        return replace(tree, keys=keys, children=tree.children[:index] + tree.children[index + 1 :])
    keys = (*tree.keys, "extra") if tree.keys or tree.kind in MAPPINGS else ()
    return replace(tree, keys=keys, children=(*tree.children, leaf(chooser)))
