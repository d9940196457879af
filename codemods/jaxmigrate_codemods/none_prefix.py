"""Guard tree maps that meet None in their first tree.

**Why.** Up to JAX 0.4.28 `jax.tree.map(f, a, b)` let a None in `a` stand for anything opposite it:
`f` was not called there, and the result had None there. From 0.4.34 that is an error.

**What it does.** Puts the old rule into the call: `None if x is None else …` into the callback,
and `is_leaf=lambda x: x is None`, so that None is a leaf. The rewritten call gives on today's JAX
what the original gave on 0.4.28, the callback called on the same arguments in the same order.

**Which calls.** Those whose first tree may hold None by what the project's source, or a run, says.
`--confidence possible` guards every tree map over several trees.

**Safety.** Every part of the call is evaluated once and in its old order; names of the callback are
not captured. An `is_leaf` that is there already is kept and joined. Calls in which None is a leaf
already are left alone.

**Not touched.** Tree maps of a single tree, which did not change; `in_axes` and `out_axes` of
`jax.vmap` and its kind, where None is a leaf.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from jaxmigrate.api import (
    Action,
    Codemod,
    Confidence,
    Elsewhere,
    Example,
    Facts,
    Guard,
    Refused,
    Site,
    Span,
    TreeCall,
    Unneeded,
    Verdict,
    guard_call,
)


class NonePrefix(Codemod):
    """Guards many-tree maps whose first tree may hold None."""

    name = "none-prefix"
    summary = "Guard tree maps over several trees where the first may hold None"
    needed_from = "0.4.34"
    mentions = ("tree_map", "tree_multimap", "tree.map", "map_with_path", "jax.tree", "import tree")
    after = ("tree-aliases", "none-fallback")
    reads_evidence = True
    examples = (
        Example(
            'import jax\njax.tree.map(lambda p, g: p - g, {"w": 1, "b": None}, grads)\n',
            "import jax\njax.tree.map(lambda p, g: None if p is None else p - g, "
            '{"w": 1, "b": None}, grads, is_leaf=lambda x: x is None)\n',
        ),
        Example(
            "import jax\njax.tree.map(f, [1, None], b)\n",
            "import jax\njax.tree.map(lambda x, y: None if x is None else f(x, y), [1, None], b, "
            "is_leaf=lambda x: x is None)\n",
        ),
        Example(
            "import jax\njax.tree.map(f, a, b)\n",
            "import jax\njax.tree.map(lambda x, y: None if x is None else f(x, y), a, b, "
            "is_leaf=lambda x: x is None)\n",
            confidence=Confidence.POSSIBLE,
        ),
        Example("import jax\njax.tree.map(f, a, b)\n", None),
        Example("import jax\njax.tree.map(f, [None, 1])\n", None),
        Example("import jax\njax.tree.map(f, [None, 1], b, is_leaf=lambda n: n is None)\n", None),
    )

    def find(self, module: Facts) -> Iterator[Site]:
        """One site for each call over several trees that is not guarded already."""
        for call in module.tree_calls:
            if call.many:
                yield from self._site(call, module)

    def rewrite(self, site: Site, node: cst.CSTNode) -> cst.BaseExpression:
        """The guarded call."""
        assert isinstance(node, cst.Call)
        guard, first = site.plan
        return guard_call(node, guard, first=first)

    def _site(self, call: TreeCall, module: Facts) -> Iterator[Site]:
        verdict = module.judge(call)
        several = verdict.confidence is not None and verdict.confidence > Confidence.POSSIBLE
        plan = module.plan_guard(call, several=several)
        span = module.span(call.node)
        if isinstance(plan, Unneeded):
            yield _needless(span, "None is a leaf here already, or only one tree is mapped")
        elif verdict.confidence is None:
            yield _needless(span, verdict.reason)
        elif isinstance(plan, Elsewhere):
            yield _needless(span, plan.reason)
        else:
            action, reason = _action(call, plan, verdict, module)
            first = 1 if call.is_partial else 0
            yield Site(
                span, action, verdict.confidence, reason, verdict.evidence, plan=(plan, first)
            )


def _needless(span: Span, reason: str) -> Site:
    return Site(span, Action.HOLD, Confidence.POSSIBLE, reason, needless=True)


def _action(
    call: TreeCall, plan: Guard | Refused, verdict: Verdict, module: Facts
) -> tuple[Action, str]:
    if isinstance(plan, Refused):
        return Action.REPORT, f"{verdict.reason}; {plan.reason}"
    if module.inside_fstring(call.node) and not module.is_exact(call.node):
        return Action.HOLD, f"{verdict.reason}; it stands in an f-string"
    return Action.EDIT, verdict.reason
