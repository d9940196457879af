"""Replace a fallback on JAX's message about None by the guarded tree map alone.

**Why.** When JAX 0.4.34 refused a None in the first tree of a map, some code caught the ValueError,
looked for "Expected None" in its message and mapped again with a guard. From JAX 0.10.2 on the
message is another, so the fallback never runs and the error comes through.

**What it does.** Keeps the guarded tree map and drops the attempt before it.

**Safety.** Only where the fallback maps the same trees, makes None a leaf, gives None for None and
raises every other error again. Comments of what is dropped are kept above the result.

**Not touched.** Handlers that catch a ValueError whatever it says, which work as before.
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
    Fallback,
    NodeKind,
    Site,
    comments_of,
)

_GUARDED = (
    "jax.tree.map(lambda x, y: None if x is None else f(x, y), a, b, is_leaf=lambda x: x is None)"
)


class NoneFallback(Codemod):
    """Replaces fallbacks on the text of JAX's error by what they fall back to."""

    name = "none-fallback"
    summary = 'Replace fallbacks on "Expected None" by the guarded tree map alone'
    needed_from = "0.10.2"
    mentions = ("Expected None", "pytree structure error", "tree-prefix of non-None")
    after = ("tree-aliases",)
    examples = (
        Example(
            "import jax\n\n\ndef update(f, a, b):\n    try:\n        return jax.tree.map(f, a, b)\n"
            "    except ValueError as error:\n"
            '        if "Expected None" not in str(error):\n            raise\n'
            f"        return {_GUARDED}\n",
            f"import jax\n\n\ndef update(f, a, b):\n    return {_GUARDED}\n",
        ),
        Example(
            "import jax\n\ntry:\n    out = jax.tree.map(f, a, b)\nexcept ValueError:\n"
            f"    out = {_GUARDED}\n",
            None,
        ),
    )

    def find(self, module: Facts) -> Iterator[Site]:
        """One site for each `try` that is such a fallback."""
        for fallback in module.fallbacks:
            problem = fallback.problem or _layout_problem(fallback, module)
            reason = "the fallback looks for a message that JAX 0.10.2 no longer has"
            yield Site(
                module.span(fallback.statement),
                Action.EDIT if problem is None else Action.REPORT,
                Confidence.PROVEN,
                reason if problem is None else f"{reason}; {problem}",
                (module.evidence(fallback.statement.handlers[0], "catches JAX's message"),),
                kind=NodeKind.COMPOUND,
            )

    def rewrite(self, site: Site, node: cst.CSTNode) -> list[cst.BaseStatement]:
        """The statement that holds the guarded map, comments of the rest above it."""
        assert isinstance(node, cst.Try)
        kept = _kept(node.handlers[0].body)
        own = comments_of(kept)
        lost = [comment for comment in comments_of(node) if comment not in own]
        lines = [cst.EmptyLine(comment=cst.Comment(comment)) for comment in lost]
        assert isinstance(kept, cst.SimpleStatementLine)
        return [kept.with_changes(leading_lines=[*lines, *kept.leading_lines])]


def _layout_problem(fallback: Fallback, module: Facts) -> str | None:
    if not module.starts_line(fallback.statement) or not module.starts_line(fallback.kept):
        return "it does not start a line"
    if hasattr(fallback.kept, "body"):
        return "the fallback is more than one simple statement"
    if module.has_long_string(fallback.statement):
        return "it holds a string of several lines"
    return None


def _kept(body: cst.BaseSuite) -> cst.BaseStatement:
    """The statement of a handler that is not the check of the message or a raise."""
    statements = [s for s in body.body if isinstance(s, cst.BaseStatement)]
    check = statements[0]
    assert isinstance(check, cst.If)
    suites = [check.body]
    if isinstance(check.orelse, cst.Else):
        suites.append(check.orelse.body)
    inside = [s for suite in suites for s in suite.body if isinstance(s, cst.BaseStatement)]
    return next(s for s in [*inside, *statements[1:]] if not _raises(s))


def _raises(statement: cst.BaseStatement) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and isinstance(
        statement.body[0], cst.Raise
    )
