"""Whose file a path names, by the path alone: JAX's, another package's, the interpreter's, a cell's."""

from __future__ import annotations

import itertools
import re
from typing import Final

from jaxmigrate.evidence.starter import RECORDER

RECORDER_FOLDER: Final = "jaxmigrate-trace-"
"""How the name of the folder begins that holds the recorder while a command is traced."""

_PACKAGES: Final = frozenset({"site-packages", "dist-packages"})

_CALLERS: Final = frozenset(
    {"jax", "jaxlib", "_pytest", "pytest", "pluggy", "xdist", "execnet", "IPython", "ipykernel"}
)
"""Packages that never call a tree map for themselves: JAX, and what runs tests and cells."""

_PYTHON_LIBRARY: Final = re.compile(r"^python\d+(\.\d+)?t?$")
_CELL: Final = re.compile(r"^<ipython-input|ipython-input-|ipykernel_\d|^(Cell|Input) In ?\[")


def parts_of(path: str) -> tuple[str, ...]:
    """The names that a path is made of, whichever way its slashes lean; `.`, `..` and roots left out."""
    names = re.split(r"[/\\]+", path)
    return tuple(name for name in names if name not in ("", ".", "..") and not name.endswith(":"))


def package_of(path: str) -> str | None:
    """The name of the folder or module below `site-packages` that a path leads into; else None."""
    parts = parts_of(path)
    for number in reversed(range(len(parts) - 1)):
        if parts[number] in _PACKAGES:
            return parts[number + 1].removesuffix(".py")
    return None


def is_cell(path: str) -> bool:
    """Whether a path is what IPython calls the input of a cell."""
    return _CELL.search(path) is not None


def is_recorder(path: str) -> bool:
    """Whether a path is that of our recorder in a traced process, which stands between JAX's frames."""
    *folders, name = parts_of(path) or ("",)
    return name == RECORDER and bool(folders) and folders[-1].startswith(RECORDER_FOLDER)


def is_machinery(path: str) -> bool:
    """Whether the file is JAX's, the interpreter's or a test runner's, so that its caller counts."""
    package = package_of(path)
    if package is not None:
        return package in _CALLERS
    parts = parts_of(path)
    if path.startswith("<frozen ") or is_recorder(path):
        return True
    if ("jax", "_src") in itertools.pairwise(parts):
        return True
    folders = itertools.pairwise(parts)
    return any(one == "lib" and _PYTHON_LIBRARY.match(other) for one, other in folders)
