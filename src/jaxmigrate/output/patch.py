"""Writes patches that `git apply` and `git apply -R` take, true to the byte."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from jaxmigrate.errors import UsageError
from jaxmigrate.model import FileResult
from jaxmigrate.output.hunks import Hunk, structured_hunks

_NO_NEWLINE = b"\n\\ No newline at end of file\n"
_ESCAPES = {
    0x07: b"\\a",
    0x08: b"\\b",
    0x09: b"\\t",
    0x0A: b"\\n",
    0x0B: b"\\v",
    0x0C: b"\\f",
    0x0D: b"\\r",
    0x22: b'\\"',
    0x5C: b"\\\\",
}


def patch(files: Iterable[FileResult], *, prefix: str = "") -> bytes:
    """One patch over all changed files, in order of path.

    `prefix` is put before every path (see `file_patch`).
    """
    changed = sorted((file for file in files if file.changed), key=lambda file: file.path)
    return b"".join(
        file_patch(file.path, file.before, file.after, prefix=prefix) for file in changed
    )


def file_patch(path: str, before: bytes, after: bytes, *, prefix: str = "") -> bytes:
    """The unified diff, as git writes it, from `before` to `after`; empty if they are equal.

    `prefix` is the folder, relative to the top of the repository, that `path` is relative to. It
    matters because `git apply` reads paths from the top and passes over any other in silence.
    """
    if before == after:
        return b""
    before_lines, after_lines = split_lines(before), split_lines(after)
    parts = [*_headers(f"{prefix.rstrip('/')}/{path}" if prefix.strip("/") else path)]
    for hunk in structured_hunks(before_lines, after_lines):
        parts.append(_hunk_header(hunk))
        parts.extend(_hunk_lines(hunk, before_lines, after_lines))
    return b"".join(parts)


def write_patch(files: Iterable[FileResult], destination: Path, *, prefix: str = "") -> None:
    """Write one patch over all changed files to `destination`, whole or not at all."""
    _write_whole(destination, patch(files, prefix=prefix))


def write_patch_dir(
    files: Iterable[FileResult], directory: Path, *, prefix: str = ""
) -> list[Path]:
    """Write a patch for each changed file under `directory`, in the same tree; return their paths.

    `pkg/a.py` goes to `directory/pkg/a.py.patch`. An absolute path is written under its parts
    without the root. A path with `..` raises UsageError before anything is written.
    """
    changed = sorted((file for file in files if file.changed), key=lambda file: file.path)
    targets = [directory / _patch_name(file.path) for file in changed]
    for file, target in zip(changed, targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_whole(target, file_patch(file.path, file.before, file.after, prefix=prefix))
    return targets


def why_not_there(destination: Path) -> str | None:
    """Why no patch can be written to `destination`, in words; None if one can, as far as is known."""
    target = Path(os.path.realpath(destination))
    if target.is_dir():
        return "it is a folder; name a file, or use --patch-dir"
    if os.path.lexists(target) and not target.exists():
        return "it is a link that leads in a circle"
    if not target.parent.is_dir():
        return "there is no such folder"
    # a pipe or a device is written to, a file is replaced
    place = target if target.exists() and not target.is_file() else target.parent
    return None if os.access(place, os.W_OK) else "permission denied"


def why_not_under(directory: Path) -> str | None:
    """Why no patches can be written under `directory`, in words; it need not be there yet."""
    target = place = Path(os.path.realpath(directory))
    while not os.path.lexists(place):
        place = place.parent
    if not place.is_dir():
        return "it is not a folder" if place == target else f"{place.name} is not a folder"
    return None if os.access(place, os.W_OK) else "permission denied"


def split_lines(data: bytes) -> list[bytes]:
    r"""The lines of `data`, ended by `\n` and nothing else, with their ends."""
    return io.BytesIO(data).readlines()


def quoted(name: bytes) -> bytes:
    """`name` as git prints it in a header: in quotes with C escapes where it needs them."""
    escaped = b"".join(_escaped(byte) for byte in name)
    return name if escaped == name else b'"' + escaped + b'"'


def _escaped(byte: int) -> bytes:
    if byte in _ESCAPES:
        return _ESCAPES[byte]
    return bytes([byte]) if 0x20 <= byte < 0x7F else b"\\%03o" % byte


def _headers(path: str) -> Iterator[bytes]:
    name = path.encode("utf-8", "surrogateescape")
    old, new = quoted(b"a/" + name), quoted(b"b/" + name)
    # git ends a name that holds a space with a tab, for readers that would stop at the space.
    end = b"\t\n" if b" " in name else b"\n"
    yield b"diff --git " + old + b" " + new + b"\n"
    yield b"--- " + old + end
    yield b"+++ " + new + end


def _hunk_header(hunk: Hunk) -> bytes:
    return b"@@ -%s +%s @@\n" % (_extent(hunk.old), _extent(hunk.new))


def _extent(lines: range) -> bytes:
    # An empty side names the line before it, which is the same number counted from 1.
    start = lines.start + 1 if lines else lines.start
    return b"%d" % start if len(lines) == 1 else b"%d,%d" % (start, len(lines))


def _hunk_lines(
    hunk: Hunk, before_lines: Sequence[bytes], after_lines: Sequence[bytes]
) -> Iterator[bytes]:
    for line in hunk.lines():
        if line.old is not None:
            text = before_lines[line.old]
        else:
            assert line.new is not None
            text = after_lines[line.new]
        yield line.sign.encode() + (text if text.endswith(b"\n") else text + _NO_NEWLINE)


def _patch_name(path: str) -> PurePosixPath:
    pure = PurePosixPath(path)
    parts = [part for part in pure.parts if part != pure.anchor]
    if ".." in parts or not parts:
        raise UsageError(f"no patch can be written for {path}: it lies outside the directory")
    return PurePosixPath(*parts[:-1], parts[-1] + ".patch")


def _write_whole(destination: Path, data: bytes) -> None:
    target = Path(os.path.realpath(destination))
    if target.exists() and not target.is_file():
        # A pipe or a device (`--patch /dev/stdout`) must be written to, not replaced.
        destination.write_bytes(data)
        return
    temporary = target.with_name(f".jaxmigrate-{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
