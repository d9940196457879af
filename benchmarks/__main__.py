"""The figures that README quotes, in one run: `python -m benchmarks` from the top of the checkout.

Every figure is a median, and a ratio to something that is measured beside it. Give letters to take only
some of them: `python -m benchmarks a b`.
"""

from __future__ import annotations

import os
import platform
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from benchmarks import baseline
from benchmarks.measure import Command, dry_run, least_squares, medians, wall
from benchmarks.packages import Package
from benchmarks.projects import bytes_with_trees, copies, python_files, together
from jaxmigrate.evidence.tracing import recorder_folder

OPTAX: Final = Package("optax", "0.2.2")
FLAX: Final = Package("flax", "0.8.4")
MOST_FOR_A_RUN: Final = 4.0
MOST_FOR_START_UP: Final = 1.5
MOST_FOR_A_TRACE: Final = 1.1
_BYTECODE: Final = ("env", "-u", "PYTHONDONTWRITEBYTECODE")
RUNS: Final = 5
START_UPS: Final = 15
GROWTH: Final = (1, 4, 16)
CROSSOVER: Final = (1, 2, 4, 8)

Lines = Iterator[str]


def dry_run_beside_parsing(place: Path) -> Lines:
    """a. CPU of a dry run beside reading all files and parsing those that mention a tree."""
    folder = together(place, OPTAX, FLAX)
    parsing = Command((sys.executable, str(Path(baseline.__file__)), "."), folder)
    commands = {"dry run": dry_run(folder), "possible": _possible(folder), "parsing": parsing}
    seconds = medians(commands, RUNS)
    files = f"{OPTAX} and {FLAX}, {len(python_files(folder))} files"
    yield f"{files}; CPU with all processes, median of {RUNS}"
    yield _row("jaxmigrate run", seconds["dry run"])
    yield _row("jaxmigrate run --confidence possible", seconds["possible"])
    yield _row("python benchmarks/baseline.py", seconds["parsing"])
    yield _ratio("jaxmigrate run", seconds["dry run"] / seconds["parsing"], MOST_FOR_A_RUN)
    yield _ratio("with --confidence possible", seconds["possible"] / seconds["parsing"])


def start_up_beside_click(place: Path) -> Lines:
    """b. CPU of `jaxmigrate --version` beside importing click."""
    version = Command((*dry_run(place).arguments[:3], "--version"), place)
    click = Command((sys.executable, "-c", "import click"), place)
    seconds = medians({"version": version, "click": click}, START_UPS)
    yield f"CPU, median of {START_UPS}"
    yield _row("jaxmigrate --version", seconds["version"])
    yield _row("python -c 'import click'", seconds["click"])
    yield _ratio("start-up", seconds["version"] / seconds["click"], MOST_FOR_START_UP)


def growth(place: Path) -> Lines:
    """c. CPU for each file as a project grows."""
    folders = {number: copies(place / str(number), OPTAX, number) for number in GROWTH}
    files = {number: len(python_files(folder)) for number, folder in folders.items()}
    commands = {str(number): dry_run(folder, "-j", "1") for number, folder in folders.items()}
    seconds = {int(number): value for number, value in medians(commands, 3).items()}
    fixed, each = least_squares([*files.values()], [seconds[number] for number in files])
    yield f"copies of {OPTAX}, each a package of its own; jaxmigrate run -j 1; CPU, median of 3"
    for number in GROWTH:
        per_file = 1000 * seconds[number] / files[number]
        yield _row(
            f"{number} x, {files[number]} files", seconds[number], f"{per_file:.1f} ms a file"
        )
    yield f"  start {fixed:.2f} s, then {1000 * each:.1f} ms a file"
    first, last = GROWTH[0], GROWTH[-1]
    marginal = (seconds[last] - seconds[first]) / (files[last] - files[first])
    early = (seconds[GROWTH[1]] - seconds[first]) / (files[GROWTH[1]] - files[first])
    yield _ratio(f"a further file, up to {last} x to up to {GROWTH[1]} x", marginal / early)


def where_workers_pay(place: Path) -> Lines:
    """d. Wall time in one process beside one process a core, as a project grows."""
    jobs = os.cpu_count() or 1
    yield f"copies of {FLAX}; jaxmigrate run -j 1 and -j {jobs}; wall, median of 3"
    pays: list[int] = []
    for number in CROSSOVER:
        folder = copies(place / str(number), FLAX, number)
        commands = {"one": dry_run(folder, "-j", "1"), "all": dry_run(folder, "-j", str(jobs))}
        seconds = medians(commands, 3, wall)
        size = bytes_with_trees(folder)
        share = seconds["all"] / seconds["one"]
        pays += [size] if share < 1 else []
        label = f"{number} x, {size / 1e6:.1f} MB that mention a tree"
        yield f"  {label:<44} {seconds['one']:8.2f} s {seconds['all']:8.2f} s   ratio {share:.2f}"
    first = f"from {pays[0] / 1e6:.1f} MB" if pays else "at none of these sizes"
    yield f"  workers pay {first} (IN_PROCESS_BELOW in jaxmigrate/runner.py)"


def traced_beside_not(place: Path) -> Lines:
    """e. CPU of a process under `jaxmigrate trace` that meets no None beside the same without it."""
    programs = {
        "python -c pass": "pass",
        "python -c 'import jax'": "import jax",
        "100,000 maps over two trees of 4 leaves": _maps(2, 100_000),
        "2,000 maps over two trees of 1,000 leaves": _maps(500, 2_000),
    }
    yield f"CPU, median of {START_UPS}; a map has a callback that does nothing"
    with recorder_folder(strict=False) as folder:
        for label, source in programs.items():
            python = (sys.executable, "-c", source)
            commands = {
                # the same number of words on both sides; bytecode is kept, as it is by default
                "without": Command((*_BYTECODE, "PYTHONPATH=", *python), place),
                "with": Command((*_BYTECODE, f"PYTHONPATH={folder}", *python), place),
            }
            seconds = medians(commands, START_UPS)
            yield _row(label, seconds["without"])
            yield _row("  traced", seconds["with"])
            yield _ratio(f"  {label}", seconds["with"] / seconds["without"], MOST_FOR_A_TRACE)


def _maps(entries: int, times: int) -> str:
    tree = f"{{str(n): {{'w': n, 'b': 1}} for n in range({entries})}}"
    return (
        f"from jax.tree_util import tree_map\ntree = {tree}\n"
        f"for _ in range({times}):\n    tree_map(lambda a, b: a, tree, tree)\n"
    )


FIGURES: Final[Mapping[str, Callable[[Path], Lines]]] = MappingProxyType(
    {
        "a": dry_run_beside_parsing,
        "b": start_up_beside_click,
        "c": growth,
        "d": where_workers_pay,
        "e": traced_beside_not,
    }
)


def main(letters: Iterable[str]) -> int:
    """Print the figures; gives 1 if a ratio is over its bound."""
    chosen = [*letters] or [*FIGURES]
    unknown = [letter for letter in chosen if letter not in FIGURES]
    if unknown:
        print(f"no figure is called {unknown[0]}; there are {', '.join(FIGURES)}", file=sys.stderr)
        return 2
    print(f"$ {shlex.join(['python', '-m', 'benchmarks', *letters])}")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}")
    over = False
    for letter in chosen:
        figure = FIGURES[letter]
        print(f"\n{(figure.__doc__ or '').strip()}", flush=True)
        with tempfile.TemporaryDirectory(prefix="jaxmigrate-") as place:
            for line in figure(Path(place)):
                over = over or line.endswith(_OVER)
                print(line, flush=True)
    return int(over)


_OVER: Final = "OVER"


def _possible(folder: Path) -> Command:
    return dry_run(folder, "--confidence", "possible")


def _row(label: str, seconds: float, note: str = "") -> str:
    return f"  {label:<44} {seconds:8.3f} s   {note}".rstrip()


def _ratio(label: str, ratio: float, most: float | None = None) -> str:
    bound = "" if most is None else f"   at most {most:g}: {'ok' if ratio <= most else _OVER}"
    return f"  {label + ', ratio':<44} {ratio:8.2f}{bound}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
