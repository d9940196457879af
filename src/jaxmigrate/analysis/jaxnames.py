"""What jaxmigrate knows of JAX's tree functions by name: one table, used by every codemod.

Removal versions are from JAX's changelog; `jax.tree` came with JAX 0.4.25. Checked by importing
each name on JAX 0.4.28 and 0.10.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

JAX_TREE_SINCE: Final = "0.4.25"
"""The first JAX that has the module `jax.tree`."""


@dataclass(frozen=True, slots=True)
class Retired:
    """A tree function that left a namespace: where it went, and with which JAX it was gone.

    `tree_util` is its name in `jax.tree_util`, which every JAX has; `tree` its name in `jax.tree`,
    or None where it has none.
    """

    removed: str
    tree_util: str
    tree: str | None


def _retired(removed: str, tree_util: str) -> Retired:
    return Retired(removed, tree_util, tree_util.removeprefix("tree_"))


RETIRED: Final = MappingProxyType(
    {
        "jax.tree_map": _retired("0.6.0", "tree_map"),
        "jax.tree_leaves": _retired("0.6.0", "tree_leaves"),
        "jax.tree_flatten": _retired("0.6.0", "tree_flatten"),
        "jax.tree_unflatten": _retired("0.6.0", "tree_unflatten"),
        "jax.tree_structure": _retired("0.6.0", "tree_structure"),
        "jax.tree_transpose": _retired("0.6.0", "tree_transpose"),
        "jax.treedef_is_leaf": Retired("0.6.0", "treedef_is_leaf", None),
        "jax.tree_all": _retired("0.3.16", "tree_all"),
        "jax.tree_reduce": _retired("0.3.16", "tree_reduce"),
        "jax.tree_multimap": _retired("0.3.16", "tree_map"),
        "jax.tree_util.tree_multimap": _retired("0.3.16", "tree_map"),
    }
)
"""Every tree function that left the top of `jax`, and `tree_multimap`, by its old dotted name."""

_MAP_SPELLINGS: Final = (
    "jax.tree.map",
    "jax.tree_map",
    "jax.tree_multimap",
    "jax.tree_util.tree_map",
    "jax.tree_util.tree_multimap",
    "jax._src.tree_util.tree_map",
)
_MAP_WITH_PATH_SPELLINGS: Final = (
    "jax.tree.map_with_path",
    "jax.tree_util.tree_map_with_path",
    "jax._src.tree_util.tree_map_with_path",
)

TREE_MAPS: Final = MappingProxyType(
    dict.fromkeys(_MAP_SPELLINGS, 0) | dict.fromkeys(_MAP_WITH_PATH_SPELLINGS, 1)
)
"""Every spelling of a tree map; the value is how many arguments its callback gets before the leaves."""

TREE_UTIL_MODULES: Final = frozenset({"jax", "jax.tree", "jax.tree_util"})
"""Modules whose `import *` brings tree functions."""


def star_import_provides(module: str, name: str) -> bool:
    """Whether `from module import *` binds `name` to a tree function this table knows."""
    dotted = f"{module}.{name}"
    return module in TREE_UTIL_MODULES and (dotted in RETIRED or dotted in TREE_MAPS)
