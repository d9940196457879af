"""Reads what the user gives as evidence: traces and logs."""

from __future__ import annotations

from io import BufferedReader, FileIO
from pathlib import Path
from typing import Final

from jaxmigrate.errors import UsageError
from jaxmigrate.evidence.log_lines import lines_of
from jaxmigrate.evidence.logs import hits_in
from jaxmigrate.evidence.seen import Seen
from jaxmigrate.evidence.trace_file import Trace, is_trace, read_trace
from jaxmigrate.sources.read import in_words, printable

_HEAD: Final = 1 << 20
"""Bytes that are looked at to tell a trace from a log: more than the first line of a trace has."""
_GIVE: Final = "give a trace, or the output of a failing run with its tracebacks"


def read_evidence(path: Path) -> Seen:
    """What a file says, be it a trace or a log; one that is a pipe is read once.

    Raises UsageError if it cannot be read, or is a trace of another form.
    """
    try:
        with BufferedReader(FileIO(path), _HEAD) as file:
            head = file.peek(1)
            if is_trace(head.partition(b"\n")[0]):
                trace = read_trace(path)
                return Seen(trace.hits, remark=_of_trace(trace))
            hits = hits_in(lines_of(file))
            return Seen(hits, from_logs=True, remark="" if hits else _of_nothing(head))
    except OSError as error:
        raise UsageError(f"{printable(str(path))}: {in_words(error, path)}") from error


def _of_nothing(head: bytes) -> str:
    what = "no None-prefix failure found" if head else "the file is empty"
    return f"{what}: {_GIVE}"


def _of_trace(trace: Trace) -> str:
    if trace.is_cut:
        calls = "1 call" if len(trace.hits) == 1 else f"{len(trace.hits)} calls"
        return f"the trace ends in the middle of a line: {calls} read"
    return "" if trace.hits else "the trace names no call"
