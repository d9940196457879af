"""Reads and writes traces: the files of JSON lines whose form `hits` describes."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxmigrate import __version__
from jaxmigrate.errors import SourceError, UsageError
from jaxmigrate.evidence.hits import TRACE_SCHEMA, Hit, HitKind, Installed, Place
from jaxmigrate.sources.read import in_words, printable, read_regular_file

_HEADER = "jaxmigrate_trace"


def write_trace(path: Path, hits: Iterable[Hit], *, command: Sequence[str], exit_code: int) -> None:
    """Write a trace to `path`, whole or not at all; a device or a pipe is written to as it is.

    Raises UsageError if that cannot be done.
    """
    header = {
        _HEADER: TRACE_SCHEMA,
        "version": __version__,
        "command": [*command],
        "exit_code": exit_code,
    }
    lines = [header, *(_record(hit) for hit in hits)]
    data = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            _replace(target, data)
    except OSError as error:
        raise UsageError(_not_written(path, error)) from error


def _record(hit: Hit) -> dict[str, Any]:
    fields = dataclasses.asdict(hit)
    del fields["hint"]
    return fields


def refuse_place(path: Path) -> None:
    """Try whether a trace can be written to `path`, and leave everything as it is.

    Raises UsageError if it cannot.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            os.close(os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0)))
        else:
            with _beside(target) as temporary:
                temporary.touch(exist_ok=False)
    except OSError as error:
        why = f"{_not_written(path, error)}; name another file with -o FILE"
        raise UsageError(why) from error


@dataclass(frozen=True, slots=True)
class Trace:
    """The hits of a trace, in its order; `is_cut` says that it ends in the middle of a line."""

    hits: tuple[Hit, ...]
    is_cut: bool = False


def read_trace(path: Path) -> Trace:
    """What a trace holds, or several, one behind the other. What this version does not know is passed over.

    Raises UsageError if the file cannot be read, is no trace, or one of another form.
    """
    name = printable(str(path))
    try:
        data = read_regular_file(path)
    except OSError as error:
        raise UsageError(f"{name}: {in_words(error, path)}") from error
    except SourceError as error:
        raise UsageError(f"{name}: {error}") from error
    lines = data.splitlines() or [b""]
    is_cut = not data.endswith(b"\n") and is_trace(lines[0]) and not _object(lines[-1])
    whole = lines[:-1] if is_cut else lines
    return Trace(tuple(_read_hits(name, whole)), is_cut)


def is_trace(first_line: bytes) -> bool:
    """Whether a file that begins with `first_line` is a trace, of whatever form, be it cut off."""
    return _HEADER in _object(first_line) or first_line.startswith(f'{{"{_HEADER}"'.encode())


def _read_hits(name: str, lines: Sequence[bytes]) -> Iterator[Hit]:
    for number, line in enumerate(lines, 1):
        if number == 1 or is_trace(line):
            _refuse_other_forms(name, line)
        elif (hit := _read_hit(name, number, line)) is not None:
            yield hit


def _refuse_other_forms(name: str, first_line: bytes) -> None:
    if not is_trace(first_line):
        raise UsageError(f"{name}: not a trace; make one with jaxmigrate trace -o FILE -- COMMAND")
    form = _object(first_line).get(_HEADER)
    if form != TRACE_SCHEMA:
        raise UsageError(
            f"{name}: a trace of form {form!r}, and this jaxmigrate reads form {TRACE_SCHEMA};"
            " make it again with this jaxmigrate"
        )


def _read_hit(name: str, number: int, line: bytes) -> Hit | None:
    """The hit on one line; None for one of a kind that this version does not know."""
    fields = _object(line)
    kind = fields.get("kind", HitKind.NONE_PREFIX)
    if kind not in [*HitKind]:
        return None
    try:
        places = tuple(Place(**_known(Place, place)) for place in fields.get("places", ()))
        read = {
            "kind": HitKind(kind),
            "places": places,
            "tests": tuple(fields.get("tests", ())),
            "package": _installed(fields.get("package")),
        }
        return Hit(**{**_known(Hit, fields), **read})
    except (AttributeError, TypeError) as error:
        raise UsageError(
            f"{name}:{number}: not the record of a call; make the trace anew"
        ) from error


def _installed(fields: Mapping[str, Any] | None) -> Installed | None:
    return None if fields is None else Installed(**_known(Installed, fields))


def _known(form: type[Hit | Place | Installed], fields: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(form)}
    return {name: value for name, value in fields.items() if name in names}


def _object(line: bytes) -> dict[str, Any]:
    """The JSON object on a line; an empty one if there is none."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _not_written(path: Path, error: OSError) -> str:
    return f"{printable(str(path))}: the trace cannot be written: {in_words(error, path)}"


def _replace(target: Path, data: bytes) -> None:
    with _beside(target) as temporary:
        temporary.write_bytes(data)
        temporary.replace(target)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A name for a file beside `target` that is gone afterwards."""
    temporary = target.with_name(f".jaxmigrate-{os.urandom(8).hex()}.tmp")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
