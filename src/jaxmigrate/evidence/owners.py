"""Tells whose file it is that a call stands in: the project's, an installed distribution's, neither's."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from jaxmigrate.evidence.hits import Installed

_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
# What marks the top of an environment that may lie inside the project's folder.
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


@dataclass(frozen=True, slots=True)
class Owned:
    """A file as it is named in a trace, and the distribution that it belongs to, if any."""

    path: str
    package: Installed | None


@dataclass(frozen=True, slots=True)
class Owners:
    """Whose files are whose, seen from the folder `root`.

    `top` is the folder of the project, which `root` lies in. `package_folders` are the folders that the
    traced processes import packages from.
    """

    root: Path
    top: Path
    package_folders: tuple[Path, ...] = ()

    def of(self, path: str) -> Owned:
        """Who owns the file that a process saw as `path`.

        What was never a file (`<string>`, the cell of a notebook) is the project's. Files that are neither
        the project's nor installed have no distribution, and keep their whole path.
        """
        if path.startswith("<"):
            return Owned(path, None)
        inside = _inside(self.top, path)
        if inside is not None and not _in_environment(self.top, inside):
            return Owned(self._from_root(inside), None)
        return Owned(path, self._installed(Path(path)))

    def _from_root(self, inside: Path) -> str:
        """The path of a file of the project, seen from the root."""
        root = _inside(self.top, str(self.root)) or Path()
        return Path(os.path.relpath(self.top / inside, self.top / root)).as_posix()

    def _installed(self, file: Path) -> Installed | None:
        folder = _package_folder(file)
        if folder is not None:
            found = _recorded(folder, file.relative_to(folder).as_posix())
            return found or Installed(_top(file, folder), "")
        found = _editable(self.package_folders, file)
        if found is None and any(_is_environment(above) for above in file.parents):
            return Installed(_top(file, None), "")
        return found


def _inside(root: Path, path: str) -> Path | None:
    """`path` relative to `root`, by name or by what the names lead to; None if it lies outside."""
    for top, file in ((root, Path(path)), (_real(root), _real(path))):
        if file.is_relative_to(top):
            return file.relative_to(top)
    return None


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))


def _in_environment(root: Path, inside: Path) -> bool:
    if set(inside.parts) & set(_PACKAGE_FOLDERS):
        return True
    return any(_is_environment(root / folder) for folder in inside.parents if folder.parts)


def _is_environment(folder: Path) -> bool:
    return any((folder / mark).exists() for mark in _ENVIRONMENTS)


def _package_folder(file: Path) -> Path | None:
    return next((folder for folder in file.parents if folder.name in _PACKAGE_FOLDERS), None)


def _top(file: Path, folder: Path | None) -> str:
    """The name of the outermost package that `file` is in; its own where it is in none."""
    if folder is not None:
        return file.relative_to(folder).parts[0].removesuffix(".py")
    top = file.with_suffix("")
    while (top.parent / "__init__.py").exists():
        top = top.parent
    return top.name


@functools.cache
def _records(folder: Path) -> tuple[tuple[Path, str], ...]:
    """The distributions installed in `folder`, and the text that lists the files of each."""
    return tuple((info, _text(info / "RECORD")) for info in sorted(folder.glob("*.dist-info")))


def _recorded(folder: Path, name: str) -> Installed | None:
    starts = (f"{name},", f'"{name}",')
    for info, record in _records(folder):
        if name in record and any(line.startswith(starts) for line in record.splitlines()):
            return _named(info)
    return None


def _editable(folders: Iterable[Path], file: Path) -> Installed | None:
    """The distribution that is installed from the sources that `file` is among."""
    for info, source in _sources(folders):
        if _real(file).is_relative_to(_real(source)):
            return dataclasses.replace(_named(info), source=source)
    return None


def _sources(folders: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    for folder in folders:
        for info in sorted(folder.glob("*.dist-info")):
            try:
                record = json.loads(_text(info / "direct_url.json"))
                url, editable = urlsplit(record["url"]), record["dir_info"].get("editable")
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            if url.scheme == "file" and editable:
                yield info, unquote(url.path)


def _named(info: Path) -> Installed:
    name, _, version = info.name.removesuffix(".dist-info").partition("-")
    fields = {"Name": name, "Version": version}
    for line in _text(info / "METADATA").partition("\n\n")[0].splitlines():
        key, _, value = line.partition(":")
        if key in fields:
            fields[key] = value.strip()
    return Installed(fields["Name"], fields["Version"])


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""
