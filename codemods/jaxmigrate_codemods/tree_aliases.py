"""Rename tree functions that left the top of the `jax` package.

**Why.** `jax.tree_map` and its siblings (`tree_leaves`, `tree_flatten`, `tree_unflatten`,
`tree_structure`, `tree_transpose`, `treedef_is_leaf`) went in JAX 0.6.0; `tree_multimap`,
`tree_all` and `tree_reduce` long before. Code that names them fails with an AttributeError or
ImportError.

**What it does.** `jax.tree_map` becomes `jax.tree.map` where the project asks for JAX 0.4.25 or
newer, and `jax.tree_util.tree_map`, which every JAX has, where it admits an older one. Imported
names are taken from `jax.tree_util` and stay bound to the name they had, so re-exports keep
working.

**Safety.** Same function, other name. A name that the file itself binds is left alone: a local
`jax`, a parameter, an own `tree_map`.

**Not touched.** `jax.tree_util.*`, which stays; names in strings and comments; assignments to
`jax.tree_map`, `getattr(jax, "tree_map")` and names that come from `from jax import *`, which are
reported.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from jaxmigrate.api import (
    JAX_TREE_SINCE,
    RETIRED,
    Action,
    Codemod,
    Confidence,
    Example,
    Facts,
    NodeKind,
    Retired,
    Site,
    Span,
    drop_names,
    move_names,
    rename_names,
    with_imported_names,
)

_TREE_UTIL = "jax.tree_util"
_TAKES_IN = "takes in what jax no longer exports"
_SKIP = "jaxmigrate:"
"""What a comment that may keep one of two statements as it is begins with."""

_Name: TypeAlias = tuple[str, str]
"""An imported name and the name that it is bound to."""


@dataclass(frozen=True, slots=True)
class Rename:
    """`base.old` becomes `base.` and this dotted path."""

    path: str


@dataclass(frozen=True, slots=True)
class Move:
    """An import's retired names are taken from `jax.tree_util`, in a statement of their own."""


@dataclass(frozen=True, slots=True)
class Drop:
    """An import's retired names are left out here: another statement imports them."""


@dataclass(frozen=True, slots=True)
class Receive:
    """An import of `jax.tree_util` takes in further names, each `(name, bound name)`."""

    names: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Add:
    """An import of names from `jax.tree_util`, each `(name, bound name)`, where there was none."""

    names: tuple[tuple[str, str], ...]


class TreeAliases(Codemod):
    """Renames `jax.tree_map` and its siblings."""

    name = "tree-aliases"
    summary = "Rename jax.tree_map and its siblings, which left the top of jax"
    needed_from = "0.6.0"
    mentions = tuple(sorted({name.rpartition(".")[2] for name in RETIRED}))
    examples = (
        Example("import jax\njax.tree_map(f, t)\n", "import jax\njax.tree.map(f, t)\n"),
        Example(
            "import jax\njax.tree_map(f, t)\n",
            "import jax\njax.tree_util.tree_map(f, t)\n",
            target_jax="0.4.20",
        ),
        Example(
            "from jax import jit, tree_map\n",
            "from jax import jit\nfrom jax.tree_util import tree_map\n",
        ),
        Example(
            "from jax.tree_util import tree_multimap as tmm\n",
            "from jax.tree_util import tree_map as tmm\n",
        ),
        Example("tree_map(f, t)\n", None),
        Example("def f(jax):\n    return jax.tree_map\n", None),
    )

    def find(self, module: Facts) -> Iterator[Site]:
        """Attributes, imports, and what can only be reported."""
        yield from self._attributes(module)
        yield from self._imports(module)
        for use in module.star_uses(RETIRED):
            yield _report(module, use.node, f"{_gone(use.name)}; it comes from an import *")
        for node, name in _by_string(module):
            yield _report(module, node, f"{_gone(name)}; it is looked up by a string")

    def rewrite(
        self, site: Site, node: cst.CSTNode
    ) -> cst.BaseExpression | Sequence[cst.ImportFrom] | Sequence[cst.BaseStatement]:
        """The new spelling of an attribute or an import."""
        if isinstance(site.plan, Rename):
            assert isinstance(node, cst.Attribute)
            return _attribute(node, site.plan.path.split("."))
        if isinstance(site.plan, Add):
            words = [name if name == to else f"{name} as {to}" for name, to in site.plan.names]
            return [cst.parse_statement(f"from {_TREE_UTIL} import {', '.join(words)}\n")]
        assert isinstance(node, cst.ImportFrom)
        if isinstance(site.plan, Receive):
            return [with_imported_names(node, site.plan.names)]
        module = cst.Module([]).code_for_node(node.module) if node.module else ""
        if isinstance(site.plan, Drop):
            return drop_names(node, _moves(module))
        if module == _TREE_UTIL:
            return [rename_names(node, _moves(module))]
        return move_names(node, _TREE_UTIL, _moves(module))

    def _attributes(self, module: Facts) -> Iterator[Site]:
        for use in module.uses(RETIRED):
            reason = _gone(use.name)
            if not isinstance(use.node.ctx, ast.Load):
                yield _report(module, use.node, f"{reason}; this assigns to it")
            elif module.inside_fstring(use.node) and not module.is_exact(use.node):
                yield _held(module, use.node, f"{reason}; it stands in an f-string")
            else:
                path = _new_path(use.name, RETIRED[use.name], module)
                yield _edit(module, use.node, reason, Rename(path))

    def _imports(self, module: Facts) -> Iterator[Site]:
        receivers: dict[ast.ImportFrom, list[_Name]] = {}
        added: dict[Span, list[_Name]] = {}
        for source in ("jax", _TREE_UTIL):
            for statement in module.imports(source):
                moved = _moved(statement, source)
                if not moved:
                    continue
                plan: Move | Drop = Drop()
                if (receiver := _receiver(statement, source, module, receivers)) is not None:
                    receivers.setdefault(receiver, []).extend(moved)
                elif (place := _place_below(statement, source, module)) is not None:
                    added.setdefault(place, []).extend(moved)
                else:
                    plan = Move()
                reason = _gone(*(f"{source}.{a.name}" for a in statement.names))
                yield _edit(module, statement, reason, plan)
        for receiver, names in receivers.items():
            if set(names) - set(_bindings(receiver)):
                yield _edit(module, receiver, _TAKES_IN, Receive(tuple(names)))
        for place, names in added.items():
            plan_of_it = Add(tuple(dict.fromkeys(names)))
            yield Site(
                place,
                Action.EDIT,
                Confidence.PROVEN,
                _TAKES_IN,
                plan=plan_of_it,
                kind=NodeKind.INSERTION,
            )


def _new_path(name: str, retired: Retired, module: Facts) -> str:
    if name.startswith(f"{_TREE_UTIL}."):
        return retired.tree_util
    if retired.tree is not None and module.target_has(JAX_TREE_SINCE):
        return f"tree.{retired.tree}"
    return f"tree_util.{retired.tree_util}"


def _attribute(node: cst.Attribute, path: list[str]) -> cst.Attribute:
    """`base.old` with `path` in the place of `old`; what stands around the last dot stays there."""
    value = node.value
    for part in path[:-1]:
        value = cst.Attribute(value, cst.Name(part))
    return node.with_changes(value=value, attr=cst.Name(path[-1]))


def _moves(module: str) -> Callable[[str], str | None]:
    def renamed(name: str) -> str | None:
        retired = RETIRED.get(f"{module}.{name}")
        return None if retired is None else retired.tree_util

    return renamed


def _bindings(statement: ast.ImportFrom) -> list[_Name]:
    return [(alias.name, alias.asname or alias.name) for alias in statement.names]


def _moved(statement: ast.ImportFrom, source: str) -> list[_Name]:
    moves = _moves(source)
    found = [(moves(name), bound) for name, bound in _bindings(statement)]
    return [(name, bound) for name, bound in found if name is not None]


def _stays(statement: ast.ImportFrom) -> list[_Name]:
    return [(name, to) for name, to in _bindings(statement) if _moves("jax")(name) is None]


def _may_part(statement: ast.ImportFrom, source: str, module: Facts) -> bool:
    """Whether an import's retired names can go to another place than right below it.

    Not if something is written about one of them, if one is re-exported as itself (`a as a`), or if a
    name that stays is bound as one of them is.
    """
    if any(alias.asname == alias.name for alias in statement.names):
        return False
    if source != "jax" or "#" in module.source(statement) or _SKIP in module.text:
        return False
    return not {to for _, to in _moved(statement, "jax")} & {to for _, to in _stays(statement)}


def _receiver(
    statement: ast.ImportFrom,
    source: str,
    module: Facts,
    taken: Mapping[ast.ImportFrom, Sequence[_Name]],
) -> ast.ImportFrom | None:
    """The import of `jax.tree_util` beside this one that can take its names, if there is one.

    Both must stand in one run of imports with nothing between them that binds one of the names; nor may
    the other bind one to something else. `taken` are names that it is to take already. A statement that
    would vanish must not carry a comment, nor be the only one of its block or line.
    """
    if not _may_part(statement, source, module):
        return None
    if not _stays(statement) and not module.stands_alone(statement):
        return None
    moved = _moved(statement, source)
    for neighbour in module.imports_beside(statement, {bound for _, bound in moved}):
        if neighbour.module != _TREE_UTIL or _moved(neighbour, _TREE_UTIL):
            continue
        there = [*_bindings(neighbour), *taken.get(neighbour, ())]
        if "*" not in dict(there) and not _clash([*there, *moved]):
            return neighbour
    return None


def _clash(names: Sequence[_Name]) -> bool:
    """Whether one name is bound to two things."""
    return len({bound for _, bound in names}) < len(set(names))


def _place_below(statement: ast.ImportFrom, source: str, module: Facts) -> Span | None:
    """Where a new import goes to keep a block sorted: below those of `jax` that sort before it.

    None if there are none, so that it goes right below `statement`, or all of that one moves.
    """
    if not _may_part(statement, source, module) or not _stays(statement) or statement.col_offset:
        return None
    last, names = statement, {bound for _, bound in _moved(statement, source)}
    for neighbour in module.imports_beside(statement, names):
        below = neighbour.lineno == (last.end_lineno or last.lineno) + 1
        sorts_before = "jax." < (neighbour.module or "") < _TREE_UTIL
        if below and sorts_before and not names & {bound for _, bound in _bindings(neighbour)}:
            last = neighbour
    end = module.span(last).end
    line, _ = module.lines.position(end)
    behind = module.lines.line_text(line)[end - module.lines.line_start(line) :].strip()
    alone = not behind or behind.startswith("#")
    if last is statement or not alone or line == module.lines.line_count:
        return None
    start = module.lines.line_start(line + 1)
    return Span(start, start)


def _by_string(module: Facts) -> Iterator[tuple[ast.Call, str]]:
    for node, scope in module.calls_of({"builtins.getattr", "builtins.hasattr"}):
        if len(node.args) < 2 or not isinstance(node.args[1], ast.Constant):
            continue
        owner = module.project.name_of(node.args[0], scope, module.module)
        name = f"{owner}.{node.args[1].value!s}"
        if name in RETIRED:
            yield node, name


def _gone(*names: str) -> str:
    gone = [
        f"{name} was removed in JAX {RETIRED[name].removed}" for name in names if name in RETIRED
    ]
    return ", ".join(gone)


def _edit(module: Facts, node: ast.expr | ast.stmt, reason: str, plan: object) -> Site:
    kind = NodeKind.STATEMENT if isinstance(node, ast.stmt) else NodeKind.EXPRESSION
    span, seen = module.span(node), module.failures(node)
    return Site(span, Action.EDIT, Confidence.PROVEN, reason, seen, plan=plan, kind=kind)


def _held(module: Facts, node: ast.AST, reason: str) -> Site:
    return Site(module.span(node), Action.HOLD, Confidence.PROVEN, reason)


def _report(module: Facts, node: ast.AST, reason: str) -> Site:
    return Site(module.span(node), Action.REPORT, Confidence.PROVEN, reason)
