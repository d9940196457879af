"""How a project lays out its code: line length and indentation, from its settings or from a file."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

_TABLE_FILES: Final = ("ruff.toml", ".ruff.toml", "pyproject.toml")
_DEFAULT_WIDTH: Final = 88
_WIDTHS: Final = (80, 88, 100, 120)
_UNREADABLE = (OSError, ValueError, configparser.Error)
_INDENTED = re.compile(r"^(?P<space>[ \t]+)\S", re.MULTILINE)
_OPENED = re.compile(r"^(?P<first>[ \t]*)\S[^\n#]*\(\n(?P<second>[ \t]*)\S", re.MULTILINE)
_LONG_STRING = re.compile(r"(\"{3}|'{3}).*?\1", re.DOTALL)
_CLOSED_ALONE = re.compile(r"^[ \t]*\)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Style:
    """How code is laid out.

    `width` is how many columns a line may have, `indent` one level of a block, `continuation` what an
    argument on a line of its own is indented by, `closes_alone` whether its bracket then closes on a
    line of its own. `ruff_config` is the ruff configuration that applies, None where the project has
    none; `is_declared` says that the project's settings name ruff, black or pyink.
    """

    width: int
    indent: str = "    "
    continuation: str = "    "
    closes_alone: bool = True
    ruff_config: Path | None = None
    is_declared: bool = False

    @property
    def is_ruffs(self) -> bool:
        """Whether arguments stand where ruff and black would put them."""
        return self.is_declared or (self.closes_alone and self.continuation == self.indent)


@dataclass(frozen=True, slots=True)
class Declared:
    """What a project's settings say of its layout; None where they are silent.

    `is_formatted` says that they are the settings of a formatter of ruff's kind.
    """

    width: int | None = None
    indent: str | None = None
    ruff_config: Path | None = None
    is_formatted: bool = False


def style_of(text: str, path: Path) -> Style:
    """The style of the file `text` that lies at `path`: the project's settings, else read off it."""
    declared = declared_for(path.parent)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    indent = declared.indent or _indent_of(text)
    return Style(
        width=declared.width or _width_of(text),
        indent=indent,
        continuation=_continuation_of(text) or indent,
        closes_alone=_closes_alone(text),
        ruff_config=declared.ruff_config,
        is_declared=declared.is_formatted,
    )


@lru_cache(maxsize=4096)
def declared_for(folder: Path) -> Declared:
    """What the nearest settings say of files in `folder`; it looks up to the top of the checkout.

    In one folder, ruff's own settings come first, then those of black, pyink, yapf and pylint, the
    plain `setup.cfg` and `.editorconfig` last. Settings that cannot be read are passed over.
    """
    for reader in _READERS:
        found = reader(folder)
        if found is not None:
            return found
    if (folder / ".git").exists() or folder.parent == folder:
        return Declared()
    return declared_for(folder.parent)


def _ruff(folder: Path) -> Declared | None:
    for name in _TABLE_FILES:
        table = _toml(folder / name)
        if name == "pyproject.toml":
            table = _within(table, "tool", "ruff")
        elif not (folder / name).is_file():
            continue
        if table:
            width = table.get("line-length")
            indent = table.get("indent-width")
            tabs = _within(table, "format").get("indent-style") == "tab"
            return Declared(
                width if isinstance(width, int) else _DEFAULT_WIDTH,
                "\t" if tabs else " " * (indent if isinstance(indent, int) else 4),
                folder / name,
                is_formatted=True,
            )
    return None


def _black(folder: Path) -> Declared | None:
    table = _within(_toml(folder / "pyproject.toml"), "tool", "black")
    if not table:
        return None
    width = _number(table, "line-length", "line_length", default=_DEFAULT_WIDTH)
    return Declared(width, "    ", is_formatted=True)


def _pyink(folder: Path) -> Declared | None:
    table = _within(_toml(folder / "pyproject.toml"), "tool", "pyink")
    if not table:
        return None
    indent = _number(table, "pyink-indentation", "pyink_indentation", default=4)
    width = _number(table, "line-length", "line_length", default=_DEFAULT_WIDTH)
    return Declared(width, " " * indent, is_formatted=True)


def _yapf(folder: Path) -> Declared | None:
    table: Mapping[str, Any] = _within(_toml(folder / "pyproject.toml"), "tool", "yapf")
    table = table or _ini(folder / ".style.yapf", "style") or _ini(folder / "setup.cfg", "yapf")
    if not table:
        return None
    google = "google" in str(table.get("based_on_style", "")).lower()
    default_width, default_indent = (80, 4) if google else (79, 4)
    indent = _number(table, "indent_width", default=default_indent)
    return Declared(_number(table, "column_limit", default=default_width), " " * indent)


def _pylint(folder: Path) -> Declared | None:
    for name in (".pylintrc", "pylintrc"):
        table = _ini(folder / name, "FORMAT") or _ini(folder / name, "MASTER")
        if table.get("max-line-length"):
            indent = str(table.get("indent-string", "")).strip("'\"")
            return Declared(
                _number(table, "max-line-length", default=_DEFAULT_WIDTH),
                indent if indent and not indent.strip(" ") else None,
            )
    return None


def _flake8(folder: Path) -> Declared | None:
    for name in ("setup.cfg", "tox.ini", ".flake8"):
        table = _ini(folder / name, "flake8") or _ini(folder / name, "pycodestyle")
        if table.get("max-line-length"):
            return Declared(_number(table, "max-line-length", default=_DEFAULT_WIDTH))
    return None


def _editorconfig(folder: Path) -> Declared | None:
    path = folder / ".editorconfig"
    table = {**_ini(path, "*"), **_ini(path, "*.py"), **_ini(path, "**.py")}
    width = _number(table, "max_line_length", default=0) or None
    if table.get("indent_style") == "tab":
        indent: str | None = "\t"
    else:
        indent = " " * _number(table, "indent_size", default=0) or None
    return Declared(width, indent) if width or indent else None


_READERS: tuple[Callable[[Path], Declared | None], ...] = (
    _ruff,
    _black,
    _pyink,
    _yapf,
    _pylint,
    _flake8,
    _editorconfig,
)


def _width_of(text: str) -> int:
    """The width that a file seems to keep to, from its longest lines of code."""
    lengths = sorted((len(line) for line in _code_lines(text)), reverse=True)
    if not lengths:
        return _DEFAULT_WIDTH
    full = sum(1 for length in lengths if 68 < length <= 80)
    if lengths[0] <= 80:
        return 80 if full >= 5 else _DEFAULT_WIDTH
    # A few lines run over any limit; most do not.
    typical = lengths[min(len(lengths) // 50, len(lengths) - 1)]
    return next((width for width in _WIDTHS if typical <= width), _WIDTHS[-1])


def _code_lines(text: str) -> Iterator[str]:
    for line in _LONG_STRING.sub("", text).split("\n"):
        bare = line.strip()
        if bare and not bare.startswith("#") and "http" not in bare:
            yield line


def _indent_of(text: str) -> str:
    """The first level of indentation that most blocks have."""
    spaces = [match["space"] for match in _INDENTED.finditer(text)]
    if any(space.startswith("\t") for space in spaces):
        return "\t"
    levels = Counter(_steps(text))
    return " " * levels.most_common(1)[0][0] if levels else "    "


def _steps(text: str) -> Iterator[int]:
    """How far each line behind a colon is indented beyond it."""
    lines = text.split("\n")
    for line, following in pairwise(lines):
        step = _depth(following) - _depth(line)
        if line.rstrip().endswith(":") and following.strip() and 0 < step <= 8:
            yield step


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _continuation_of(text: str) -> str | None:
    found = Counter(
        match["second"].removeprefix(match["first"])
        for match in _OPENED.finditer(text)
        if match["second"].startswith(match["first"])
        and len(match["second"]) > len(match["first"])
        and not match[0].lstrip().startswith(("def ", "class ", "async def "))
    )
    return found.most_common(1)[0][0] if found else None


def _closes_alone(text: str) -> bool:
    return len(_CLOSED_ALONE.findall(text)) * 2 >= len(_OPENED.findall(text))


@lru_cache(maxsize=1024)
def _toml(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except _UNREADABLE:
        return {}


@lru_cache(maxsize=1024)
def _ini(path: Path, section: str) -> Mapping[str, str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        text = path.read_text(encoding="utf-8")
        # .editorconfig may begin with keys that belong to no section.
        parser.read_string(text if text.lstrip().startswith("[") else f"[top]\n{text}")
    except _UNREADABLE:
        return {}
    return dict(parser[section]) if parser.has_section(section) else {}


def _within(table: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    for key in keys:
        inner = table.get(key)
        table = inner if isinstance(inner, Mapping) else {}
    return table


def _number(table: Mapping[str, Any], *keys: str, default: int) -> int:
    for key in keys:
        try:
            return int(str(table[key]))
        except (KeyError, ValueError):
            continue
    return default
