"""Name the placeholders of trees.

**Why.** A placeholder stands in a tree where there is no value: None, or an empty pytree that says so
by name. Up to JAX 0.4.28 None matched anything; today two trees map alike only if both hold the same
placeholder at a place.

**What it does.** With `--sentinel EXPR` every None that a tree is built with becomes EXPR, and
whatever asks for it is changed along: `x is None`, `is_leaf=lambda x: x is None`, annotations. Maps
of such a tree over a full one are guarded.

**Safety.** Only where every use of a tree is in sight. A tree that goes where the tool cannot look
is held, with the line where it leaves sight.

**Not touched.** A None that is an argument, an option, a key, or a value in what is no tree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from jaxmigrate.api import (
    Action,
    Change,
    Codemod,
    Confidence,
    Deed,
    Example,
    Facts,
    Guard,
    NodeKind,
    Site,
    add_import,
    ask_for,
    guard_call,
    with_placeholder_type,
)


class SentinelPlaceholders(Codemod):
    """Puts a named placeholder in the place of None in trees."""

    name = "sentinel-placeholders"
    summary = "Name the placeholders of trees (--sentinel EXPR)"
    needed_from = "0.4.34"
    mentions = ("None",)
    after = ("tree-aliases",)
    examples = (Example('import jax\n\njax.tree.map(f, {"b": None})\n', None),)

    def find(self, module: Facts) -> Iterator[Site]:
        """Every builder, asker, annotation and map that is to be changed, and the imports they take."""
        imports: dict[str, Confidence] = {}
        for node, change in module.placeholder_changes():
            site = _site(node, change, module)
            if site is None:
                continue
            yield site
            if change.imported is not None:
                before = imports.get(change.imported, Confidence.POSSIBLE)
                imports[change.imported] = max(before, change.confidence)
        for text, confidence in sorted(imports.items()):
            yield Site(
                module.place_for_import(),
                Action.EDIT,
                confidence,
                "imports the placeholder",
                plan=text,
                kind=NodeKind.INSERTION,
            )

    def rewrite(
        self, site: Site, node: cst.CSTNode
    ) -> cst.BaseExpression | list[cst.BaseStatement]:
        """The placeholder, the question for it, or the import."""
        if isinstance(site.plan, str):
            return [add_import(site.plan)]
        change, guard = site.plan
        if change.deed is Deed.GUARD:
            assert isinstance(node, cst.Call)
            return guard_call(node, guard)
        if change.deed is Deed.ASK:
            assert isinstance(node, cst.Comparison)
            return ask_for(node, change.cls, change.expr)
        assert isinstance(node, cst.BaseExpression)
        if change.deed is Deed.ANNOTATE:
            return with_placeholder_type(node, change.cls, change.expr)
        return cst.parse_expression(change.expr)


def _site(node: ast.expr, change: Change, module: Facts) -> Site | None:
    guard = None
    if change.deed is Deed.GUARD:
        guard = module.plan_placeholder_guard(node, change)
        if not isinstance(guard, Guard):
            return None
    return Site(
        module.span(node),
        Action.EDIT,
        change.confidence,
        change.reason,
        change.evidence,
        plan=(change, guard),
    )
