"""Prints to a pipe or a file: plain lines, with diffs that `git apply` takes as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, TextIO, cast

from jaxmigrate.output.decoding import shown, utf8
from jaxmigrate.output.document import Block, Closing, Failures, FileDiff, Remark, Remarks, Unplaced
from jaxmigrate.output.patch import file_patch
from jaxmigrate.output.visible import words

# What git would take for the beginning of a patch, or for a part of one.
_PATCH_STARTS = ("@@ ", "--- ", "+++ ", "diff ", "\\ ", "Index: ", "index ")


class PlainConsole:
    """Writes blocks as plain text: no colours, no wrapping, UTF-8 whatever the locale says."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, blocks: Iterable[Block]) -> None:
        """Write `blocks`, an empty line between two."""
        for number, block in enumerate(blocks):
            self._write("\n" if number else "")
            self._write(plain_text(block))
        self._stream.flush()

    def _write(self, text: str) -> None:
        write_utf8(self._stream, text)


def write_utf8(stream: TextIO, text: str) -> None:
    """Write past the stream's own encoding and newlines: neither would leave a diff whole."""
    raw = cast("BinaryIO | None", getattr(stream, "buffer", None))
    if raw is None:
        stream.write(text)
        return
    stream.flush()
    raw.write(utf8(text))


def plain_text(block: Block) -> str:
    """`block` as it stands in piped output."""
    match block:
        case FileDiff():
            return _file_diff(block)
        case Remarks(remarks):
            return _lines(line for remark in remarks for line in _remark(remark))
        case Failures(files):
            return _lines(f"error: {failed.path}: {failed.message}" for failed in files)
        case Unplaced(lines) | Closing(lines):
            return _lines(lines)


def _file_diff(block: FileDiff) -> str:
    file = block.file
    patch = file_patch(file.path, file.before, file.after, prefix=block.prefix)
    diff = shown(patch, file.encoding)
    reasons = [line for remark in block.remarks for line in _remark(remark)]
    if utf8(diff) != patch:
        reasons.append(
            f"note: {words(file.path)} is encoded in {words(file.encoding)} and shown in UTF-8;"
            " for a patch that applies, use --patch FILE"
        )
    return _lines(reasons) + diff


def _remark(remark: Remark) -> Iterator[str]:
    yield remark.text()
    for evidence in remark.evidence:
        yield f"    {evidence}"


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{_harmless(line)}\n" for line in lines)


def _harmless(line: str) -> str:
    return f" {line}" if line.startswith(_PATCH_STARTS) else line
