"""Which file of the project a path means that was written on another machine, or from another folder."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from jaxmigrate.evidence.places import parts_of


class ProjectFiles:
    """The files of a run by their paths. The disk is not looked at: nothing outside them is ever named."""

    def __init__(self, paths: Collection[str], root: Path) -> None:
        """`paths` are named as from `root`."""
        self._root = parts_of(root.as_posix())
        self._by_name: dict[str, list[str]] = defaultdict(list)
        self._paths: dict[tuple[str, ...], str] = {}
        for path in sorted(paths):
            self._by_name[PurePosixPath(path).name].append(path)
            self._paths[self._whole(path)] = path

    def has(self, path: str) -> bool:
        """Whether the path is that of one of the files as it stands, relative to the root or absolute."""
        return self._whole(path) in self._paths

    def named(self, path: str) -> list[str]:
        """The files that a path may mean: those whose paths end alike for longest. Mostly one."""
        if self.has(path):
            return [self._paths[self._whole(path)]]
        whole = self._whole(path)
        if not whole or (_is_absolute(path) and whole[: len(self._root)] == self._root):
            return []  # it lies inside the root, and is none of the files
        alike = {other: _shared(whole, parts_of(other)) for other in self._by_name[whole[-1]]}
        longest = max(alike.values(), default=0)
        return [other for other, length in alike.items() if length == longest]

    def surely(self, path: str, file: str) -> bool:
        """Whether one of the two paths ends with all of the other."""
        one, other = parts_of(path), parts_of(file)
        return _shared(one, other) == (
            len(other) if _is_absolute(path) else min(len(one), len(other))
        )

    def _whole(self, path: str) -> tuple[str, ...]:
        if _is_absolute(path):
            return parts_of(path)
        return parts_of(posixpath.normpath("/" + "/".join((*self._root, path.replace("\\", "/")))))


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~", "\\")) or path[1:2] == ":"


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many parts two paths have in common at their ends."""
    length = 0
    while length < min(len(one), len(other)) and one[-1 - length] == other[-1 - length]:
        length += 1
    return length
