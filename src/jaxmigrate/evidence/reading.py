"""Reads what the user gives as evidence: traces and logs."""

from __future__ import annotations

from io import BufferedReader, FileIO
from pathlib import Path
from typing import Final

from jaxmigrate.errors import UsageError
from jaxmigrate.evidence.log_lines import lines_of
from jaxmigrate.evidence.logs import hits_in
from jaxmigrate.evidence.seen import Seen
from jaxmigrate.evidence.trace_file import is_trace, read_trace
from jaxmigrate.sources.read import in_words, printable

_HEAD: Final = 1 << 20
"""Bytes that are looked at to tell a trace from a log: more than the first line of a trace has."""


def read_evidence(path: Path) -> Seen:
    """What a file says, be it a trace or a log; one that is a pipe is read once.

    Raises UsageError if it cannot be read, or is a trace of another form.
    """
    try:
        with BufferedReader(FileIO(path), _HEAD) as file:
            if is_trace(file.peek(1).partition(b"\n")[0]):
                return Seen(read_trace(path))
            return Seen(hits_in(lines_of(file)), from_logs=True)
    except OSError as error:
        raise UsageError(f"{printable(str(path))}: {in_words(error, path)}") from error
