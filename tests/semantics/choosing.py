"""One way to choose, for generators that hypothesis may drive or a plain seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Chooser(Protocol):
    """A source of integers; everything else a generator asks for follows from it."""

    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""


class SeededChooser:
    """Chooses by a seed, for long runs and runs that must repeat."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


class DrawChooser:
    """Chooses by hypothesis, which can then shrink."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        value: int = self._draw(st.integers(low, high))
        return value


def pick(chooser: Chooser, options: Sequence[T]) -> T:
    """One of `options`, all alike; hypothesis shrinks towards the first."""
    return options[chooser.integer(0, len(options) - 1)]


def chance(chooser: Chooser, percent: int) -> bool:
    """True in `percent` of a hundred cases; hypothesis shrinks towards False."""
    return chooser.integer(0, 99) >= 100 - percent


def weighted(chooser: Chooser, options: Sequence[tuple[T, int]]) -> T:
    """One of `options` by weight; hypothesis shrinks towards the first."""
    number = chooser.integer(0, sum(weight for _, weight in options) - 1)
    for option, weight in options:
        number -= weight
        if number < 0:
            return option
    raise AssertionError("weights must be positive")


def shuffled(chooser: Chooser, options: Sequence[T]) -> list[T]:
    """`options` in some order."""
    left = list(options)
    return [left.pop(chooser.integer(0, len(left) - 1)) for _ in options]
