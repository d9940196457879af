"""What jaxmigrate knows of JAX by name: tree functions and sentinels, used by every codemod.

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

FLATTEN: Final = frozenset({"jax.tree_util.tree_flatten", "jax.tree.flatten", "jax.tree_flatten"})
LEAVES: Final = frozenset({"jax.tree_util.tree_leaves", "jax.tree.leaves", "jax.tree_leaves"})
UNFLATTEN: Final = frozenset(
    {"jax.tree_util.tree_unflatten", "jax.tree.unflatten", "jax.tree_unflatten"}
)

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

BATCHING_MODULES: Final = ("jax.interpreters.batching", "jax._src.interpreters.batching")
"""Where JAX's batching rules are; the second is private, and used all the same."""

NOT_MAPPED: Final = frozenset(f"{module}.not_mapped" for module in BATCHING_MODULES)
"""The sentinel for an axis that is not batched. It was None from JAX 0.2.0 on, and went with 0.10.2."""

NOT_MAPPED_TYPE: Final = frozenset({"jax.interpreters.batching.NotMapped"})
"""The type of that sentinel, which is that of None; gone with JAX 0.10.0. The private one is still there."""

_NO_SUCCESSOR: Final = "JAX names no successor"
_LEAVE_OUT = "where a sharding is unspecified, leave in_shardings or out_shardings out"
UNREPLACED_SENTINELS: Final = MappingProxyType(
    {
        "jax.experimental.pjit.FROM_GDA": "was removed in JAX 0.4.11: pass sharded jax.Array objects"
        " and leave the in_shardings of pjit out",
        "jax.experimental.pjit._UNSPECIFIED": f"is gone from JAX 0.10.2; {_LEAVE_OUT}",
        "jax.interpreters.pxla._UNSPECIFIED": f"is deprecated from JAX 0.8.2 on; {_LEAVE_OUT}",
        "jax.interpreters.batching.zero_if_mapped": f"is gone from JAX 0.10.0; {_NO_SUCCESSOR}",
        "jax.core.token": "was removed in JAX 0.4.27: make a token of your own,"
        " with jax.extend.core.Token",
    }
)
"""Sentinels that nothing takes the place of without a look at the code, and what is to be done.

Said by JAX's changelog (0.4.11, 0.4.27), by the warnings and errors of JAX 0.6.0 and 0.10.2, and by the
source of 0.10.0 and 0.10.1; `jax.extend.core.Token` is there from JAX 0.4.28 on, or before.
"""

TREE_UTIL_MODULES: Final = frozenset({"jax", "jax.tree", "jax.tree_util"})
"""Modules whose `import *` brings tree functions."""


def star_import_provides(module: str, name: str) -> bool:
    """Whether `from module import *` binds `name` to something that these tables know."""
    dotted = f"{module}.{name}"
    if dotted in NOT_MAPPED | NOT_MAPPED_TYPE or dotted in UNREPLACED_SENTINELS:
        return True
    return module in TREE_UTIL_MODULES and (dotted in RETIRED or dotted in TREE_MAPS)
