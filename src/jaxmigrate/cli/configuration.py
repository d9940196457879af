"""`[tool.jaxmigrate]` in pyproject.toml: what the options of `jaxmigrate run` are if they are not given."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from jaxmigrate.errors import UsageError

_TEXTS: Final = ("confidence", "target-jax", "style", "sentinel")
_LISTS: Final = ("select", "ignore", "exclude")
_NUMBERS: Final = ("jobs",)
_KEYS: Final = (*_LISTS, *_TEXTS, *_NUMBERS)
_TABLE: Final = "tool.jaxmigrate"


class Configured(click.Command):
    """A command whose options have their defaults from the configuration, unless help is asked for."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """The context, with the configuration of the current folder as defaults.

        Raises UsageError for a configuration that is malformed.
        """
        if not {"-h", "--help"} & set(args):
            extra["default_map"] = configured(Path.cwd())
        return super().make_context(info_name, args, parent, **extra)


def configured(folder: Path) -> dict[str, object]:
    """The defaults that the nearest pyproject.toml with a table [tool.jaxmigrate] says, by parameter.

    It is looked for in `folder` and above; without one there are none. Raises UsageError for a file
    that is no TOML, for keys that do not exist and values of the wrong kind.
    """
    for place in (folder, *folder.parents):
        path = place / "pyproject.toml"
        table = _table(path)
        if table is not None:
            return {key.replace("-", "_"): _value(path, key, table[key]) for key in table}
    return {}


def _table(path: Path) -> Mapping[str, object] | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if _TABLE not in text:
        return None
    try:
        table = tomllib.loads(text).get("tool", {}).get("jaxmigrate")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    return table if isinstance(table, dict) else None


def _value(path: Path, key: str, value: object) -> object:
    if key not in _KEYS:
        keys = ", ".join(_KEYS)
        raise UsageError(f"{path}: [{_TABLE}] has no key {key}; keys are {keys}")
    if key in _NUMBERS and isinstance(value, int) and not isinstance(value, bool):
        return value
    if key in _TEXTS and isinstance(value, str):
        return value
    if key in _LISTS and isinstance(value, str):
        return [value]
    if key in _LISTS and _are_texts(value):
        return value
    kind = "a number" if key in _NUMBERS else "a text" if key in _TEXTS else "a list of texts"
    raise UsageError(f"{path}: {key} in [{_TABLE}] must be {kind}")


def _are_texts(value: object) -> bool:
    return isinstance(value, Sequence) and all(isinstance(item, str) for item in value)
