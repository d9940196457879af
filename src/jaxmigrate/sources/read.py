"""Reads a file that was found; says in words why one cannot be read."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from jaxmigrate.errors import SourceError
from jaxmigrate.sources.text import SourceFile, decode

if TYPE_CHECKING:
    from jaxmigrate.sources.discover import FoundFile

# Without O_NONBLOCK, opening a FIFO that nobody writes to would wait for ever.
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

_WORDS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EISDIR: "is a directory",
    errno.ELOOP: "symbolic links that lead in a circle",
    errno.ENOENT: "no such file or directory",
    errno.ENXIO: "not a regular file",
}


def read(found: FoundFile) -> SourceFile:
    """The file that was found, read and decoded.

    Raises SourceError if it cannot be read, is not a regular file, or cannot be decoded.
    """
    try:
        data = read_regular_file(found.real_path)
    except OSError as error:
        raise SourceError(in_words(error, found.real_path)) from error
    return decode(data, found.path, found.real_path)


def read_regular_file(path: Path) -> bytes:
    """The bytes of a regular file; never waits for anybody to write them.

    Raises SourceError for anything else than a regular file, and OSError if it cannot be read.
    """
    descriptor = os.open(path, _READ_FLAGS)
    try:
        irregular = why_not_a_file(os.fstat(descriptor).st_mode)
        if irregular:
            raise SourceError(irregular)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def why_not_a_file(mode: int) -> str | None:
    """What has the mode `st_mode`, in words, if not a regular file; None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    return "is a directory" if stat.S_ISDIR(mode) else "not a regular file"


def in_words(error: OSError, path: Path) -> str:
    """Why the operating system refused `path`, in a few words that go behind its name."""
    if error.errno == errno.ENOENT and path.is_symlink():
        return f"dangling link to {printable(str(path.readlink()))}"
    words = _WORDS.get(error.errno or 0)
    return words or (error.strerror or str(error)).lower()


def printable(path: str) -> str:
    r"""`path` with every byte that is not UTF-8 as `\xff`; any other path as it is."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
