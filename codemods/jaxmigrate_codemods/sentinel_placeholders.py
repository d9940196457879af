"""Put one placeholder in trees where there is no value: None for retired ones, or one with a name.

**Why.** `jax.interpreters.batching.NotMapped` went with JAX 0.10.0, `not_mapped` with 0.10.2. They had
been the type of None and None all along, under another name.

**What it does.** `not_mapped` becomes `None`, and its tests become tests for None:
`x is not_mapped`, `x == not_mapped` and `isinstance(x, NotMapped)` all become `x is None`.
`NotMapped` becomes `None` in annotations and `type(None)` elsewhere. Imports that nothing uses any
more go; a name that other files take from this one, or that `__all__` lists, stays bound to None.

With `--sentinel EXPR` every None that a tree is built with becomes EXPR (`optax.MaskedNode()`, `()`,
`{}`, the call of an own empty class), and whatever asks for it is changed along: `x is None`,
`is_leaf=lambda x: x is None`, annotations. Maps of such a tree over a full one are guarded. It is done
only where every use of a tree is in sight: one that goes where the tool cannot look is held, with the
line where it leaves sight.

**Safety.** The same object, under the name that is left; `==` and `is` say the same of an axis, which
is a number or None. Code that does without the sentinel where JAX has none (`try` and
`except ImportError`, `hasattr`) works on every JAX and is left alone, as are names that the project
binds itself.

**Not touched.** `FROM_GDA`, `_UNSPECIFIED`, `zero_if_mapped` and `jax.core.token`, which nothing takes
the place of without a look at the code, are reported with what JAX says to do; so are look-ups by a
string, annotations in quotes, patterns and assignments.

A None that is an argument, an option, a key, or a value in what is no tree stays.

**This one or none-prefix.** A tree that held `not_mapped` holds None, so a map of it over another tree
may need a guard: that is none-prefix, which runs after this. Choose none-prefix where None in the first
tree stands opposite a value: it changes the call and leaves the trees as they are. Choose
sentinel-placeholders where the placeholder itself is what is wrong. An empty pytree (`()`, `{}`,
`optax.MaskedNode()`) in one of two trees alone never helps: it matches its own kind only, neither None
nor a value, so both trees must hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from jaxmigrate.api import (
    Action,
    Bound,
    Change,
    Codemod,
    ComparedToNone,
    Confidence,
    Deed,
    Example,
    Facts,
    Guard,
    NodeKind,
    RetiredUse,
    Site,
    Span,
    TestedForNone,
    ToNone,
    Unimported,
    add_import,
    ask_for,
    drop_names,
    guard_call,
    with_placeholder_type,
)

_NONE = cst.Name("None")
_BATCHING = "from jax.interpreters import batching\n\n"
_EMPTY = "optax.MaskedNode()"
_MASKED = """import jax


def scaled(grads):
    masked = {"w": grads["w"], "b": None}
    masked = jax.tree.map(lambda g: 0.1 * g, masked)
"""
_LOOSE = (
    cst.BooleanOperation,
    cst.Comparison,
    cst.GeneratorExp,
    cst.IfExp,
    cst.Lambda,
    cst.NamedExpr,
    cst.UnaryOperation,
    cst.Yield,
)
"""What must stand in parentheses on a side of a comparison, or is better read so."""


@dataclass(frozen=True, slots=True)
class Naming:
    """A change that names a placeholder, and for a map the guard that it takes."""

    change: Change
    guard: Guard | None


@dataclass(frozen=True, slots=True)
class Import:
    """An import that a placeholder takes, and whether a blank line goes before it."""

    text: str
    apart: bool


class SentinelPlaceholders(Codemod):
    """Replaces sentinels that JAX retired, and None in trees by one with a name."""

    name = "sentinel-placeholders"
    summary = "Replace retired sentinels (not_mapped); name placeholders (--sentinel EXPR)"
    needed_from = "0.10.0"
    mentions = (
        *("not_mapped", "NotMapped", "FROM_GDA", "_UNSPECIFIED", "zero_if_mapped"),
        *("core.token", "jax.core import"),
    )
    names_placeholders = True
    examples = (
        Example(
            f"{_BATCHING}if all(d is batching.not_mapped for d in dims):\n    out = None\n",
            "if all(d is None for d in dims):\n    out = None\n",
        ),
        Example(
            "from jax.interpreters.batching import NotMapped, moveaxis\n\n\n"
            "def front(x, dim: int | NotMapped):\n"
            "    return x if isinstance(dim, NotMapped) else moveaxis(x, dim, 0)\n",
            "from jax.interpreters.batching import moveaxis\n\n\n"
            "def front(x, dim: int | None):\n"
            "    return x if dim is None else moveaxis(x, dim, 0)\n",
        ),
        Example("not_mapped = object()\nx is not_mapped\n", None),
        Example(
            _MASKED + '    return masked["w"] if masked["b"] is None else None\n',
            _MASKED.replace("jax\n", "jax\nimport optax\n", 1).replace("None", _EMPTY)
            + '    return masked["w"] if isinstance(masked["b"], optax.MaskedNode) else None\n',
            sentinel=_EMPTY,
        ),
        Example(_MASKED + "    return save(masked)\n", None, sentinel=_EMPTY),
    )

    def find(self, module: Facts) -> Iterator[Site]:
        """Every use of a sentinel that JAX retired, and all that names a placeholder."""
        for use in module.retired_sentinels:
            yield _site(use, module)
        yield from _named(module)

    def rewrite(
        self, site: Site, node: cst.CSTNode
    ) -> cst.BaseExpression | Sequence[cst.BaseSmallStatement] | Sequence[cst.BaseStatement]:
        """What takes the place of a use, or of an import."""
        plan = site.plan
        if isinstance(plan, Import):
            return [add_import(plan.text, apart=plan.apart)]
        if isinstance(plan, Naming):
            return _renamed(node, plan)
        if isinstance(plan, Bound):
            return _apart([_binding(name, value) for name, value in plan.names])
        if isinstance(plan, Unimported):
            assert isinstance(node, cst.Import | cst.ImportFrom)
            return _unimported(node, plan)
        assert isinstance(node, cst.BaseExpression)
        if isinstance(plan, ComparedToNone):
            return _compared(node, plan)
        if isinstance(plan, TestedForNone):
            return _tested(node, plan)
        assert isinstance(plan, ToNone)
        new = cst.parse_expression("type(None)") if plan.is_type else _NONE
        return new.with_changes(lpar=node.lpar, rpar=node.rpar)


def _named(module: Facts) -> Iterator[Site]:
    """The builders, askers, annotations and maps that are to be changed, and the imports they take."""
    imports: dict[str, Confidence] = {}
    for node, change in module.placeholder_changes():
        guard: Guard | None = None
        if change.deed is Deed.GUARD and change.expr:
            plan = module.plan_placeholder_guard(node, change)
            if not isinstance(plan, Guard):
                continue
            guard = plan
        yield Site(
            module.span(node),
            Action.EDIT if change.expr else Action.HOLD,
            change.confidence,
            change.reason,
            change.evidence,
            plan=Naming(change, guard),
        )
        if change.imported is not None:
            before = imports.get(change.imported, Confidence.POSSIBLE)
            imports[change.imported] = max(before, change.confidence)
    for text, confidence in sorted(imports.items()):
        yield Site(
            module.place_for_import(text),
            Action.EDIT,
            confidence,
            "imports the placeholder",
            plan=Import(text, module.import_stands_apart(text)),
            kind=NodeKind.INSERTION,
        )


def _renamed(node: cst.CSTNode, plan: Naming) -> cst.BaseExpression:
    """The placeholder by name, the question for it, its type, or the guarded map."""
    change = plan.change
    if plan.guard is not None:
        assert isinstance(node, cst.Call)
        return guard_call(node, plan.guard)
    if change.deed is Deed.ASK:
        assert isinstance(node, cst.Comparison)
        return ask_for(node, change.cls, change.expr)
    assert isinstance(node, cst.BaseExpression)
    if change.deed is Deed.ANNOTATE:
        return with_placeholder_type(node, change.cls, change.expr)
    return cst.parse_expression(change.expr)


def _site(use: RetiredUse, module: Facts) -> Site:
    span, sure = module.span(use.node), Confidence.PROVEN
    if use.change is None:
        return Site(span, Action.REPORT, sure, use.reason)
    if isinstance(use.change, Bound):
        line, _ = module.lines.position(span.end)
        start = module.lines.line_start(line + 1)
        below = Span(start, start)
        return Site(below, Action.EDIT, sure, use.reason, plan=use.change, kind=NodeKind.INSERTION)
    is_import = isinstance(use.change, Unimported)
    kind = NodeKind.STATEMENT if is_import else NodeKind.EXPRESSION
    return Site(span, Action.EDIT, sure, use.reason, plan=use.change, kind=kind)


def _unimported(
    node: cst.Import | cst.ImportFrom, plan: Unimported
) -> Sequence[cst.BaseSmallStatement]:
    kept: Sequence[cst.ImportFrom] = ()
    if isinstance(node, cst.ImportFrom):
        kept = drop_names(node, lambda name: name if name in plan.names else None)
    return [*kept, *(_binding(name, value) for name, value in plan.bound)]


def _binding(name: str, value: str) -> cst.Assign:
    return cst.Assign([cst.AssignTarget(cst.Name(name))], cst.parse_expression(value))


def _apart(statements: Sequence[cst.BaseSmallStatement]) -> list[cst.SimpleStatementLine]:
    """Each statement on a line, the first below a blank one."""
    first, *others = [cst.SimpleStatementLine([statement]) for statement in statements]
    return [first.with_changes(leading_lines=[cst.EmptyLine(indent=False)]), *others]


def _compared(node: cst.BaseExpression, plan: ComparedToNone) -> cst.BaseExpression:
    assert isinstance(node, cst.Comparison)
    (target,) = node.comparisons
    negated = isinstance(target.operator, cst.NotEqual)
    # Spelled out, since `==` may stand without the spaces that `is` needs.
    other = target.comparator if plan.left else node.left
    return _is_none(other, negated).with_changes(lpar=node.lpar, rpar=node.rpar)


def _tested(node: cst.BaseExpression, plan: TestedForNone) -> cst.BaseExpression:
    call = node.expression if isinstance(node, cst.UnaryOperation) else node
    assert isinstance(call, cst.Call)
    test = _is_none(call.args[0].value, plan.negated)
    if plan.enclosed and not node.lpar:
        return test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return test.with_changes(lpar=node.lpar, rpar=node.rpar)


def _is_none(value: cst.BaseExpression, negated: bool) -> cst.Comparison:
    if isinstance(value, _LOOSE) and not value.lpar:
        value = value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    operator = cst.IsNot() if negated else cst.Is()
    return cst.Comparison(value, [cst.ComparisonTarget(operator, _NONE)])
