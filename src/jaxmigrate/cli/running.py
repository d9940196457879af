"""What `jaxmigrate run` does with its options, once they are known to be well-formed."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from jaxmigrate.cli.printing import printing
from jaxmigrate.cli.progress import progress
from jaxmigrate.errors import SourceError, UsageError
from jaxmigrate.evidence.seen import Seen, together
from jaxmigrate.model import Confidence, Failure, FailureKind, FileResult, RunResult
from jaxmigrate.output.document import leftover_lines
from jaxmigrate.output.plain import write_utf8
from jaxmigrate.output.text import Mode, make_console, render
from jaxmigrate.runner import Request, run, run_on_text
from jaxmigrate.sources.discover import run_git
from jaxmigrate.sources.read import printable
from jaxmigrate.versions import admitted_by, parse_target

_STDIN = "-"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `jaxmigrate run`, as the command line gives them.

    `stdin` says that standard input is to be read; `paths` are then empty.
    """

    paths: tuple[Path, ...]
    stdin: bool
    write: bool
    patch: Path | None
    patch_dir: Path | None
    check: bool
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    confidence: Confidence
    evidence: tuple[Path, ...]
    target_jax: str | None
    with_helper: bool
    sentinel: str | None
    exclude: tuple[str, ...]
    jobs: int
    allow_dirty: bool
    verbosity: int
    color: bool | None
    json: bool
    stdin_filename: str | None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """The options in `given`, click's names for them as keys."""
        return cls(
            # `./-` is a file: only the word as it was written tells
            paths=tuple(Path(path) for path in given["paths"] or (".",) if path != _STDIN),
            stdin=_STDIN in given["paths"],
            write=given["write"],
            patch=given["patch"],
            patch_dir=given["patch_dir"],
            check=given["check"],
            select=_names(given["select"]),
            ignore=_names(given["ignore"]),
            confidence=Confidence[given["confidence"].upper()],
            evidence=tuple(given["evidence"]),
            target_jax=given["target_jax"],
            with_helper=given["style"] == "helper",
            sentinel=given["sentinel"],
            exclude=tuple(given["exclude"]),
            jobs=given["jobs"] or 0,
            allow_dirty=given["allow_dirty"],
            verbosity=int(given["verbose"]) - int(given["quiet"]),
            color=given["color"],
            json=given["format_"] == "json",
            stdin_filename=given["stdin_filename"],
        )


def execute(options: Options) -> int:
    """Do what the options say; gives the exit code. Raises UsageError."""
    _refuse_contradictions(options)
    if options.stdin:
        return _through_pipe(options)
    _refuse_places(options)
    request = _request(options, options.paths)
    with progress() as tell:
        result = run(request, tell)
    if options.write:
        result = _written(result, request.root, options)
    prefix = _prefix(request.root)
    _save_patches(result, options, prefix or "")
    with printing():
        _show(result, options, sys.stdout, prefix)
    return exit_code(result, check=options.check)


def _refuse_places(options: Options) -> None:
    """Refuse places where no patch can be saved, before anything is done."""
    from jaxmigrate.output.patch import why_not_there, why_not_under

    for place, why in ((options.patch, why_not_there), (options.patch_dir, why_not_under)):
        if place is not None and (words := why(place)):
            raise UsageError(f"{printable(str(place))}: the patch cannot be saved: {words}")


def _save_patches(result: RunResult, options: Options, prefix: str) -> None:
    from jaxmigrate.output.patch import write_patch, write_patch_dir

    for place, save in ((options.patch, write_patch), (options.patch_dir, write_patch_dir)):
        if place is None:
            continue
        try:
            save(result.files, place, prefix=prefix)
        except OSError as error:
            words = f"the patch cannot be saved: {error.strerror}"
            raise UsageError(f"{printable(str(place))}: {words}") from error


def exit_code(result: RunResult, *, check: bool) -> int:
    """The exit code of a run that came to `result`: the highest that applies."""
    kinds = {file.failure.kind for file in result.files if file.failure is not None}
    if FailureKind.CODEMOD in kinds:
        return 4
    if FailureKind.SOURCE in kinds:
        return 3
    left = result.leftover.unmatched or any(file.changed for file in result.files)
    return int(check and bool(left))


def _refuse_contradictions(options: Options) -> None:
    if options.check and options.write:
        raise UsageError("--check and --write contradict each other: --check never edits")
    if options.stdin:
        if options.paths:
            raise UsageError("'-' stands alone: it cannot be mixed with other paths")
        if options.write or options.patch or options.patch_dir:
            raise UsageError("'-' goes to standard output: leave out --write and --patch")
    elif options.stdin_filename is not None:
        raise UsageError("--stdin-filename goes with the path '-'")


def _request(options: Options, paths: tuple[Path, ...]) -> Request:
    root = Path.cwd()
    if options.target_jax is not None:
        target = parse_target(options.target_jax)
    else:
        target = admitted_by(_common_folder(paths, root)).version
    return Request(
        paths=paths,
        root=root,
        target=target,
        confidence=options.confidence,
        select=options.select,
        ignore=options.ignore,
        exclude=options.exclude,
        with_helper=options.with_helper,
        sentinel=options.sentinel,
        jobs=options.jobs,
        seen=_seen(options.evidence),
    )


def _seen(files: Iterable[Path]) -> Seen:
    """What the files given as evidence say; what is amiss with one is told."""
    from jaxmigrate.evidence.reading import read_evidence

    parts = []
    for file in files:
        part = read_evidence(file)
        if part.remark:
            print(f"warning: {printable(str(file))}: {part.remark}", file=sys.stderr)
        parts.append(part)
    return together(parts)


def _common_folder(paths: Iterable[Path], root: Path) -> Path:
    """The folder that all paths lie in, where the project's metadata is looked for first."""
    # Unlike Path.resolve, os.path.realpath minds no link that leads in a circle.
    absolute = [os.path.realpath(root / path) for path in paths]
    folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in absolute]  # noqa: PTH112, PTH120
    return Path(os.path.commonpath(folders))


def _written(result: RunResult, root: Path, options: Options) -> RunResult:
    """Write the changed files; those that could not be written come back as failed."""
    from jaxmigrate.sources.write import dirty_files

    changed = [file for file in result.files if file.changed]
    if not options.allow_dirty:
        unsaved = set(dirty_files([root / file.path for file in changed]))
        dirty = [file.path for file in changed if root / file.path in unsaved]
        if dirty:
            names = ", ".join(printable(path) for path in dirty[:3])
            more = f" and {len(dirty) - 3} more" if len(dirty) > 3 else ""
            raise UsageError(
                f"{names}{more}: uncommitted changes, nothing was written; "
                "commit them, or pass --allow-dirty"
            )
    return dataclasses.replace(result, files=tuple(_write_one(file, root) for file in result.files))


def _write_one(file: FileResult, root: Path) -> FileResult:
    from jaxmigrate.sources.write import write

    if not file.changed:
        return file
    try:
        write(root / file.path, file.before, file.after)
    except SourceError as error:
        return dataclasses.replace(file, failure=Failure(FailureKind.SOURCE, str(error)))
    return file


def _prefix(root: Path) -> str | None:
    """The folder from the top of the checkout that `root` is in down to it; None outside git."""
    answer = run_git(root, "rev-parse", "--show-prefix")
    return os.fsdecode(answer.stdout).rstrip("\n") if answer.returncode == 0 else None


def _show(result: RunResult, options: Options, stream: TextIO, prefix: str | None) -> None:
    if options.json:
        from jaxmigrate.output.report import to_json

        write_utf8(stream, to_json(result))
        return
    render(
        result,
        console=make_console(options.color, stream),
        mode=_mode(options),
        verbosity=options.verbosity,
        threshold=options.confidence,
        patch=str(options.patch or options.patch_dir or ""),
        prefix=prefix or "",
        in_git=prefix is not None,
    )


def _mode(options: Options) -> Mode:
    if options.write:
        return Mode.WRITTEN
    if options.patch is not None:
        return Mode.PATCHED
    if options.patch_dir is not None:
        return Mode.PATCHED_DIR
    return Mode.CHECK if options.check else Mode.DRY_RUN


def _through_pipe(options: Options) -> int:
    """Standard input to standard output; what is said about it goes to standard error."""
    name = options.stdin_filename or "stdin.py"
    request = _request(options, (Path(name),))
    result = run_on_text(sys.stdin.buffer.read(), name, request)
    with printing():
        if options.json:
            _show(result, options, sys.stdout, None)
        elif not options.check:
            for file in result.files:
                if file.failure is None:
                    sys.stdout.buffer.write(file.after)
    for file in () if options.json else result.files:
        if file.failure is not None:
            print(f"error: {printable(file.path)}: {file.failure.message}", file=sys.stderr)
    for line in () if options.json else leftover_lines(result.leftover):
        print(line, file=sys.stderr)
    return exit_code(result, check=options.check)


def _names(given: Iterable[str]) -> tuple[str, ...]:
    """Names that were given one by one, or several with commas between."""
    return tuple(name.strip() for part in given for name in part.split(",") if name.strip())
