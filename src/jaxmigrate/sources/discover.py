"""Finds the files to migrate under the paths that a user names, and never reads one."""

from __future__ import annotations

import functools
import os
import re
import stat
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jaxmigrate.errors import UsageError
from jaxmigrate.sources.read import in_words, printable, why_not_a_file

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SUFFIXES: tuple[str, ...] = (".py",)
"""How the names of the files end that are looked for in directories."""

IGNORE_FILES = (".gitignore", ".ignore")
"""The files that say what a walk leaves out; of two in one directory, the later one prevails."""

SKIPPED_DIRECTORIES = frozenset(
    (
        *(".git", ".hg", ".svn"),
        *(".tox", ".nox", ".venv", ".eggs", "node_modules"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", "__pycache__"),
        *("build", "dist", "_build"),
    )
)
"""Directories that a walk never goes into: they hold no source, or copies of it."""

_ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")
_GITLINK = b"160000"
_UNREADABLE = re.compile(rb"^warning: could not open directory '(.*)/': (.*)$", re.MULTILINE)
# A git hook sets these for its own repository, and they would send every git to that one.
_GIT_OWN_VARIABLES = frozenset(
    (
        *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_PREFIX"),
        *("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
        *("GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"),
    )
)


@dataclass(frozen=True, slots=True, order=True)
class FoundFile:
    """A file to migrate.

    `path` is the path to name it by: with `/`, relative to the run's root or absolute outside it,
    bytes that are not UTF-8 as surrogate escapes. `real_path` is where the file lies, symbolic links
    resolved.
    """

    path: str
    real_path: Path


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found, in order of path; a problem is a path to show and why it was left out."""

    files: tuple[FoundFile, ...]
    problems: tuple[tuple[str, str], ...]


def discover(paths: Sequence[Path], exclude: Sequence[str], root: Path) -> Discovery:
    """The files under `paths`, each once.

    A file that is named is always taken. A directory gives what git tracks or would track, and
    outside git what a walk finds that minds ignore files. `exclude` are patterns as in
    `.gitignore`, relative to `root`, as are relative `paths`. Raises UsageError for a bad pattern.
    """
    search = _Search(paths, _exclusions(exclude), root)
    for path in paths:
        search.given(_settled(search.root / path))
    return search.result()


def run_git(directory: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """What git answers in `directory`, in English, taking no locks and running no hooks.

    The exit code is the caller's to look at. Where git cannot be started it is 127, as a shell would
    have it, with the reason in `stderr`.
    """
    command = ["git", "-C", os.fspath(directory), "-c", "core.fsmonitor=false", *arguments]
    environment = {k: v for k, v in os.environ.items() if k not in _GIT_OWN_VARIABLES}
    try:
        return subprocess.run(
            command,
            env={**environment, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        words = f"git: {in_words(error, Path())}"
        return subprocess.CompletedProcess(command, 127, b"", words.encode())


def top_of_checkout(directory: Path) -> Path | None:
    """The top of the git checkout that a directory lies in; None outside git."""
    answer = run_git(directory, "rev-parse", "--show-toplevel")
    found = os.fsdecode(answer.stdout).rstrip("\n") if answer.returncode == 0 else ""
    return Path(found) if found else None


@dataclass(frozen=True, slots=True)
class _GitListing:
    """What git knows below a directory, relative to it; `nested` are checkouts of their own."""

    tracked: tuple[str, ...]
    untracked: tuple[str, ...]
    nested: tuple[str, ...]
    unreadable: tuple[tuple[Path, str], ...]


@dataclass(frozen=True, slots=True)
class _Ignores:
    """The patterns of one directory, for the absolute paths (with `/`) that begin with `base`."""

    base: str
    spec: GitIgnoreSpec


class _Search:
    """Gathers files and problems over all paths that were given."""

    def __init__(self, paths: Sequence[Path], exclusions: GitIgnoreSpec | None, root: Path) -> None:
        self.root = _normal(root.absolute())
        self._real_root = _real(self.root)
        self._exclusions = exclusions
        given = [_settled(self.root / path) for path in paths]
        self._tops = [path for path in given if _is_directory(path)]
        self._real_tops = [_real(top) for top in self._tops]
        self._best: dict[Path, tuple[bool, FoundFile]] = {}
        self._problems: set[tuple[str, str]] = set()
        self._shown_directory = functools.cache(self._show_directory)
        self._real_directory = functools.cache(_real)
        self._is_environment = functools.cache(_is_environment)

    def result(self) -> Discovery:
        """All that was gathered so far, in order."""
        files = sorted(found for _, found in self._best.values())
        return Discovery(tuple(files), tuple(sorted(self._problems)))

    def given(self, path: Path) -> None:
        """Take a path that was named: a file as it is, a directory with what is in it."""
        try:
            mode = path.stat().st_mode
        except OSError as error:
            self._problem(path, in_words(error, path))
            return
        irregular = why_not_a_file(mode)
        if stat.S_ISDIR(mode):
            self._directory(path)
        elif irregular:
            self._problem(path, irregular)
        else:
            self._take(path)

    def _directory(self, directory: Path) -> None:
        listing = _listed_by_git(directory)
        if listing is None:
            self._walk(directory)
            return
        for path, words in listing.unreadable:
            if not self._excluded(path, directory=True):
                self._problem(path, words)
        for name in listing.tracked:
            self._candidate(directory / name)
        for name in listing.untracked:
            if not self._in_environment((directory / name).parent, directory):
                self._candidate(directory / name)
        for name in listing.nested:
            self._nested(directory / name, directory)

    def _nested(self, checkout: Path, top: Path) -> None:
        # A submodule not checked out has no .git, and git would answer for the one around it.
        if _exists(checkout / ".git") and not (
            self._in_environment(checkout, top) or self._excluded(checkout, directory=True)
        ):
            self._directory(checkout)

    def _walk(self, top: Path) -> None:
        pending = [(top, _ignores_above(top, self.root))]
        while pending:
            directory, ignores = pending.pop()
            try:
                entries = list(os.scandir(directory))
            except OSError as error:
                self._problem(directory, in_words(error, directory))
                continue
            names = {entry.name for entry in entries}
            if directory != top and not names.isdisjoint(_ENVIRONMENT_MARKS):
                continue
            if directory != top and ".git" in names:
                self._directory(directory)
                continue
            ignores = (*ignores, *_ignores_in(directory, names))
            for entry in entries:
                path = directory / entry.name
                if entry.is_dir(follow_symlinks=False):
                    if self._enters(path, ignores):
                        pending.append((path, ignores))
                elif _wanted(path) and not _ignored(path, ignores):
                    self._candidate(path)

    def _enters(self, directory: Path, ignores: tuple[_Ignores, ...]) -> bool:
        return not (
            _is_skipped(directory)
            or _ignored(directory, ignores, directory=True)
            or self._excluded(directory, directory=True)
        )

    def _candidate(self, path: Path) -> None:
        """Take a file that was come across, if it is one that is looked for."""
        if not _wanted(path) or self._excluded(path):
            return
        try:
            is_link = stat.S_ISLNK(path.lstat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return  # deleted, though git still tracks it
        except OSError as error:
            self._problem(path, in_words(error, path))
            return
        self._existing(path, is_link)

    def _existing(self, path: Path, is_link: bool) -> None:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            self._problem(path, in_words(error, path))
            return
        if stat.S_ISDIR(mode):
            return  # a link to a directory, or a submodule: not a file
        irregular = why_not_a_file(mode)
        if irregular:
            self._problem(path, irregular)
        elif is_link and not self._is_within_given(_real(path)):
            target = printable(str(path.readlink()))
            self._problem(
                path, f"a link to {target}, outside the directories given; name it to take it"
            )
        else:
            self._take(path)

    def _is_within_given(self, real_path: Path) -> bool:
        return any(real_path.is_relative_to(top) for top in self._real_tops)

    def _take(self, path: Path) -> None:
        is_link = path.is_symlink()
        real_path = _real(path) if is_link else self._real_directory(path.parent) / path.name
        # Of several ways to one file, show the one that goes through no link.
        rank = (real_path != path, FoundFile(self._shown(path), real_path))
        known = self._best.get(real_path)
        if known is None or rank < known:
            self._best[real_path] = rank

    def _problem(self, path: Path, words: str) -> None:
        self._problems.add((self._shown(path), words))

    def _excluded(self, path: Path, directory: bool = False) -> bool:
        if self._exclusions is None:
            return False
        shown = self._shown(path)
        if Path(shown).is_absolute():  # outside the root: relative to the directory that was given
            top = next(top for top in self._tops if path.is_relative_to(top))
            shown = path.relative_to(top).as_posix()
        return self._exclusions.match_file(shown + "/" if directory else shown)

    def _in_environment(self, directory: Path, top: Path) -> bool:
        """Whether `directory` is in a virtual environment, or is one, that lies below `top`."""
        if directory == top:
            return False
        return self._is_environment(directory) or self._in_environment(directory.parent, top)

    def _shown(self, path: Path) -> str:
        directory = self._shown_directory(path.parent)
        if not path.name:
            return directory
        return path.name if directory == "." else f"{directory.rstrip('/')}/{path.name}"

    def _show_directory(self, directory: Path) -> str:
        if directory.is_relative_to(self.root):
            return directory.relative_to(self.root).as_posix()
        real = _real(directory)
        if real.is_relative_to(self._real_root):
            return real.relative_to(self._real_root).as_posix()
        return directory.as_posix()


def _exclusions(patterns: Sequence[str]) -> GitIgnoreSpec | None:
    from pathspec import GitIgnoreSpec

    for pattern in patterns:
        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError:
            raise UsageError(
                f"--exclude: {pattern!r} is not a pattern; "
                "give one as in .gitignore, such as docs/ or *_pb2.py"
            ) from None
    return GitIgnoreSpec.from_lines(patterns) if patterns else None


def _listed_by_git(directory: Path) -> _GitListing | None:
    """What git lists below `directory`; None where it cannot say, or ignores the directory."""
    others = ("ls-files", "-z", "--others", "--exclude-standard")
    tracked = run_git(directory, "ls-files", "-z", "--cached", "--stage")
    if tracked.returncode != 0:
        return None
    untracked = run_git(directory, *others)
    if untracked.returncode != 0:
        return None
    if not (tracked.stdout or untracked.stdout) and _is_ignored_by_git(directory):
        return None  # a user who names an ignored directory means it
    unreadable = _unreadable(directory, untracked.stderr)
    entries = [_entry(line) for line in _split(tracked.stdout)]
    new = [os.fsdecode(name) for name in _split(untracked.stdout)]
    return _GitListing(
        tracked=tuple(dict.fromkeys(name for mode, name in entries if mode != _GITLINK)),
        untracked=tuple(name for name in new if not name.endswith("/")),
        nested=(
            *(name for mode, name in entries if mode == _GITLINK),
            *(name for name in new if name.endswith("/")),
        ),
        unreadable=unreadable,
    )


def _is_ignored_by_git(directory: Path) -> bool:
    return run_git(directory, "check-ignore", "-q", ".").returncode == 0


def _split(output: bytes) -> list[bytes]:
    return [part for part in output.split(b"\0") if part]


def _entry(line: bytes) -> tuple[bytes, str]:
    """The mode and the path in a line of `git ls-files --stage`."""
    facts, _, name = line.partition(b"\t")
    return facts.split(b" ", 1)[0], os.fsdecode(name)


def _unreadable(directory: Path, complaints: bytes) -> tuple[tuple[Path, str], ...]:
    """The directories that git could not open, and why; it names them from the checkout's top."""
    found = _UNREADABLE.findall(complaints)
    if not found:
        return ()
    up = os.fsdecode(run_git(directory, "rev-parse", "--show-cdup").stdout.rstrip(b"\n"))
    real = _real(directory)
    return tuple(
        (directory / os.path.relpath(real / up / os.fsdecode(name), real), words.decode().lower())
        for name, words in found
    )


def _ignores_above(directory: Path, root: Path) -> tuple[_Ignores, ...]:
    """The patterns that hold in `directory` from further up: the checkout's, else the root's.

    None at all if they leave out the directory itself: a user who names it means it.
    """
    above: list[Path] = []
    place = directory
    while not _exists(place / ".git") and place != place.parent:
        place = place.parent
        above.append(place)
    if not _exists(place / ".git"):
        above = [p for p in above if p.is_relative_to(root)]
    ignores = tuple(part for p in reversed(above) for part in _ignores_in(p, set(IGNORE_FILES)))
    return () if _ignored(directory, ignores, directory=True) else ignores


def _ignores_in(directory: Path, names: set[str]) -> Iterator[_Ignores]:
    lines: list[str] = []
    for name in IGNORE_FILES:
        if name in names:
            lines += _lines_of(directory / name)
    if lines:
        base = directory.as_posix().rstrip("/") + "/"
        yield _Ignores(base, _spec_of(lines))


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig", "surrogateescape").split("\n") if path.is_file() else []
    except OSError:
        return []  # as git: what cannot be read ignores nothing


def _spec_of(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line))


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _ignored(path: Path, ignores: tuple[_Ignores, ...], directory: bool = False) -> bool:
    """Whether the patterns leave a path out; the deepest directory that says anything holds."""
    full = path.as_posix() + ("/" if directory else "")
    for place in reversed(ignores):
        verdict = place.spec.check_file(full[len(place.base) :]).include
        if verdict is not None:
            return verdict
    return False


def _wanted(path: Path) -> bool:
    return path.name.endswith(SUFFIXES)


def _is_skipped(directory: Path) -> bool:
    name = directory.name
    if name == "site-packages":
        return any(_is_environment(parent) for parent in directory.parents)
    return name in SKIPPED_DIRECTORIES or name.endswith(".egg-info")


def _is_environment(directory: Path) -> bool:
    return any(_exists(directory / mark) for mark in _ENVIRONMENT_MARKS)


def _exists(path: Path) -> bool:
    """Like Path.exists, which raises for a path that may not be looked at."""
    try:
        path.stat()
    except OSError:
        return False
    return True


def _is_directory(path: Path) -> bool:
    return _exists(path) and path.is_dir()


def _settled(path: Path) -> Path:
    """The absolute path without `..`, by the way that the user wrote where that leads there."""
    normal = _normal(path)
    real = _real(path)
    return normal if _real(normal) == real else real  # `link/..` is not where it seems to be


def _normal(path: Path) -> Path:
    """The path without `.` and `..`, links left as they are."""
    return Path(os.path.normpath(path))


def _real(path: Path) -> Path:
    """Where the path leads, all links resolved; unlike Path.resolve it minds no circle."""
    return Path(os.path.realpath(path))
