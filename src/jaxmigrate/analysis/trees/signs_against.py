"""Signs that a tree which may be None as a whole is not None where it is mapped.

Each is a rule with a name; the surer finding, that both trees hold the same Nones, is made in `meetings`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from jaxmigrate.analysis.trees.interpreter import Sighting
from jaxmigrate.analysis.trees.meetings import Meeting, Outcome
from jaxmigrate.analysis.trees.reach import always_with
from jaxmigrate.analysis.trees.values import Is

SignAgainst: TypeAlias = Callable[[Sighting, Sequence[Sighting]], bool]
"""Looks at a sighting, whose first tree may be None, and at all those of the same run."""


def weakened(sighting: Sighting, found: Meeting, sightings: Sequence[Sighting]) -> Meeting:
    """The meeting `found` in `sighting`: nothing is known of it where a sign speaks against a None."""
    if found.outcome is not Outcome.MAY_MEET or sighting.trees[0].none is not Is.MAYBE:
        return found
    against = any(sign(sighting, sightings) for sign in _SIGNS)
    return Meeting(Outcome.UNKNOWN) if against else found


def mapped_as_later_tree(sighting: Sighting, sightings: Sequence[Sighting]) -> bool:
    """It is mapped as a later tree too, where a None fails on every JAX.

    Unless the first tree is None there as well; a program that comes by both maps has no None here.
    """
    shape = sighting.trees[0].shape
    return shape is not None and any(
        other is not sighting
        and other.trees[0].none is not Is.YES
        and always_with(other.conditions, sighting.conditions)
        and any(tree.none is Is.MAYBE and tree.shape == shape for tree in other.trees[1:])
        for other in sightings
    )


_SIGNS: Final[tuple[SignAgainst, ...]] = (mapped_as_later_tree,)
