"""Two pytrees compared as a tree map compares them: to be used in a project's own tests.

`jax.tree.map(f, a, b)` flattens `a` and then `b` up to the structure of `a`. Up to JAX 0.4.28 a None in
`a` went with anything; from 0.4.34 it goes with None only. What is said here is the rule of JAX 0.4.34 and
newer, on whichever JAX it is asked, so that a test can tell before the update what would break.

This module needs JAX, 0.4.20 or newer, and nothing else; no other module of jaxmigrate imports it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from jax.tree_util import (
    keystr,
    tree_flatten_with_path,
    tree_structure,
)

__all__ = ["Mismatch", "explain_mismatch", "is_none_safe_pair", "none_positions_match"]

_KeyPath: TypeAlias = tuple[Any, ...]
_NOTHING = "nothing"
_UNFLATTENED = "that JAX cannot flatten"
_PREFIX = "none-prefix"
_SENTINELS = "sentinel-placeholders"
_SHOWN = 8
"""How many keys of a dict are written out."""

_MAX_DATA = 80
"""Characters of a container's other data that are written out."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A place at which a map of one tree over another fails.

    `key_path` is as `jax.tree_util.keystr` writes it, empty for the root; `first` and `second` say in
    words what stands there in either tree; `codemod` names the codemod that mends it, None if none does.
    """

    key_path: str
    first: str
    second: str
    codemod: str | None

    def __str__(self) -> str:
        place = self.key_path or "the root"
        cure = f"{self.codemod} mends it" if self.codemod else self._difference
        return f"{place}: {self.first} opposite {self.second}; {cure}"

    @property
    def _difference(self) -> str:
        alike = self.first == self.second and self.first.endswith(_UNFLATTENED)
        return "no map of them works" if alike else "the structures differ"


def none_positions_match(a: Any, b: Any) -> bool:
    """Whether None stands at the same key paths in both trees, whatever stands elsewhere.

    What JAX cannot flatten, such as a dict of keys without an order, counts as a leaf.
    """
    return {*_none_positions(a, ())} == {*_none_positions(b, ())}


def is_none_safe_pair(a: Any, b: Any) -> bool:
    """Whether `jax.tree.map(f, a, b)` would not raise on JAX 0.4.34 and newer, for lack of a match.

    None in `b` opposite a leaf of `a` is safe, as is anything else opposite a leaf. What `f` itself raises
    is not asked.
    """
    return next(_mismatches(a, b, ()), None) is None


def explain_mismatch(a: Any, b: Any) -> tuple[Mismatch, ...]:
    """Every place at which a map of `a` over `b` fails on JAX 0.4.34 and newer; none if it is safe.

    A key that one side lacks is a place of its own; what both sides have is compared further down even if
    the containers differ in something else. none-prefix is named where None in `a` stands opposite
    anything else, sentinel-placeholders where one side is None and the other a container of nothing.
    """
    return tuple(_mismatches(a, b, ()))


def _none_positions(tree: Any, path: _KeyPath) -> Iterator[_KeyPath]:
    if tree is None:
        yield path
        return
    node = _node(tree)
    if node is not None and not node.is_leaf:
        for key, child in zip(node.keys, node.children, strict=True):
            yield from _none_positions(child, (*path, _identity(key)))


def _identity(key: Any) -> Any:
    """The key, or what it is written as if a node has made it of something without a hash."""
    try:
        hash(key)
    except TypeError:
        return keystr((key,))
    return key


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A tree taken apart by one level: its structure, and its children under their keys."""

    treedef: Any
    keys: tuple[Any, ...]
    children: tuple[Any, ...]

    @property
    def is_leaf(self) -> bool:
        return bool(self.treedef == tree_structure(0))

    def by_key(self) -> dict[Any, tuple[Any, Any]]:
        """Each key and its child, by what the key is told apart by."""
        pairs = zip(self.keys, self.children, strict=True)
        return {_identity(key): (key, child) for key, child in pairs}


def _node(tree: Any) -> _Node | None:
    """One level of a tree, None if JAX cannot take it apart."""
    plain = _plain(tree)

    def is_child(x: Any) -> bool:
        return x is not plain

    try:
        pairs, treedef = tree_flatten_with_path(plain, is_leaf=is_child)
    except Exception:  # whatever a node's own flattening raises
        return None
    keys = tuple(path[0] for path, _ in pairs if path)
    return _Node(treedef, keys, tuple(child for _, child in pairs))


def _plain(tree: Any) -> Any:
    """A dict for a defaultdict.

    JAX 0.4.20 minds the order of its keys, and up to 0.4.34 `tree_flatten_with_path` takes them for one
    another; a dict with the same keys is sorted and named alike by every JAX.
    """
    return dict(tree) if type(tree) is defaultdict else tree


def _mismatches(a: Any, b: Any, path: _KeyPath) -> Iterator[Mismatch]:
    first, second = _node(a), _node(b)
    if first is not None and first.is_leaf:
        return
    if first is None or second is None or type(a) is not type(b):
        yield _mismatch(path, a, b)
    elif _alike(a, b, first):
        for key, x, y in zip(first.keys, first.children, second.children, strict=True):
            yield from _mismatches(x, y, (*path, key))
    else:
        yield from _unlike(a, b, first, second, path)


def _alike(a: Any, b: Any, first: _Node) -> bool:
    """Whether two containers of one type match, but for what is in them."""
    if _other_default(a, b):
        return False
    try:
        first.treedef.flatten_up_to(_plain(b))
    except Exception:  # a map runs into whatever the flattening of a node raises
        return False
    return True


def _other_default(a: Any, b: Any) -> bool:
    return type(a) is defaultdict and bool(a.default_factory != b.default_factory)


def _unlike(a: Any, b: Any, first: _Node, second: _Node, path: _KeyPath) -> Iterator[Mismatch]:
    """The mismatches of two containers of one type that JAX finds unlike."""
    mine, theirs = first.by_key(), second.by_key()
    lacking = mine.keys() ^ theirs.keys()
    if not lacking or _differ_besides(a, b, list(mine), list(theirs)):
        yield _mismatch(path, a, b)
    for identity, (key, child) in mine.items():
        if identity in theirs:
            yield from _mismatches(child, theirs[identity][1], (*path, key))
        else:
            yield Mismatch(_written(path, key), _described(child), _NOTHING, None)
    for identity in (identity for identity in theirs if identity in lacking):
        key, child = theirs[identity]
        yield Mismatch(_written(path, key), _NOTHING, _described(child), None)


def _differ_besides(a: Any, b: Any, mine: list[Any], theirs: list[Any]) -> bool:
    """Whether two containers differ in the order of the keys they share, or in their default."""
    shared = set(mine) & set(theirs)
    if [key for key in mine if key in shared] != [key for key in theirs if key in shared]:
        return True
    return _other_default(a, b)


def _written(path: _KeyPath, key: Any) -> str:
    return str(keystr((*path, key)))


def _mismatch(path: _KeyPath, a: Any, b: Any) -> Mismatch:
    return Mismatch(str(keystr(path)), _described(a), _described(b), _cure(a, b))


def _cure(a: Any, b: Any) -> str | None:
    """The codemod for `a` opposite `b`, two trees that do not match."""
    if a is None:
        return _SENTINELS if _is_empty(b) else _PREFIX
    return _SENTINELS if b is None and _is_empty(a) else None


def _is_empty(tree: Any) -> bool:
    """Whether a tree is a container with nothing in it, such as `()` or `optax.MaskedNode()`."""
    node = _node(tree)
    return node is not None and not node.is_leaf and not node.children


def _described(tree: Any) -> str:
    """What a tree is, in a few words."""
    if tree is None:
        return "None"
    name, node = type(tree).__name__, _node(tree)
    if node is None:
        return f"{name} {_UNFLATTENED}"
    if node.is_leaf:
        return f"leaf of type {name}"
    if not node.children:
        return f"empty {name}{_auxiliary(tree, node)}"
    keys = [str(keystr((key,))) for key in node.keys]
    more = ", …" if len(keys) > _SHOWN else ""
    return f"{name} of {', '.join(keys[:_SHOWN])}{more}{_auxiliary(tree, node)}"


def _auxiliary(tree: Any, node: _Node) -> str:
    """What a container holds besides its children, in words."""
    if type(tree) is defaultdict:
        return f" by {tree.default_factory!r}"
    data = node.treedef.node_data()
    known = data is None or data[1] is None or isinstance(tree, dict)
    return "" if known else f" with {_cut(repr(data[1]))}"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_DATA else f"{text[: _MAX_DATA - 1]}…"
