"""How sure it is that a tree-map call meets a None in its first tree, and what says so."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.on_none import Place
from jaxmigrate.model import Confidence, Evidence


@dataclass(frozen=True, slots=True)
class Verdict:
    """How likely a call is to need its guard; `confidence` None says that it never does."""

    confidence: Confidence | None
    reason: str
    evidence: tuple[Evidence, ...] = ()


def judge(call: TreeCall, place: Place) -> Verdict:
    """What is known of the first tree of a many-tree call."""
    first = call.trees[0] if call.trees else None
    if first is not None:
        found = _none_in(first, place)
        if found is not None:
            evidence = Evidence(place.module.path, found.lineno, "None in a tree display")
            return Verdict(Confidence.LIKELY, "the first tree may hold None", (evidence,))
    return Verdict(Confidence.POSSIBLE, "nothing is known of the first tree")


def _none_in(tree: ast.expr, place: Place) -> ast.expr | None:
    if isinstance(tree, ast.Constant):
        return tree if tree.value is None else None
    if isinstance(tree, ast.Name):
        owner = place.scope.owner(tree.id)
        bindings = owner.bindings[tree.id] if owner else []
        found = [_none_in(b.value, place) for b in bindings if b.value is not None]
        return next((f for f in found if f is not None), None)
    if isinstance(tree, ast.Dict):
        parts: list[ast.expr] = list(tree.values)
    elif isinstance(tree, ast.Tuple | ast.List):
        parts = tree.elts
    else:
        parts = []
    return next((f for f in (_none_in(part, place) for part in parts) if f is not None), None)
