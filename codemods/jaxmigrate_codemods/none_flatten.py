"""Guard tree maps that are written out by hand with `treedef.flatten_up_to`.

**Why.** `treedef.flatten_up_to(b)` follows the rule of `jax.tree.map`: up to JAX 0.4.28 a None in the
flattened tree let anything stand opposite it, from 0.4.34 that is an error.

**What it does.** Where the whole map is in sight (the tree is flattened, zipped, and built again out
of a comprehension), None becomes a leaf that the comprehension passes over.

**Safety.** Only where the leaves and the structure are used for nothing else.

**Not touched.** Any other `flatten_up_to`, which is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from jaxmigrate.api import (
    Action,
    Codemod,
    Confidence,
    Example,
    Facts,
    HandRolled,
    Mend,
    Site,
    Verdict,
    guard_expression,
    with_none_leaf,
)

_BEFORE = """import jax


def add(a, b):
    leaves, treedef = jax.tree.flatten(a)
    others = treedef.flatten_up_to(b)
    sums = [x + y for x, y in zip(leaves, others)]
    return treedef.unflatten(sums)
"""
_AFTER = """import jax


def add(a, b):
    leaves, treedef = jax.tree.flatten(a, is_leaf=lambda x: x is None)
    others = treedef.flatten_up_to(b)
    sums = [None if x is None else x + y for x, y in zip(leaves, others)]
    return treedef.unflatten(sums)
"""


class NoneFlatten(Codemod):
    """Guards hand-rolled maps whose first tree may hold None."""

    name = "none-flatten"
    summary = "Guard tree maps written out with treedef.flatten_up_to"
    needed_from = "0.4.34"
    mentions = ("flatten_up_to",)
    after = ("tree-aliases",)
    reads_evidence = True
    examples = (
        Example(_BEFORE, _AFTER, confidence=Confidence.POSSIBLE),
        Example(_BEFORE, None),
    )

    def find(self, module: Facts) -> Iterator[Site]:
        """Two sites for each map that can be mended, a report for any other `flatten_up_to`."""
        seen: set[Mend] = set()
        for found in module.hand_rolled:
            verdict = module.judge_tree(found.call, found.tree)
            if found.safe or verdict.confidence is None:
                yield _needless(found, module)
            elif found.mend is None:
                yield _report(found, verdict, module)
            elif found.mend not in seen:
                seen.add(found.mend)
                for node in (found.mend.flatten, found.mend.element):
                    yield Site(
                        module.span(node),
                        Action.EDIT,
                        verdict.confidence,
                        verdict.reason,
                        verdict.evidence,
                        plan=None if node is found.mend.flatten else found.mend.test,
                    )

    def rewrite(self, site: Site, node: cst.CSTNode) -> cst.BaseExpression:
        """`is_leaf` for the flattening, a guard for the comprehension's element."""
        assert isinstance(node, cst.BaseExpression)
        if site.plan is None:
            assert isinstance(node, cst.Call)
            return with_none_leaf(node)
        return guard_expression(site.plan, node)


def _needless(found: HandRolled, module: Facts) -> Site:
    reason = "None is a leaf here already"
    return Site(module.span(found.call), Action.HOLD, Confidence.POSSIBLE, reason, needless=True)


def _report(found: HandRolled, verdict: Verdict, module: Facts) -> Site:
    assert verdict.confidence is not None
    reason = (
        f"{verdict.reason}; flatten_up_to raises where it does and this holds something else: "
        "flatten with is_leaf=lambda x: x is None and pass over None"
    )
    return Site(
        module.span(found.call), Action.REPORT, verdict.confidence, reason, verdict.evidence
    )
