"""A sign that a tree which may be None as a whole is not None where it is mapped.

Others that a single meeting shows, and the surer finding that both trees hold the same Nones, are made in
`meetings`.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxmigrate.analysis.trees.interpreter import Sighting
from jaxmigrate.analysis.trees.meetings import Meeting, Outcome, unlikely
from jaxmigrate.analysis.trees.reach import always_with
from jaxmigrate.analysis.trees.values import Is


def weakened(sighting: Sighting, found: Meeting, sightings: Sequence[Sighting]) -> Meeting:
    """The meeting `found` in `sighting`, in the light of all those of the same run."""
    optional = found.outcome is Outcome.MAY_MEET and sighting.trees[0].none is Is.MAYBE
    if optional and mapped_as_later_tree(sighting, sightings):
        return unlikely("it is a later tree elsewhere, where None fails on every JAX")
    return found


def mapped_as_later_tree(sighting: Sighting, sightings: Sequence[Sighting]) -> bool:
    """Whether the first tree is mapped as a later tree too, where a None fails on every JAX.

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
