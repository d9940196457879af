"""The lines of a log without what others put around them: colours, and who wrote them and when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BufferedReader, FileIO, TextIOWrapper
from typing import Final

_LONGEST: Final = 4_000
"""Characters beyond which a line is cut: no line of a traceback needs more."""

_ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]"
)
_TIME: Final = re.compile(r"(?:[^\t]*\t[^\t]*\t)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z ")
_PROCESS: Final = re.compile(r"(\(.{0,80}?\bpid=\d+(?:, ip=[^()]*)?\)|\[(?:rank|default)\d+\]:) ?")
_LOGGER: Final = re.compile(
    r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [^\s\]]+:\d+\] |WARNING:py\.warnings:"
)
_GROUP: Final = re.compile(r"\s*\| ?")


def lines_of(file: BufferedReader[FileIO]) -> Iterator[str]:
    """The lines of a log, what is not valid in its encoding replaced; closes it. Raises OSError."""
    mark = file.peek(2)[:2]
    encoding = "utf-16" if mark in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    with TextIOWrapper(file, encoding=encoding, errors="replace", newline="\n") as text:
        yield from text


def cleaned(line: str) -> tuple[str, str]:
    """Which process wrote a line, "" if it does not say, and what it wrote.

    Of a line that was written over several times, such as a progress bar, the last stands.
    """
    line = line.rstrip("\r\n").rpartition("\r")[2][:_LONGEST]
    if "\x1b" in line:
        line = _ESCAPES.sub("", line)
    process = ""
    if found := _TIME.match(line):
        line = line[found.end() :]
    if found := _PROCESS.match(line):
        process, line = found[1], line[found.end() :]
    if found := _LOGGER.match(line):
        line = line[found.end() :]
    if found := _GROUP.match(line):
        line = line[found.end() :]
    return process, line
