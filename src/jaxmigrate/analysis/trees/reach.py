"""What it hangs on that a place is reached: the branches, loops and early returns passed before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that must have come out a certain way: the statement or expression, and how.

    `by_setting` says that it hangs on what does not change while a program runs, as an attribute
    that only the constructor stores.
    """

    node: ast.AST
    outcome: object = None
    by_setting: bool = False


Conditions: TypeAlias = tuple[Condition, ...]
"""All that a place hangs on, outermost first."""


class Reach:
    """The conditions under which the interpreter's present place is reached."""

    def __init__(self) -> None:
        self._passed: list[Condition] = []

    @property
    def conditions(self) -> Conditions:
        """Those of the present place."""
        return tuple(self._passed)

    @property
    def by_setting(self) -> bool:
        """Whether one of them is a setting."""
        return any(condition.by_setting for condition in self._passed)

    @contextmanager
    def under(self, *conditions: Condition) -> Iterator[None]:
        """Add conditions for what is run inside; those that came up inside end with it."""
        before = len(self._passed)
        self._passed.extend(conditions)
        try:
            yield
        finally:
            del self._passed[before:]

    def from_here(self, condition: Condition) -> None:
        """Add a condition for all that follows in the function: it may have been left before."""
        self._passed.append(condition)


def always_with(here: Conditions, there: Conditions) -> bool:
    """Whether whoever comes by `there` also comes by `here`, in the same run of a function."""
    return there[: len(here)] == here
