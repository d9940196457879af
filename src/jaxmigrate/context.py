"""The rest of the project that files named one by one belong to: looked into, never edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from jaxmigrate.sources.discover import FoundFile, discover

_MARKS: Final = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_MOST: Final = 3_000
"""Files beyond which a project is too large to be looked into for the sake of a few."""


def files_around(
    paths: Sequence[Path], exclude: Sequence[str], root: Path, known: Iterable[FoundFile]
) -> tuple[FoundFile, ...]:
    """The files of the projects that named files lie in, those that are `known` left out.

    Paths that are folders bring nothing: their files are known already.
    """
    named = [root / path for path in paths if (root / path).is_file()]
    folders = sorted({_project_of(path.absolute()) for path in named})
    if not folders:
        return ()
    taken = {file.real_path for file in known}
    found = discover(folders, exclude, root).files
    return tuple(f for f in found if f.real_path not in taken) if len(found) <= _MOST else ()


def _project_of(path: Path) -> Path:
    """The nearest folder above a file that looks like the top of a project; else the file's own."""
    return next(_tops(path), path.parent)


def _tops(path: Path) -> Iterator[Path]:
    for folder in path.parents:
        if any((folder / mark).exists() for mark in _MARKS):
            yield folder
