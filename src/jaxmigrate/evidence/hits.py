"""What a run tells of a call: the data that traces and logs are read into, and the form of a trace.

A trace is a text of JSON lines. The first is the header `{"jaxmigrate_trace": 1, "version": …,
"command": […], "exit_code": …}`; each other line is one `Hit`, its fields named as below, `places` a list
of objects. What a reader does not know it passes over.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Final

TRACE_SCHEMA: Final = 1
"""The number in a trace's header; another one is another form."""


class HitKind(enum.StrEnum):
    """What happened: a None prefix met a value, or a name was used that JAX no longer has."""

    NONE_PREFIX = "none-prefix"
    REMOVED_NAME = "removed-name"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the trees it happened: `key_path` as `jax.tree_util.keystr` writes it, "" for the root
    or where it is not known, and in short words what stood opposite the None, how often."""

    key_path: str
    opposite: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Installed:
    """The installed distribution that a file belongs to; an editable one, from the folder `source`."""

    name: str
    version: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """One call that a run hit.

    `path` is relative to the root with `/` for files of the project, else as the process saw it. `line` and
    `end_line` count from 1; `column` and `end_column` count from 1 in characters, `end_column` just behind
    the last one; those that are not known (Python before 3.11, a log) are None. `function` is the name
    of the code that the call stands in (`<module>` outside functions, "" if not known) and `text` the
    source of the line `line` as the process saw it, without indentation. `map` names the function that
    was called (`jax.tree.map`) or the name that is gone (`jax.tree_map`). `tests` are the tests that ran.
    `package` is None for files of the project, and for those elsewhere that are not installed. `hint` says
    how to learn more, should the call not be found; only logs need it, and traces have no such field.
    """

    path: str
    line: int
    function: str = ""
    text: str = ""
    map: str = ""
    kind: HitKind = HitKind.NONE_PREFIX
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None
    places: tuple[Place, ...] = ()
    count: int = 1
    tests: tuple[str, ...] = ()
    package: Installed | None = None
    jax: str = ""
    hint: str = field(default="", compare=False)
