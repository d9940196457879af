"""Reads the output of a failing run: tracebacks and warnings in, hits out.

Nothing here looks at the project's files, and nothing in a log is taken for more than text.
"""

from __future__ import annotations

import dataclasses
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from jaxmigrate.evidence import frames as forms
from jaxmigrate.evidence.frames import Frame
from jaxmigrate.evidence.hits import Hit
from jaxmigrate.evidence.log_lines import cleaned
from jaxmigrate.evidence.messages import MOST_LINES, Meaning, begins, meaning
from jaxmigrate.evidence.places import is_machinery, parts_of

_MOST_FRAMES: Final = 500
"""The innermost ones are kept: a log may hold lists of frames that end in no exception."""

_TRACEBACK: Final = "Traceback (most recent call last)"
_CHAINED: Final = (
    "The above exception was the direct cause of the following exception",
    "During handling of the above exception, another exception occurred",
)
_HEADING: Final = re.compile(
    r"_{3,} (?:ERROR collecting .*|(?:ERROR at (?:setup|teardown) of )?(?P<test>.+?)) _{3,}$"
)
_SECTION: Final = re.compile(r"={3,}.*={3,}$")
_TEST: Final = re.compile(r"\S+\.py::\S+$")
_OUTCOME: Final = re.compile(r"(?:FAILED|ERROR) (?P<test>\S+\.py::.+?)(?: - .*)?$")
_ERROR: Final = re.compile(r"E(?: {3}|$)")
_EXCEPTION: Final = re.compile(r"[\w.]+$")
_FILTERED: Final = re.compile(r"JAX has removed its internal frames|excludes JAX-internal frames")
_HINT: Final = "JAX left frames out of this log: set JAX_TRACEBACK_FILTERING=off"
_WARNING_HINT: Final = (
    "a warning names but a line near the call: python -W error::DeprecationWarning, or pytest with"
    " the same, makes a traceback of it"
)
_ADVICE: Final = re.compile(
    r"To preserve the current behavior, you can usually write:|"
    r"jax\.tree\.map\(lambda x, y: None if x is None else f\(x, y\), a, b, is_leaf="
)


def hits_in(lines: Iterable[str]) -> tuple[Hit, ...]:
    """The hits that a log's lines name, each once, in order. Takes one look at each line."""
    found: dict[Hit, None] = {}
    readers: dict[str, _Reader] = {}
    hint = ""
    tests: set[str] = set()
    for raw in lines:
        process, line = cleaned(raw)
        if "internal frames" in line and _FILTERED.search(line):
            hint = _HINT
        if found_test := _OUTCOME.match(line):
            tests.add(found_test["test"])
        reader = readers.get(process)
        if reader is None:
            reader = readers[process] = _Reader(found)
        reader.read(line)
    for reader in readers.values():
        reader.end()
    return tuple(
        dataclasses.replace(
            hit, hint=hit.hint or hint, tests=tuple(_whole(name, tests) for name in hit.tests)
        )
        for hit in found
    )


def _whole(name: str, tests: Iterable[str]) -> str:
    """A test by the name that the log's summary has for it, with its folder, if only one may be meant."""
    found = [test for test in tests if test.endswith((f"/{name}", f"::{name}"))]
    return found[0] if len(found) == 1 and name not in tests else name


@dataclass(slots=True)
class _Excerpt:
    """The source that pytest shows above the place it belongs to: its `def`, and the marked line."""

    function: str = ""
    text: str = ""


@dataclass(slots=True)
class _Reader:
    """Reads what one process wrote, line by line; puts what it finds into `found`."""

    found: dict[Hit, None]
    frames: deque[Frame] = field(default_factory=lambda: deque(maxlen=_MOST_FRAMES))
    wants_text: bool = False
    excerpt: _Excerpt = field(default_factory=_Excerpt)
    message: list[str] = field(default_factory=list)
    in_error: bool = False
    pending: Meaning | None = None
    warning: Hit | None = None
    tests: list[str] = field(default_factory=list)
    heading: str = ""

    def read(self, line: str) -> None:
        """Take in the next line."""
        if not line or line.isspace():
            return
        if self.warning is not None and self._ends_warning(line):
            return
        if _ERROR.match(line):
            self._error(line[1:].strip())
        elif not (self._divider(line) or self._place(line)):
            self._words(line)

    def end(self) -> None:
        """Nothing more comes."""
        if self.warning is not None:
            self._add(self.warning)

    def _divider(self, line: str) -> bool:
        """Whether the line parts one traceback, entry or test from the next."""
        if _TRACEBACK in line or line.startswith(_CHAINED):
            self._reset()
        elif line.startswith("_ _ _ "):
            self.excerpt = _Excerpt()
        elif heading := _HEADING.match(line):
            self._reset()
            self.heading = heading["test"] or ""
        elif _SECTION.match(line):
            self._reset()
            self.heading = ""
        else:
            return False
        return True

    def _reset(self) -> None:
        self.frames.clear()
        self.message.clear()
        self.tests.clear()
        self.excerpt = _Excerpt()
        self.pending = None
        self.wants_text = False

    def _place(self, line: str) -> bool:
        """Whether the line names a place, or shows the source of the last one."""
        if frame := forms.python_frame(line):
            self._push(frame)
            self.wants_text = True
        elif self.wants_text and line[0].isspace():
            self.wants_text = False
            source = line.strip()
            if source.strip("^~ "):
                self.frames[-1] = dataclasses.replace(self.frames[-1], text=source)
        elif (at := forms.location(line)) is not None:
            self._location(*at)
        elif frame := forms.ipython_frame(line):
            self._push(frame)
        elif (shown := forms.arrow(line)) is not None:
            self._arrow(*shown)
        elif (text := forms.marked(line)) is not None:
            self.excerpt.text = text
        else:
            return False
        return True

    def _push(self, frame: Frame) -> None:
        self.message.clear()
        self.frames.append(frame)

    def _arrow(self, line: int, text: str) -> None:
        if self.frames and self.frames[-1].line in (0, line):
            self.frames[-1] = dataclasses.replace(self.frames[-1], line=line, text=text)

    def _location(self, frame: Frame, behind: str) -> None:
        """pytest's place: of a short entry, of a long one, the last of all, or of a warning."""
        if behind.startswith("in "):
            self._push(dataclasses.replace(frame, function=behind[3:]))
            self.wants_text = True
        elif not behind or _EXCEPTION.match(behind):
            text, function = self.excerpt.text, self.excerpt.function
            self._push(dataclasses.replace(frame, function=function, text=text))
            self.excerpt = _Excerpt()
            if behind and self.pending is not None:
                self._hit(self.pending)
        else:
            self._alone(frame, behind)

    def _alone(self, frame: Frame, message: str) -> None:
        """A place with its message on one line: a warning, or pytest's shortest form."""
        said = meaning([message]) or (self.pending if begins(message) else None)
        if said is not None:
            self.frames.clear()
            self.frames.append(frame)
            hit = self._made(said, frame)
            if message.startswith("DeprecationWarning"):
                self.warning = dataclasses.replace(hit, hint=_WARNING_HINT)
            else:
                self._add(hit)
            self._reset()
        self.tests.clear()

    def _ends_warning(self, line: str) -> bool:
        """Whether a line still belongs to a warning: JAX's advice, or the source that it is about."""
        assert self.warning is not None
        if _ADVICE.match(line.strip()):
            return True
        shows_source = line[0].isspace()
        text = line.strip() if shows_source else ""
        self._add(dataclasses.replace(self.warning, text=text))
        self.warning = None
        return shows_source

    def _error(self, line: str) -> None:
        """A line that pytest marks as the exception's."""
        self.wants_text = False
        self.in_error = True
        self._message(line)

    def _words(self, line: str) -> None:
        self.wants_text = False
        if (name := forms.defined(line)) is not None and not self.excerpt.function:
            self.excerpt.function = name
        elif _TEST.match(line):
            self.tests.append(line.strip())
        elif self.message:
            self._message(line.strip())
        else:
            self.in_error = False
            self._message(line)

    def _message(self, line: str) -> None:
        if begins(line):
            self.message = [line]
        elif self.message:
            self.message.append(line)
        else:
            return
        if (said := meaning(self.message)) is not None:
            self.message.clear()
            self._failed(said)
        elif len(self.message) >= MOST_LINES:
            self.message.clear()

    def _failed(self, said: Meaning) -> None:
        """The exception is known. pytest names the innermost place behind it, others before it."""
        if self.in_error and (self.excerpt.text or not self.frames):
            self.pending = said
        elif self.frames:
            self._hit(said)

    def _hit(self, said: Meaning) -> None:
        """A hit at the innermost frame that is not JAX's own; at the innermost of all, if all are."""
        known = [frame for frame in self.frames if frame.line]
        ours = [frame for frame in known if not is_machinery(frame.path)]
        if known:
            self._add(self._made(said, (ours or known)[-1]))
        self.frames.clear()
        self.wants_text = False
        self.pending = None

    def _made(self, said: Meaning, frame: Frame) -> Hit:
        return Hit(
            path=frame.path,
            line=frame.line,
            function=frame.function,
            text=frame.text,
            map=said.name,
            kind=said.kind,
            places=() if said.place is None else (said.place,),
            tests=tuple(self.tests) or self._test(),
        )

    def _test(self) -> tuple[str, ...]:
        """The test that pytest's heading names, with its file if a frame of it is there."""
        if not self.heading:
            return ()
        name, bracket, parameters = self.heading.partition("[")
        function = name.rpartition(".")[2]
        files = [parts_of(frame.path)[-1] for frame in self.frames if frame.function == function]
        parts = (*files[:1], *name.split("."))
        return (f"{'::'.join(parts)}{bracket}{parameters}",)

    def _add(self, hit: Hit) -> None:
        self.found[hit] = None
