"""The tree functions as JAX 0.4.28 had them, on top of whichever newer JAX is installed.

Only what the `None` rule touches is written anew; flattening, unflattening and every other mismatch
are left to the installed JAX, which agrees with 0.4.28 there (`test_old_rule.py` compares the two).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import jax
import jax.tree
import jax.tree_util
from jax.tree_util import PyTreeDef

IsLeaf = Callable[[Any], bool] | None

# Bound once: inside `old_jax()` the attributes of the modules are the functions below.
_flatten: Any = jax.tree_util.tree_flatten
_flatten_with_path: Any = jax.tree_util.tree_flatten_with_path
_structure: Any = jax.tree_util.tree_structure
_registry = jax.tree_util.default_registry
_strict_flatten_up_to = PyTreeDef.flatten_up_to
_LEAF = _structure(0)
_NOTHING = object()


def _nones_as_leaves(treedef: PyTreeDef) -> tuple[PyTreeDef, list[bool]]:
    """`treedef` with a leaf in place of each `None`; for each leaf, whether it was one before."""
    node = treedef.node_data()
    if node is None:
        return _LEAF, [True]
    if node[0] is type(None):
        return _LEAF, [False]
    parts = [_nones_as_leaves(child) for child in treedef.children()]
    whole = PyTreeDef.from_node_data_and_children(_registry, node, [part for part, _ in parts])
    return whole, [was_leaf for _, flags in parts for was_leaf in flags]


def flatten_up_to(treedef: PyTreeDef, tree: Any) -> list[Any]:
    """The subtrees of `tree` at the leaves of `treedef`; a `None` of `treedef` matches anything."""
    whole, was_leaf = _nones_as_leaves(treedef)
    found = _strict_flatten_up_to(whole, tree)
    return [subtree for subtree, keep in zip(found, was_leaf, strict=True) if keep]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """`jax.tree.map` of 0.4.28."""
    leaves, treedef = _flatten(tree, is_leaf)
    columns = [leaves, *(flatten_up_to(treedef, other) for other in rest)]
    return treedef.unflatten(f(*row) for row in zip(*columns, strict=True))


def tree_map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """`jax.tree_util.tree_map_with_path` of 0.4.28."""
    rows, treedef = _flatten_with_path(tree, is_leaf)
    columns = [list(column) for column in zip(*rows, strict=True)]
    columns += [flatten_up_to(treedef, other) for other in rest]
    return treedef.unflatten(f(*row) for row in zip(*columns, strict=True))


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """`jax.tree.broadcast` under the old rule: a `None` prefix covers no leaves."""
    found: list[Any] = []

    def repeat(leaf: Any, subtree: Any) -> None:
        found.extend([leaf] * _structure(subtree).num_leaves)

    tree_map(repeat, prefix_tree, full_tree, is_leaf=is_leaf)
    return _structure(full_tree).unflatten(found)


def _removed_names() -> dict[str, Any]:
    """The tree functions that once stood at the top of the `jax` package."""
    names = ("tree_flatten", "tree_leaves", "tree_structure", "tree_transpose", "tree_unflatten")
    kept = {name: getattr(jax.tree_util, name) for name in (*names, "treedef_is_leaf")}
    return {**kept, "tree_reduce": jax.tree_util.tree_reduce, "tree_all": jax.tree_util.tree_all}


@contextmanager
def _patched(patches: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """Set attributes, and on leaving set them back or take them away."""
    before = [(where, name, vars(where).get(name, _NOTHING)) for where, name, _ in patches]
    try:
        for where, name, value in patches:
            setattr(where, name, value)
        yield
    finally:
        for where, name, value in reversed(before):
            if value is _NOTHING:
                delattr(where, name)
            else:
                setattr(where, name, value)


def _old_names(
    plain: Callable[..., Any], with_path: Callable[..., Any]
) -> list[tuple[ModuleType, str, Any]]:
    """Every name under which a tree map was ever to be had."""
    return [
        *((jax, name, value) for name, value in _removed_names().items()),
        (jax, "tree_map", plain),
        (jax, "tree_multimap", plain),
        (jax.tree, "map", plain),
        (jax.tree, "map_with_path", with_path),
        (jax.tree_util, "tree_map", plain),
        (jax.tree_util, "tree_multimap", plain),
        (jax.tree_util, "tree_map_with_path", with_path),
    ]


@contextmanager
def old_jax() -> Iterator[None]:
    """Inside, the installed JAX has the names and the `None` rule of 0.4.28."""
    patches: list[tuple[Any, str, Any]] = [*_old_names(tree_map, tree_map_with_path)]
    for module, name in ((jax.tree, "broadcast"), (jax.tree_util, "tree_broadcast")):
        if hasattr(module, name):
            patches.append((module, name, tree_broadcast))
    patches.append((PyTreeDef, "flatten_up_to", flatten_up_to))
    with _patched(patches):
        yield


@contextmanager
def old_names() -> Iterator[None]:
    """Inside, the installed JAX has the names of 0.4.28, and the rule of today.

    A program that runs alike here and under `old_jax()` does not depend on the `None` rule.
    """
    with _patched([*_old_names(jax.tree_util.tree_map, jax.tree_util.tree_map_with_path)]):
        yield
