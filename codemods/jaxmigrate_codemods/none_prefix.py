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

**This one or sentinel-placeholders.** Choose this one where None in the first tree stands opposite a
value: the call gets a guard and the trees stay as they are. Choose sentinel-placeholders where the
placeholder itself is what is wrong, such as one that JAX retired. Putting an empty pytree (`()`, `{}`,
`optax.MaskedNode()`) for None into one of two trees alone never helps: it matches its own kind only,
neither None nor a value, so both trees must hold it, and what asks for None must be changed along.
"""

from __future__ import annotations

import dataclasses
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
    Helper,
    NodeKind,
    Refused,
    Site,
    Span,
    TreeCall,
    Unneeded,
    Verdict,
    call_helper,
    guard_call,
    helper_function,
)


class NonePrefix(Codemod):
    """Guards many-tree maps whose first tree may hold None."""

    name = "none-prefix"
    summary = "Guard tree maps over several trees where the first may hold None"
    needed_from = "0.4.34"
    mentions = ("tree_map", "tree_multimap", "tree.map", "map_with_path", "jax.tree", "import tree")
    after = ("tree-aliases", "none-fallback", "sentinel-placeholders")
    reads_evidence = True
    examples = (
        Example(
            'import jax\n\np = {"w": 1, "b": None}\nq = jax.tree.map(lambda x, y: x - y, p, grads)\n',
            'import jax\n\np = {"w": 1, "b": None}\nq = jax.tree.map(\n'
            "    lambda x, y: None if x is None else x - y, p, grads, is_leaf=lambda x: x is None\n)\n",
        ),
        Example(
            "import jax\n\nq = jax.tree.map(step, [1, None], b)\n",
            "import jax\n\nq = jax.tree.map(\n"
            "    lambda x, y: None if x is None else step(x, y),\n"
            "    [1, None],\n    b,\n    is_leaf=lambda x: x is None,\n)\n",
        ),
        Example(
            "import jax\n\nq = jax.tree.map(step, a, b)\n",
            "import jax\n\nq = jax.tree.map(\n"
            "    lambda x, y: None if x is None else step(x, y), a, b, is_leaf=lambda x: x is None\n"
            ")\n",
            confidence=Confidence.POSSIBLE,
        ),
        Example("import jax\n\nq = jax.tree.map(step, a, b)\n", None),
        Example("import jax\n\nq = jax.tree.map(step, [None, 1])\n", None),
        Example(
            "import jax\n\nq = jax.tree.map(step, [None, 1], b, is_leaf=lambda n: n is None)\n",
            None,
        ),
    )

    def find(self, module: Facts) -> Iterator[Site]:
        """One site for each call over several trees, and one for the helper, if it is asked for."""
        found = [self._site(call, module) for call in module.tree_calls if call.many]
        if module.with_helper:
            yield from _with_helper(found, module)
        else:
            yield from (site for _, site in found)

    def rewrite(
        self, site: Site, node: cst.CSTNode
    ) -> cst.BaseExpression | list[cst.BaseStatement]:
        """The guarded call, or the helper."""
        if isinstance(site.plan, Helper) and site.kind is NodeKind.INSERTION:
            return [helper_function(site.plan.name, site.plan.function)]
        assert isinstance(node, cst.Call)
        if isinstance(site.plan, Helper):
            return call_helper(node, site.plan.name)
        guard, first = site.plan
        return guard_call(node, guard, first=first)

    def _site(self, call: TreeCall, module: Facts) -> tuple[TreeCall, Site]:
        verdict = module.judge(call)
        several = verdict.confidence is not None and verdict.confidence > Confidence.POSSIBLE
        plan = module.plan_guard(call, several=several)
        span = module.span(call.node)
        if isinstance(plan, Unneeded):
            return call, _needless(span, "None is a leaf here already, or one tree is mapped")
        if verdict.confidence is None:
            return call, _needless(span, verdict.reason)
        if isinstance(plan, Elsewhere):
            return call, _needless(span, plan.reason)
        action, reason = _action(call, plan, verdict, module)
        first = 1 if call.is_partial else 0
        return call, Site(
            span, action, verdict.confidence, reason, verdict.evidence, plan=(plan, first)
        )


def _with_helper(found: list[tuple[TreeCall, Site]], module: Facts) -> Iterator[Site]:
    """The sites, those that a helper can stand for calling it, and the helper's own."""
    apt = [call for call, site in found if _is_apt(call, site)]
    helper = module.helper_for(apt) if apt else None
    for call, site in found:
        if helper is not None and call in apt:
            site = dataclasses.replace(site, plan=helper)
        yield site
    if helper is not None:
        surest = max(site.confidence for call, site in found if call in apt)
        yield Site(
            helper.span,
            Action.EDIT,
            surest,
            "one helper for the guarded calls of this module",
            plan=helper,
            kind=NodeKind.INSERTION,
        )


def _is_apt(call: TreeCall, site: Site) -> bool:
    """Whether a call of the helper says the same: a plain map without a predicate or path."""
    if site.action is not Action.EDIT or call.is_partial or call.leading or call.is_leaf:
        return False
    guard, _ = site.plan
    return guard.callback is not None and not call.bound.keywords and not call.node.keywords


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
