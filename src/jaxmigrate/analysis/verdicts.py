"""How sure it is that a tree-map call meets a None in its first tree, and what says so."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.on_none import Place
from jaxmigrate.analysis.trees.evidence import Known
from jaxmigrate.analysis.trees.meetings import Outcome
from jaxmigrate.analysis.trees.signs import LineText, signs
from jaxmigrate.model import Confidence, Evidence

_MAX_EVIDENCE: Final = 4
_SEEN: Final = (Outcome.NO_NONE, Outcome.SAME_NONES, Outcome.UNLIKELY)
"""What was seen of the trees in these meetings outweighs signs."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How likely a call is to need its guard; `confidence` None says that it never does."""

    confidence: Confidence | None
    reason: str
    evidence: tuple[Evidence, ...] = ()


def judge(
    call: TreeCall,
    known: Known | None,
    place: Place,
    lines: LineText,
    as_read: Callable[[Evidence], Evidence],
    *,
    same: bool,
) -> Verdict:
    """The verdict on a many-tree call: what is known of its trees first, then signs.

    `known` is what the interpreter found, `lines` gives those of the call's file, and `as_read` tells a
    sign in terms of the file as it was read. `same` says that all trees surely hold the same Nones.
    """
    words = short(call.trees[0]) if call.trees else "the first tree"
    if same and (known is None or not known.met):
        return Verdict(None, "the other trees hold None wherever the first one does")
    verdict = judge_tree(words, known)
    seen = known is not None and known.strongest.outcome in _SEEN
    if verdict.confidence is not Confidence.POSSIBLE or seen:
        return verdict
    found = tuple(as_read(sign) for sign in signs(call, place, lines))[:_MAX_EVIDENCE]
    if found:
        return Verdict(Confidence.LIKELY, f"{words} may hold None: {found[0].note}", found)
    return verdict


def judge_tree(words: str, known: Known | None) -> Verdict:
    """The verdict on a tree that others are flattened like: what a real run met says more than all else."""
    if known is None:
        return Verdict(Confidence.POSSIBLE, f"nothing is known of {words}")
    outcome, why = known.strongest.outcome, known.strongest.why
    if known.met:
        more = why if outcome >= Outcome.MAY_MEET else ()
        evidence = (*known.met, *more)[:_MAX_EVIDENCE]
        return Verdict(Confidence.PROVEN, f"{words} holds None: {_note(known.met)}", evidence)
    if known.is_whole:
        return Verdict(None, f"the placeholders in {words} have a name, and there is no None")
    if outcome is Outcome.MEETS:
        return Verdict(Confidence.PROVEN, f"{words} holds None: {_note(why)}", why)
    if outcome is Outcome.MAY_MEET:
        return Verdict(Confidence.LIKELY, f"{words} may hold None: {_note(why)}", why)
    if outcome is Outcome.UNLIKELY:
        against = known.strongest.against
        return Verdict(Confidence.POSSIBLE, f"{words} may hold None, but {against}")
    if outcome is Outcome.SAME_NONES:
        return Verdict(
            Confidence.POSSIBLE,
            f"{words} and what is opposite seem to hold None at the same places",
        )
    if outcome is Outcome.NO_NONE:
        return Verdict(Confidence.POSSIBLE, f"no None is seen to meet a value in {words}")
    if known.minded is not None:
        note = known.minded.note
        return Verdict(Confidence.LIKELY, f"{words} may hold None: {note}", (known.minded,))
    return Verdict(Confidence.POSSIBLE, f"nothing is known of {words}")


def _note(why: tuple[Evidence, ...]) -> str:
    return why[0].note if why else "None"


def short(tree: ast.expr) -> str:
    """A tree as the user wrote it, if that is short."""
    text = ast.unparse(tree).lstrip("*")
    return text if len(text) <= 40 else "the first tree"
