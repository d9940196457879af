"""Which release of a package mended a call, where that is known."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from packaging.version import InvalidVersion, Version

from jaxmigrate.evidence.hits import Hit

# Read in the wheels of the releases before and after.
_MENDED: Final = MappingProxyType(
    {
        ("optax", "optax/_src/update.py", "apply_updates"): "0.2.4",
        ("optax", "optax/_src/update.py", "incremental_update"): "0.2.4",
    }
)
"""The first release that guards the call, by distribution, file and function."""


def mended_in(hit: Hit) -> str | None:
    """The release of the hit's package that guards the call; None if none newer is known."""
    if hit.package is None:
        return None
    for (name, file, function), release in _MENDED.items():
        if (name, function) == (hit.package.name, hit.function) and hit.path.endswith(f"/{file}"):
            return release if _older(hit.package.version, release) else None
    return None


def _older(version: str, release: str) -> bool:
    try:
        return Version(version) < Version(release)
    except InvalidVersion:
        return False
