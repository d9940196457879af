"""Measures processes: CPU of a command with all its children, wall time, medians over alternating runs."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

ACCEPTED_EXIT_CODES: Final = (0, 3)
"""3: some file could not be read, which real packages may hold."""

TOOL: Final = (sys.executable, "-c", "from jaxmigrate.cli import main; main()")
"""What the installed command `jaxmigrate` runs."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command and the folder that it runs in."""

    arguments: tuple[str, ...]
    folder: Path

    def run(self) -> None:
        """Run it to its end. Raises CalledProcessError if it fails."""
        done = subprocess.run(
            self.arguments,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if done.returncode not in ACCEPTED_EXIT_CODES:
            raise subprocess.CalledProcessError(done.returncode, self.arguments, stderr=done.stderr)


def dry_run(folder: Path, *options: str) -> Command:
    """A dry run of the tool over everything in a folder."""
    return Command((*TOOL, "run", *options), folder)


def cpu(command: Command) -> float:
    """User and system seconds of a command and all processes that it waits for."""
    before = _children()
    command.run()
    return _children() - before


def wall(command: Command) -> float:
    """Seconds that a command takes by the clock."""
    before = time.perf_counter()
    command.run()
    return time.perf_counter() - before


def medians(
    commands: Mapping[str, Command], times: int, how: Callable[[Command], float] = cpu
) -> dict[str, float]:
    """The median of each command over so many rounds; each round runs all of them, one by one."""
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():
        command.run()  # so that bytecode and the file cache are there for all
    for _ in range(times):
        for name, command in commands.items():
            taken[name].append(how(command))
    return {name: median(seconds) for name, seconds in taken.items()}


def least_squares(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """What a line through the points says: seconds for nothing, and seconds for each unit more."""
    middle, level = sum(sizes) / len(sizes), sum(seconds) / len(seconds)
    spread = sum((size - middle) ** 2 for size in sizes)
    points = zip(sizes, seconds, strict=True)
    slope = sum((size - middle) * (second - level) for size, second in points) / spread
    return level - slope * middle, slope


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
