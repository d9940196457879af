"""Writes a file so that it is whole at any moment, old or new; asks git what is uncommitted."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from jaxmigrate.errors import SourceError, UsageError
from jaxmigrate.sources.discover import run_git
from jaxmigrate.sources.read import in_words, printable, read_regular_file

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class ChangedOnDisk(SourceError):
    """The file no longer holds what was read, so that writing it would lose somebody's work."""


def write(found_path: Path, before: bytes, after: bytes) -> None:
    """Let the file that holds `before` hold `after`; mode, owner and links to it stay as they are.

    Raises ChangedOnDisk if it no longer holds `before`, and SourceError if it cannot be written;
    the file is then as it was, and nothing is left beside it.
    """
    target = Path(os.path.realpath(found_path))
    try:
        facts = target.stat()
        if not os.access(target, os.W_OK):
            raise SourceError("cannot be written: it is read-only")
        if facts.st_nlink > 1:
            _write_in_place(target, before, after)
        else:
            _replace(target, before, after, facts)
    except FileNotFoundError as error:
        raise ChangedOnDisk("deleted since it was read") from error
    except OSError as error:
        raise SourceError(f"cannot be written: {in_words(error, target)}") from error


def dirty_files(paths: Sequence[Path]) -> list[Path]:
    """Those of `paths` that git could not give back: changed, staged or untracked in a checkout.

    A file outside any checkout is not among them, nor is one that git ignores. Raises UsageError if
    git cannot say.
    """
    by_checkout: dict[Path, list[tuple[Path, Path]]] = defaultdict(list)
    top_of = functools.cache(_top_of)
    for path in paths:
        real_path = Path(os.path.realpath(path))
        nearest = next((place for place in real_path.parents if _has_git(place)), None)
        checkout = top_of(nearest) if nearest else None
        if checkout is not None:
            by_checkout[checkout].append((path, real_path))
    dirty: set[Path] = set()
    for checkout, members in by_checkout.items():
        unsaved = _unsaved(checkout)
        dirty.update(path for path, real_path in members if real_path in unsaved)
    return [path for path in paths if path in dirty]


def _replace(target: Path, before: bytes, after: bytes, facts: os.stat_result) -> None:
    # The name is chosen before the file is made: an interrupt at any moment finds it to remove.
    temporary = target.parent / f".jaxmigrate-{os.urandom(8).hex()}.tmp"
    try:
        try:
            descriptor = os.open(temporary, _NEW_FILE, 0o600)
        except PermissionError:
            raise SourceError("cannot be written: its directory is read-only") from None
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            _flush(file)
            _dress(temporary, facts)
        if read_regular_file(target) != before:
            raise ChangedOnDisk("changed on disk since it was read")
        temporary.replace(target)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _dress(temporary: Path, facts: os.stat_result) -> None:
    """Give a new file the owner and mode of the one it is to replace, as far as we may."""
    if hasattr(os, "chown"):
        for user, group in ((-1, facts.st_gid), (facts.st_uid, -1)):
            with contextlib.suppress(PermissionError):
                os.chown(temporary, user, group)
    temporary.chmod(stat.S_IMODE(facts.st_mode))  # last, since a new owner clears bits of the mode


def _write_in_place(target: Path, before: bytes, after: bytes) -> None:
    # A replaced file would part from its other names, so this one is overwritten.
    with target.open("r+b") as file:
        if file.read() != before:
            raise ChangedOnDisk("changed on disk since it was read")
        try:
            _overwrite(file, after)
        except BaseException:
            _overwrite(file, before)
            raise


def _overwrite(file: BinaryIO, data: bytes) -> None:
    file.seek(0)
    file.write(data)
    file.truncate()
    _flush(file)


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _top_of(directory: Path) -> Path | None:
    """The top of the checkout that holds `directory`; None where git knows of none."""
    answer = run_git(directory, "rev-parse", "--show-toplevel")
    if answer.returncode == 0:
        return Path(os.path.realpath(os.fsdecode(answer.stdout.rstrip(b"\r\n"))))
    if b"not a git repository" in answer.stderr or b"must be run in a work tree" in answer.stderr:
        return None
    raise _unanswered(directory, os.fsdecode(answer.stderr))


def _has_git(directory: Path) -> bool:
    try:
        (directory / ".git").lstat()
    except OSError:
        return False
    return True


def _unsaved(checkout: Path) -> set[Path]:
    """The real paths that `git status` names below the checkout's top."""
    # Without --no-renames a renamed file brings a second path without a status in front.
    flags = ("--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    answer = run_git(checkout, "status", *flags)
    if answer.returncode != 0:
        raise _unanswered(checkout, os.fsdecode(answer.stderr))
    entries = answer.stdout.split(b"\0")
    return {checkout / os.fsdecode(entry[3:]) for entry in entries if entry}


def _unanswered(directory: Path, words: str) -> UsageError:
    reason = printable(words.strip().split("\n", 1)[0].removeprefix("fatal: "))
    return UsageError(
        f"git cannot say what is uncommitted in {printable(os.fspath(directory))} ({reason}); "
        "--allow-dirty writes all the same"
    )
