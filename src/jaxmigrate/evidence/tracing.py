"""Runs a command with the recorder in each of its Python processes, and gathers what they noted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from types import FrameType
from typing import Any, Final

from jaxmigrate.evidence import recorder, starter
from jaxmigrate.evidence.hits import Hit, Place
from jaxmigrate.evidence.owners import Owners
from jaxmigrate.evidence.places import RECORDER_FOLDER, is_cell
from jaxmigrate.sources.discover import top_of_checkout

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
_PATH = "PYTHONPATH"
# The terminal sends these to every process of the group, the command included.
_FROM_TERMINAL = ("SIGINT", "SIGQUIT")
_FORWARDED = (*_FROM_TERMINAL, "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_OF_CALL = ("path", "line", "end_line", "column", "end_column", "function", "text", "map")


class CommandNotRun(Exception):
    """The command could not be started: `code` is what a shell would exit with."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Traced:
    """What a traced command came to.

    `exit_code` is its own, or 128 and the number of the signal that ended it. `recorded` says whether
    the recorder ran in any process; `jax` are the versions that were imported, `not_followed` says of
    each that could not be followed why, and `lost` whether some process could not write what it met.
    """

    exit_code: int
    recorded: bool
    jax: tuple[str, ...]
    not_followed: tuple[str, ...]
    lost: bool
    hits: tuple[Hit, ...]

    @property
    def is_whole(self) -> bool:
        """Whether every call that met a None is known, of the processes that imported JAX."""
        return bool(self.jax) and not self.not_followed and not self.lost

    @property
    def of_project(self) -> tuple[Hit, ...]:
        """The hits of the project itself."""
        return tuple(hit for hit in self.hits if hit.package is None and not _is_elsewhere(hit))

    @property
    def of_others(self) -> tuple[Hit, ...]:
        """The hits in files that are neither the project's nor installed."""
        return tuple(hit for hit in self.hits if hit.package is None and _is_elsewhere(hit))

    @property
    def of_packages(self) -> tuple[Hit, ...]:
        """The hits of installed packages."""
        return tuple(hit for hit in self.hits if hit.package is not None)


def _is_elsewhere(hit: Hit) -> bool:
    return Path(hit.path).is_absolute() and not is_cell(hit.path)


def trace(command: Sequence[str], root: Path, *, strict: bool) -> Traced:
    """Run `command` to its end, standard streams and signals its own, and give what was noted.

    With `strict` JAX's own rule stays in force. `root` is the folder that paths are named from; the
    project is the checkout that it lies in. Nothing is left behind. Raises CommandNotRun.
    """
    with _signals_held() as signals, recorder_folder(strict=strict) as folder:
        exit_code = _run(command, folder, signals)
        return _gathered(folder, root, exit_code)


@contextmanager
def recorder_folder(*, strict: bool) -> Iterator[Path]:
    """A private folder that makes every Python with it on PYTHONPATH run the recorder."""
    folder = Path(tempfile.mkdtemp(prefix=RECORDER_FOLDER))
    try:
        ours = resources.files("jaxmigrate.evidence")
        for name, there in (("starter.py", "sitecustomize.py"), ("recorder.py", starter.RECORDER)):
            (folder / there).write_bytes((ours / name).read_bytes())
        if strict:
            (folder / recorder.STRICT).touch()
        yield folder
    finally:
        # Processes that outlive the command write to it until it has another name.
        over = folder.with_name(f"{folder.name}-over")
        folder.rename(over)
        shutil.rmtree(over, ignore_errors=True)


@dataclass(slots=True)
class _Signals:
    """Signals that came in, for the command rather than for us."""

    child: subprocess.Popen[bytes] | None = None
    waiting: list[int] = field(default_factory=list)

    def came(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.child is None:
            self.waiting.append(number)
        elif not (_named_signal(number) in _FROM_TERMINAL and _in_foreground()):
            self.child.send_signal(number)

    def go_to(self, child: subprocess.Popen[bytes]) -> None:
        """Let the command get what comes, and what has come since it was about to start."""
        self.child = child
        for number in self.waiting:
            child.send_signal(number)


@contextmanager
def _signals_held() -> Iterator[_Signals]:
    """Keep signals from ending us before the command has ended and everything is cleared up.

    Those that are ignored stay so, for the command too.
    """
    signals = _Signals()
    numbers = [getattr(signal, name) for name in _FORWARDED if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, signals.came)
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _named_signal(number: int) -> str:
    return signal.Signals(number).name


def _in_foreground() -> bool:
    """Whether what is typed at a terminal reaches this process and those that it started."""
    if not hasattr(os, "tcgetpgrp"):
        return True  # a console, which tells all its processes
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _run(command: Sequence[str], folder: Path, signals: _Signals) -> int:
    paths = [str(folder), *filter(None, [os.environ.get(_PATH)])]
    environment = {**os.environ, _PATH: os.pathsep.join(paths)}
    try:
        child = subprocess.Popen(command, env=environment)
    except FileNotFoundError:
        raise CommandNotRun(f"{command[0]}: command not found", NOT_FOUND) from None
    except OSError as error:
        words = f"{command[0]}: cannot be run: {error.strerror}"
        raise CommandNotRun(words, NOT_EXECUTABLE) from None
    signals.go_to(child)
    code = child.wait()
    return code if code >= 0 else 128 - code


@dataclass(slots=True)
class _Call:
    """What all processes noted of one call."""

    fields: dict[str, Any]
    jax: str
    count: int = 0
    places: Counter[tuple[str, str]] = field(default_factory=Counter)
    tests: set[str] = field(default_factory=set)

    def add(self, record: dict[str, Any]) -> None:
        """Take in one more record of it."""
        if "test" in record:
            self.tests.add(record["test"])
        elif "key_path" in record:
            self.places[record["key_path"], record["opposite"]] += record["count"]
        else:
            self.count += record["count"]

    def hit(self, owners: Owners) -> Hit:
        """It as a hit."""
        owned = owners.of(self.fields["path"])
        return Hit(
            **{**self.fields, "path": owned.path},
            places=tuple(Place(*place, count) for place, count in sorted(self.places.items())),
            count=self.count,
            tests=tuple(sorted(self.tests)),
            package=owned.package,
            jax=self.jax,
        )


def _gathered(folder: Path, root: Path, exit_code: int) -> Traced:
    calls: dict[tuple[object, ...], _Call] = {}
    headers: list[dict[str, Any]] = []
    for spool in sorted(folder.glob(f"*{recorder.SPOOL_ENDING}")):
        header, *records = _records(spool) or [{}]
        headers += [header] if header else []
        _merge(calls, records, header.get("jax", ""))
    packages = {path: None for header in headers for path in header["packages"]}
    owners = Owners(root, top_of_checkout(root) or root, tuple(map(Path, packages)))
    hits = [call.hit(owners) for call in calls.values()]
    return Traced(
        exit_code=exit_code,
        recorded=(folder / starter.RAN).exists(),
        jax=tuple(sorted({header["jax"] or "of unknown version" for header in headers})),
        not_followed=tuple(sorted({header["why_not"] for header in headers} - {""})),
        lost=(folder / recorder.LOST).exists(),
        hits=tuple(sorted(hits, key=_order)),
    )


def _order(hit: Hit) -> tuple[object, ...]:
    return (hit.package is not None, hit.path, hit.line, hit.column or 0, hit.map, hit.jax)


def _records(spool: Path) -> list[dict[str, Any]]:
    """The records in a spool; the last one of a process that was killed may be cut off."""
    records = []
    for line in spool.read_bytes().splitlines():
        with suppress(ValueError):
            records.append(json.loads(line))
    return records


def _merge(
    calls: dict[tuple[object, ...], _Call], records: Iterable[dict[str, Any]], jax: str
) -> None:
    here: dict[int, _Call] = {}
    for record in records:
        number = record["call"]
        if "path" in record:
            fields = {name: record[name] for name in _OF_CALL}
            here[number] = calls.setdefault((*fields.values(), jax), _Call(fields, jax))
        if number in here:
            here[number].add(record)
