"""Finds the JAX that the result must run on: what the user asks for, or what the project admits.

A project's metadata is read as text. Nothing is imported, run or looked up elsewhere.
"""

from __future__ import annotations

import ast
import codecs
import configparser
import enum
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jaxmigrate.errors import UsageError

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

NEWEST_KNOWN = "0.10.2"
"""The newest JAX whose names and behaviour are known here."""

OLDEST_KNOWN = "0.2.0"
"""The oldest JAX that code is migrated from."""

_PACKAGES = ("jax", "jaxlib")
_UNREADABLE = (OSError, ValueError, RecursionError, MemoryError, SyntaxError, configparser.Error)
_LOWER = (">=", ">", "==", "===", "~=")
_OPTIONAL_ARGUMENTS = ("extras_require", "tests_require")
_INCLUDE = re.compile(r"(?:-r|--requirement)[\s=]*(.+)")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_LINE_OPTIONS = re.compile(r"\s--\w.*")
_POETRY_CLAUSE = re.compile(r"(\^|~=?|={1,3}|>=?|<=?|!=)?\s*v?(\d[^\s,]*)")
_POETRY_OPERATORS = {"^": ">=", "~": ">=", "=": "==", "": "=="}


@dataclass(frozen=True, slots=True)
class TargetJax:
    """The lowest JAX that the result must run on, and in words where that is from."""

    version: Version
    source: str


class _Kind(enum.IntEnum):
    """How much a requirement says of what the code runs on; the lower value goes first."""

    RUNTIME = 0
    OPTIONAL = 1


@dataclass(frozen=True, slots=True)
class _Declared:
    """One requirement on a package; `lower` is None if any version of it will do."""

    package: str
    kind: _Kind
    lower: Version | None
    words: str
    file: Path


@dataclass(frozen=True, slots=True)
class _Metadata:
    """One metadata file, and how to turn what it says into declarations."""

    file: Path

    def pep508(self, texts: Iterable[str], kind: _Kind) -> Iterator[_Declared]:
        """What PEP 508 requirements declare; texts that are none of JAX's declare nothing."""
        for text in texts:
            requirement = _requirement(text)
            if requirement is not None:
                name = requirement.name.lower()
                yield self._declared(name, kind, requirement.specifier)

    def poetry(self, dependencies: object, kind: _Kind) -> Iterator[_Declared]:
        """What a table of Poetry's dependencies declares."""
        for name, value in _table(dependencies).items():
            if name.lower() in _PACKAGES:
                for part in value if isinstance(value, list) else [value]:
                    yield from self._poetry_part(name.lower(), part, kind)

    def _poetry_part(self, name: str, value: object, kind: _Kind) -> Iterator[_Declared]:
        if isinstance(value, dict):
            kind = _Kind.OPTIONAL if value.get("optional") is True else kind
            value = value.get("version", "*")
        if isinstance(value, str):
            for alternative in value.split("||"):
                specifiers = _poetry_specifiers(alternative)
                if specifiers is not None:
                    words = f"{name} {alternative.strip()}"
                    yield self._declared(name, kind, specifiers, words)

    def _declared(
        self, package: str, kind: _Kind, specifiers: SpecifierSet, words: str | None = None
    ) -> _Declared:
        lower, clause = _lowest_admitted(specifiers)
        return _Declared(package, kind, lower, words or f"{package}{clause}", self.file)


def parse_target(text: str) -> Version:
    """The version that `--target-jax` names.

    Raises UsageError if it is no version of a JAX release, or one from before 0.1.
    """
    version = _version(text.strip())
    if version is None or version != _release(version) or version < _parsed("0.1"):
        raise UsageError(
            f"--target-jax: {text!r} is not a JAX version; "
            f"give one such as 0.4.20, from {OLDEST_KNOWN} to {NEWEST_KNOWN}"
        )
    return version


def admitted_by(directory: Path) -> TargetJax:
    """The lowest JAX that the metadata of the project in `directory` admits.

    The nearest directory that declares JAX says it, from `directory` up to the top of its checkout.
    Runtime requirements go before extras and groups, and `jax` before `jaxlib`. Where no bound is
    given, it is the newest JAX known.
    """
    start = Path(os.path.realpath(directory))
    for place in _levels(start):
        declared = list(_declarations(place))
        if declared:
            return _target(declared, start)
    return _newest_known()


def _newest_known() -> TargetJax:
    return TargetJax(_parsed(NEWEST_KNOWN), "newest known")


def _levels(start: Path) -> Iterator[Path]:
    for place in (start, *start.parents):
        yield place
        if os.path.lexists(place / ".git"):
            return


def _target(declared: list[_Declared], start: Path) -> TargetJax:
    for package in _PACKAGES:
        for kind in _Kind:
            bounds = [
                (one.lower, one)
                for one in declared
                if one.lower is not None and (one.package, one.kind) == (package, kind)
            ]
            if bounds:
                lower, one = min(bounds, key=lambda bound: bound[0])
                file = Path(os.path.relpath(one.file, start)).as_posix()
                return TargetJax(lower, f"{one.words} in {file}")
    return _newest_known()


def _declarations(place: Path) -> Iterator[_Declared]:
    yield from _in_pyproject(_Metadata(place / "pyproject.toml"))
    yield from _in_setup_cfg(_Metadata(place / "setup.cfg"))
    yield from _in_setup_py(_Metadata(place / "setup.py"))
    yield from _in_requirement_files(place)


def _in_pyproject(metadata: _Metadata) -> Iterator[_Declared]:
    import tomllib

    text = _text_of(metadata.file)
    try:
        document = _table(tomllib.loads(text))
    except _UNREADABLE:
        return
    project = _table(document.get("project"))
    yield from metadata.pep508(_strings(project.get("dependencies")), _Kind.RUNTIME)
    for table in (project.get("optional-dependencies"), document.get("dependency-groups")):
        for group in _table(table).values():
            yield from metadata.pep508(_strings(group), _Kind.OPTIONAL)
    poetry = _table(_table(document.get("tool")).get("poetry"))
    yield from metadata.poetry(poetry.get("dependencies"), _Kind.RUNTIME)
    yield from metadata.poetry(poetry.get("dev-dependencies"), _Kind.OPTIONAL)
    for group in _table(poetry.get("group")).values():
        yield from metadata.poetry(_table(group).get("dependencies"), _Kind.OPTIONAL)


def _in_setup_cfg(metadata: _Metadata) -> Iterator[_Declared]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(_text_of(metadata.file))
    except _UNREADABLE:
        return
    lines = parser.get("options", "install_requires", fallback="").splitlines()
    yield from metadata.pep508(lines, _Kind.RUNTIME)
    if parser.has_section("options.extras_require"):
        for _, value in parser.items("options.extras_require"):
            yield from metadata.pep508(value.splitlines(), _Kind.OPTIONAL)


def _in_setup_py(metadata: _Metadata) -> Iterator[_Declared]:
    try:
        with warnings.catch_warnings(action="ignore"):  # of its escapes: not our user's business
            module = ast.parse(_text_of(metadata.file))
        found = list(_SetupStrings(module).all())
    except _UNREADABLE:
        return
    for text, kind in found:
        lines = [line for line in text.splitlines() if _has_specifier(line)]
        yield from metadata.pep508(lines, kind)


def _has_specifier(text: str) -> bool:
    # A `jax` alone may as well be a keyword or a word of the description.
    requirement = _requirement(text)
    return requirement is not None and len(requirement.specifier) > 0


class _SetupStrings:
    """The strings of a setup.py, those put together from constants of the module too."""

    def __init__(self, module: ast.Module) -> None:
        self._module = module
        self._constants = {
            target.id: node.value
            for node in module.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self._optional = {id(node) for node in self._optional_nodes()}

    def all(self) -> Iterator[tuple[str, _Kind]]:
        """Every string, as long as it can be put together, and its kind if it is a requirement."""
        pending: list[ast.AST] = [self._module]
        while pending:
            node = pending.pop()
            text = self._text(node) if isinstance(node, ast.expr) else None
            if text is None:
                pending.extend(ast.iter_child_nodes(node))
            else:
                yield text, _Kind.OPTIONAL if id(node) in self._optional else _Kind.RUNTIME

    def _optional_nodes(self) -> Iterator[ast.AST]:
        for node in ast.walk(self._module):
            if isinstance(node, ast.keyword) and node.arg in _OPTIONAL_ARGUMENTS:
                for inner in ast.walk(node.value):
                    yield inner
                    if isinstance(inner, ast.Name) and inner.id in self._constants:
                        yield from ast.walk(self._constants[inner.id])

    def _text(self, node: ast.expr, depth: int = 0) -> str | None:
        """The string that an expression comes to, as far as that stands in the module."""
        if depth > 20:  # names that are defined by each other
            return None
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name) if name in self._constants:
                return self._text(self._constants[name], depth + 1)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._joined([left, right], depth)
            case ast.JoinedStr(values=parts):
                return self._joined(parts, depth)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self._text(value, depth + 1)
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return self._filled(left, "%s", [right], depth)
            case ast.Call(func=ast.Attribute(value=left, attr="format"), args=args, keywords=[]):
                return self._filled(left, "{}", args, depth)
        return None

    def _joined(self, parts: list[ast.expr], depth: int) -> str | None:
        texts = [self._text(part, depth + 1) for part in parts]
        known = [text for text in texts if text is not None]
        return "".join(known) if len(known) == len(texts) else None

    def _filled(
        self, template: ast.expr, hole: str, values: list[ast.expr], depth: int
    ) -> str | None:
        text = self._text(template, depth + 1)
        fillings = [self._text(value, depth + 1) for value in values]
        if text is None or text.count(hole) != len(fillings):
            return None
        for filling in fillings:
            if filling is None:
                return None
            text = text.replace(hole, filling, 1)
        return text


def _in_requirement_files(place: Path) -> Iterator[_Declared]:
    files = [
        *_text_files(place, "requirements"),
        *_text_files(place / "requirements", ""),
    ]
    # What a requirements.txt includes is as much needed as what it says itself: it goes first.
    files.sort(key=lambda file: file.name != "requirements.txt")
    seen: set[Path] = set()
    for file in files:
        kind = _Kind.RUNTIME if file.name == "requirements.txt" else _Kind.OPTIONAL
        yield from _in_requirements(file, kind, place, seen)


def _text_files(place: Path, beginning: str) -> list[Path]:
    try:
        found = sorted(place.iterdir())
    except OSError:
        return []
    return [file for file in found if file.name.startswith(beginning) and file.suffix == ".txt"]


def _in_requirements(file: Path, kind: _Kind, place: Path, seen: set[Path]) -> Iterator[_Declared]:
    pending = [file]
    while pending:
        current = pending.pop()
        real = Path(os.path.realpath(current))
        if real in seen or not real.is_relative_to(place):
            continue
        seen.add(real)
        text = re.sub(r"\\\r?\n", " ", _text_of(real))
        lines = [_COMMENT.sub("", line).strip() for line in text.splitlines()]
        requirements = [_LINE_OPTIONS.sub("", line) for line in lines]
        yield from _Metadata(current).pep508(requirements, kind)
        includes = [match[1].strip() for line in lines if (match := _INCLUDE.match(line))]
        pending.extend(current.parent / name for name in includes)


def _text_of(file: Path) -> str:
    """What a metadata file holds; nothing if it is no file or cannot be read."""
    try:
        data = file.read_bytes() if file.is_file() else b""
    except _UNREADABLE:
        return ""
    # PowerShell's `pip freeze > requirements.txt` writes UTF-16.
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = data.decode("utf-16" if wide else "utf-8-sig", "replace")
    return text.replace("\0", "\ufffd")  # no path may hold one, and lines here name paths


def _requirement(text: str) -> Requirement | None:
    """The requirement that `text` is, if it is one on JAX."""
    if "jax" not in text.lower():
        return None
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(text.strip())
    except InvalidRequirement:
        return None
    return requirement if requirement.name.lower() in _PACKAGES else None


def _poetry_specifiers(constraint: str) -> SpecifierSet | None:
    """Poetry's constraint in PEP 440's words, lower bounds kept; None if it is none."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    clauses = _POETRY_CLAUSE.findall(constraint)
    try:
        return SpecifierSet(",".join(_POETRY_OPERATORS.get(op, op) + v for op, v in clauses))
    except InvalidSpecifier:
        return None


def _lowest_admitted(specifiers: SpecifierSet) -> tuple[Version | None, str]:
    """The lowest version that is admitted and the clause that says so; None and "" for any."""
    bounds = []
    for one in specifiers:
        bound = _version(one.version.removesuffix(".*")) if one.operator in _LOWER else None
        if bound is not None:
            bounds.append((_release(bound), str(one)))
    if bounds:
        return max(bounds, key=lambda bound: bound[0])
    caps = [str(one) for one in specifiers if one.operator.startswith("<")]
    if caps and not specifiers.contains(NEWEST_KNOWN):
        # The newest known is not admitted, and how far down it may go is not said.
        return _parsed(OLDEST_KNOWN), min(caps)
    return None, ""


def _release(version: Version) -> Version:
    """The version without what marks a pre-release or a local build."""
    return _parsed(".".join(str(part) for part in version.release))


def _version(text: str) -> Version | None:
    try:
        return _parsed(text)
    except ValueError:  # InvalidVersion, or a number with thousands of digits
        return None


def _parsed(text: str) -> Version:
    from packaging.version import Version

    return Version(text)


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> list[str]:
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []
