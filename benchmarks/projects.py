"""Folders to run on, made from real packages in a temporary place."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from benchmarks.packages import Package, unpacked


def together(place: Path, *packages: Package) -> Path:
    """A folder that holds the packages side by side, as one project."""
    for package in packages:
        shutil.copytree(unpacked(package.name, package.version), place, dirs_exist_ok=True)
    return place


def copies(place: Path, package: Package, number: int) -> Path:
    """A folder with so many copies of a package, each a package of its own name that imports itself."""
    source = unpacked(package.name, package.version) / package.name
    name = re.compile(rf"\b{re.escape(package.name)}\b".encode())
    for index in range(number):
        own = f"{package.name}_{index:02}"
        shutil.copytree(source, place / own)
        for path in (place / own).rglob("*.py"):
            path.write_bytes(name.sub(own.encode(), path.read_bytes()))
    return place


def python_files(folder: Path) -> list[Path]:
    """The Python files below a folder."""
    return [path for path in folder.rglob("*.py") if path.is_file()]


def bytes_with_trees(folder: Path) -> int:
    """How many bytes the files hold that mention the word tree: those that a run looks into."""
    sources = [path.read_bytes() for path in python_files(folder)]
    return sum(len(source) for source in sources if b"tree" in source)
