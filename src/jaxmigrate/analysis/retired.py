"""Uses of the sentinels that JAX retired, and what becomes of each.

`jax.interpreters.batching.not_mapped` was None all along, so it becomes None, and `NotMapped`, its type,
None in an annotation and `type(None)` elsewhere. Imports that are needed no longer go; where somebody may
still ask for the name, it stays bound to what it was.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from jaxmigrate.analysis.helper import place_for_helper
from jaxmigrate.analysis.jaxnames import (
    BATCHING_MODULES,
    NOT_MAPPED,
    NOT_MAPPED_TYPE,
    UNREPLACED_SENTINELS,
)
from jaxmigrate.analysis.project import Module, Project, Submodule
from jaxmigrate.analysis.scopes import Kind, Scope

if TYPE_CHECKING:
    from jaxmigrate.analysis.facts import Facts

RETIRED_SENTINELS: Final = NOT_MAPPED | NOT_MAPPED_TYPE
_SKIP: Final = "jaxmigrate:"
_FALLS_BACK: Final = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError"})

_Name: TypeAlias = tuple[Scope, str]
"""A name, by the scope that binds it."""


@dataclass(frozen=True, slots=True)
class ToNone:
    """The node becomes None, or the type of None."""

    is_type: bool


@dataclass(frozen=True, slots=True)
class ComparedToNone:
    """`a == b` or `a != b` becomes `is None` or `is not None`; `left` says on which side None goes."""

    left: bool


@dataclass(frozen=True, slots=True)
class TestedForNone:
    """`isinstance(x, NotMapped)`, or `not` and that, becomes `x is None` or `x is not None`.

    `enclosed` says that it needs parentheses where it stands.
    """

    negated: bool
    enclosed: bool


@dataclass(frozen=True, slots=True)
class Unimported:
    """An import without some of its names; those of `bound` are bound to the value given behind it."""

    names: frozenset[str]
    bound: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Bound:
    """New statements that bind each name to the value behind it, behind a blank line."""

    names: tuple[tuple[str, str], ...]


Change: TypeAlias = ToNone | ComparedToNone | TestedForNone | Unimported | Bound


@dataclass(frozen=True, slots=True)
class RetiredUse:
    """A node that uses a retired sentinel; `change` is None where it needs a person.

    What is `Bound` goes to the line below the node.
    """

    node: ast.expr | ast.stmt
    reason: str
    change: Change | None = None


def retired_uses(facts: Facts) -> Iterator[RetiredUse]:
    """Every use of a retired sentinel in a module, and the imports that change with them."""
    yield from _unreplaced(facts)
    yield from _by_string(facts)
    yield from _Uses(facts).found()


def is_not_mapped(expr: ast.expr, scope: Scope, module: Module, project: Project) -> bool:
    """Whether an expression of names and dots is `not_mapped`, however it is spelled."""
    return project.name_of(expr, scope, module) in NOT_MAPPED


def _unreplaced(facts: Facts) -> Iterator[RetiredUse]:
    for use in (*facts.uses(UNREPLACED_SENTINELS), *facts.star_uses(UNREPLACED_SENTINELS)):
        yield RetiredUse(use.node, f"{use.name} {UNREPLACED_SENTINELS[use.name]}")
    for statement, _ in facts.module.scopes.from_imports:
        for alias in statement.names:
            name = f"{statement.module}.{alias.name}"
            if statement.level == 0 and name in UNREPLACED_SENTINELS:
                yield RetiredUse(statement, f"{name} {UNREPLACED_SENTINELS[name]}")


def _by_string(facts: Facts) -> Iterator[RetiredUse]:
    """Look-ups of a sentinel by a string, with nothing to fall back to."""
    for node, scope in facts.calls_of({"builtins.getattr"}):
        if len(node.args) != 2 or not isinstance(node.args[1], ast.Constant):
            continue
        owner = facts.project.name_of(node.args[0], scope, facts.module)
        dotted = f"{owner}.{node.args[1].value!s}"
        if dotted in RETIRED_SENTINELS:
            yield RetiredUse(node, f"{_gone(dotted)}; it is looked up by a string")
        elif dotted in UNREPLACED_SENTINELS:
            yield RetiredUse(node, f"{dotted} {UNREPLACED_SENTINELS[dotted]}")


@dataclass(frozen=True, slots=True)
class _Imported:
    """A sentinel that a `from` import binds to a name."""

    statement: ast.ImportFrom
    alias: ast.alias
    dotted: str
    home: _Name


@dataclass(frozen=True, slots=True)
class _Spot:
    """An expression that is a sentinel; `root` is the name it begins with, None if by `import *`."""

    node: ast.Name | ast.Attribute
    dotted: str
    root: _Name | None


class _Uses:
    """The uses of `not_mapped` and `NotMapped` in one module."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.scopes = facts.module.scopes
        self.kept: set[_Name] = set()
        self.gone: Counter[_Name] = Counter()

    def found(self) -> Iterator[RetiredUse]:
        """The uses, then the imports, which depend on what became of the uses."""
        imported = list(self._imported())
        refused: set[_Name] = set()
        for each in imported:
            why = self._refusal(each, imported)
            if why and each.home not in refused:
                yield RetiredUse(each.statement, why)
            if why is not None:
                refused.add(each.home)
        imported = [each for each in imported if each.home not in refused]
        for spot in self._spots({each.home: each.dotted for each in imported}):
            yield from self._use(spot)
        yield from self._in_strings({each.home for each in imported})
        yield from self._imports(imported)
        yield from self._module_imports()

    def _imported(self) -> Iterator[_Imported]:
        for statement, scope in self.scopes.from_imports:
            for alias in statement.names:
                dotted = f"{statement.module}.{alias.name}"
                if statement.level == 0 and dotted in RETIRED_SENTINELS:
                    home = (scope, alias.asname or alias.name)
                    yield _Imported(statement, alias, dotted, home)

    def _refusal(self, each: _Imported, all_of_them: list[_Imported]) -> str | None:
        """Why an imported name stays as it is, None if it does not; empty if it needs nothing."""
        scope, name = each.home
        bindings = scope.bindings.get(name, [])
        ours = {other.alias for other in all_of_them if other.home == each.home}
        if name in scope.rebound_outside:
            return f"{_gone(each.dotted)}; {name} is bound outside of where it is imported"
        if any(binding.node not in ours for binding in bindings):
            if self._has_fallback(each.statement, name):
                return ""
            return f"{_gone(each.dotted)}; {name} is bound to something else as well"
        if self._has_comment(each):
            return f"{_gone(each.dotted)}; a comment in the import is about it"
        return None

    def _has_comment(self, each: _Imported) -> bool:
        if "#" not in self.facts.source(each.statement):
            return False
        lines = self.facts.lines
        above = lines.line_text(each.alias.lineno - 1) if each.alias.lineno > 1 else ""
        return "#" in lines.line_text(each.alias.lineno) or above.lstrip().startswith("#")

    def _has_fallback(self, statement: ast.stmt, name: str) -> bool:
        """Whether a `try` around a statement binds the name to something else if it fails."""
        parent = self.scopes.parents.get(statement)
        if not isinstance(parent, ast.Try) or statement not in parent.body:
            return False
        return any(
            _catches(handler) and any(_binds(inner, name) for inner in handler.body)
            for handler in parent.handlers
        )

    def _spots(self, homes: dict[_Name, str]) -> Iterator[_Spot]:
        scope_of = {id(node): scope for node, scope in self.scopes.names}
        for use in self.facts.uses(RETIRED_SENTINELS):
            root: ast.expr = use.node
            while isinstance(root, ast.Attribute):
                root = root.value
            scope = scope_of.get(id(root))
            owner = scope.owner(root.id) if scope and isinstance(root, ast.Name) else None
            home = (owner, root.id) if owner and isinstance(root, ast.Name) else None
            yield _Spot(use.node, use.name, home)
        names = {name for _, name in homes}
        for node, scope in self.scopes.names:
            if node.id not in names:
                continue
            owner = scope.owner(node.id)
            if owner is not None and (owner, node.id) in homes:
                yield _Spot(node, homes[owner, node.id], (owner, node.id))
        for use in self.facts.star_uses(RETIRED_SENTINELS):
            yield _Spot(use.node, use.name, None)

    def _use(self, spot: _Spot) -> Iterator[RetiredUse]:
        if self._is_minded(spot.node):
            self._keep(spot)
            return
        reason = _gone(spot.dotted)
        node, change = self._changed(spot)
        why_not = self._obstacle(spot, node)
        if why_not:
            self._keep(spot)
            yield RetiredUse(spot.node, f"{reason}; {why_not}")
            return
        if spot.root is not None:
            self.gone[spot.root] += 1
        yield RetiredUse(node, reason, change)

    def _keep(self, spot: _Spot) -> None:
        if spot.root is not None:
            self.kept.add(spot.root)

    def _obstacle(self, spot: _Spot, node: ast.expr) -> str:
        """What keeps a use from being edited; empty if nothing does."""
        if not isinstance(spot.node.ctx, ast.Load):
            return "this assigns to it"
        if isinstance(self.scopes.parents.get(spot.node), ast.pattern):
            return "it stands in a pattern: write `case None`"
        if self.facts.inside_fstring(node) and not self.facts.is_exact(node):
            return "it stands in an f-string"
        if "#" in self.facts.source(node) and "\n" in self.facts.source(node):
            return "a comment stands in it"
        stars = self.scopes.module.star_imports
        return "it comes from one of several import *" if _by_star(spot) and len(stars) > 1 else ""

    def _is_minded(self, node: ast.expr) -> bool:
        """Whether the code around a use does without the sentinel where JAX has none."""
        parent = self.scopes.parents.get(node)
        if isinstance(parent, ast.IfExp) and node is parent.body:
            return _asks_for(parent.test, node)
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            return self._has_fallback(parent, parent.targets[0].id)
        return False

    def _changed(self, spot: _Spot) -> tuple[ast.expr, Change]:
        if spot.dotted in NOT_MAPPED_TYPE:
            return self._type_changed(spot.node)
        parent = self.scopes.parents.get(spot.node)
        if isinstance(parent, ast.Compare) and len(parent.ops) == 1:
            other = parent.comparators[0] if spot.node is parent.left else parent.left
            if isinstance(parent.ops[0], ast.Eq | ast.NotEq) and not self._is_sentinel(other):
                return parent, ComparedToNone(left=spot.node is parent.left)
        return spot.node, ToNone(is_type=False)

    def _is_sentinel(self, expr: ast.expr) -> bool:
        name = self.facts.project.name_of(expr, self._scope_around(expr), self.facts.module)
        return name in RETIRED_SENTINELS

    def _type_changed(self, node: ast.expr) -> tuple[ast.expr, Change]:
        test = self.scopes.parents.get(node)
        if isinstance(test, ast.Call) and self._is_plain_instance_test(test, node):
            around = self.scopes.parents.get(test)
            if isinstance(around, ast.UnaryOp) and isinstance(around.op, ast.Not):
                outside = self.scopes.parents.get(around)
                return around, TestedForNone(True, _binds_tighter(outside, around))
            return test, TestedForNone(False, _binds_tighter(around, test))
        return node, ToNone(is_type=not self._may_be_none(node))

    def _is_plain_instance_test(self, call: ast.Call, node: ast.expr) -> bool:
        """Whether a call on one line is `isinstance(x, node)`."""
        name = self.facts.project.name_of(call.func, self._scope_around(call), self.facts.module)
        return (
            name == "builtins.isinstance"
            and len(call.args) == 2
            and call.args[1] is node
            and not isinstance(call.args[0], ast.Starred)
            and not call.keywords
            and call.lineno == call.end_lineno
        )

    def _scope_around(self, node: ast.AST) -> Scope:
        for outer in self.scopes.enclosing(node):
            if outer in self.scopes.scope_of:
                return self.scopes.scope_of[outer]
        return self.scopes.module

    def _may_be_none(self, node: ast.expr) -> bool:
        """Whether None can be written for its type here: in an annotation, a union, a `typing` form."""
        parent = self.scopes.parents.get(node)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.BitOr):
            other = parent.right if node is parent.left else parent.left
            is_none = isinstance(other, ast.Constant) and other.value is None
            return not is_none and not self._is_sentinel(other)
        if annotated(node, self.facts.module):
            return True
        while isinstance(parent, ast.Tuple | ast.List):
            node, parent = parent, self.scopes.parents.get(parent)
        if not isinstance(parent, ast.Subscript) or node is not parent.slice:
            return False
        scope = self._scope_around(parent)
        name = self.facts.project.name_of(parent.value, scope, self.facts.module) or ""
        return name.startswith(("typing.", "typing_extensions."))

    def _in_strings(self, homes: set[_Name]) -> Iterator[RetiredUse]:
        """Annotations in quotes that name a sentinel."""
        words = {"NotMapped", "not_mapped", *(name for _, name in homes)}
        for node in ast.walk(self.facts.tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if not any(word in node.value for word in words) or not annotated(
                node, self.facts.module
            ):
                continue
            scope = self._scope_around(node)
            for inner in _parts(node.value):
                dotted = self.facts.project.name_of(inner, scope, self.facts.module)
                if dotted in RETIRED_SENTINELS:
                    self._keep_root(inner, scope)
                    yield RetiredUse(node, f"{_gone(dotted)}; it stands in a string")
                    break

    def _keep_root(self, expr: ast.expr, scope: Scope) -> None:
        while isinstance(expr, ast.Attribute):
            expr = expr.value
        owner = scope.owner(expr.id) if isinstance(expr, ast.Name) else None
        if owner is not None and isinstance(expr, ast.Name):
            self.kept.add((owner, expr.id))

    def _imports(self, imported: list[_Imported]) -> Iterator[RetiredUse]:
        """The `from` imports of sentinels, each without them."""
        by_statement: dict[ast.ImportFrom, list[_Imported]] = {}
        for each in imported:
            by_statement.setdefault(each.statement, []).append(each)
        below: list[tuple[str, str]] = []
        place = self._place_below(by_statement)
        for statement, ours in by_statement.items():
            all_go = len(ours) == len(statement.names)
            stays = all_go and not self.facts.fills_lines(statement)
            bound: list[tuple[str, str]] = []
            for each in ours:
                if stays or self._is_asked_for(each.home, each.alias):
                    apart = not stays and place is not None and self._can_move(each)
                    (below if apart else bound).append(_value(each))
            names = frozenset(each.alias.name for each in ours)
            reason = ", ".join(dict.fromkeys(_gone(each.dotted) for each in ours))
            yield RetiredUse(statement, reason, Unimported(names, tuple(bound)))
        if place is not None and below:
            names_below = tuple(dict.fromkeys(below))
            yield RetiredUse(place, "somebody may still ask for it here", Bound(names_below))

    def _place_below(self, changed: Mapping[ast.ImportFrom, list[_Imported]]) -> ast.stmt | None:
        """The last import at the top of the module, if what goes below it can stand apart there.

        It cannot if the module begins with that import, and may go on without it.
        """
        place = place_for_helper(self.facts.module)
        if place is None:
            return None
        line, _ = self.facts.lines.position(self.facts.span(place).end)
        goes = not isinstance(place, ast.ImportFrom) or (
            len(changed.get(place, ())) in (0, len(place.names))
        )
        if line == self.facts.lines.line_count or (goes and place is self.facts.tree.body[0]):
            return None
        return place

    def _can_move(self, each: _Imported) -> bool:
        """Whether a name can be bound behind the imports, where no comment can keep it from being so."""
        parent = self.scopes.parents.get(each.statement)
        return isinstance(parent, ast.Module) and _SKIP not in self.facts.text

    def _is_asked_for(self, home: _Name, alias: ast.alias) -> bool:
        """Whether a name must stay bound once the uses that can be edited are."""
        scope, name = home
        if home in self.kept or scope.is_class or alias.asname == alias.name:
            return True
        if name in self.scopes.shared_names or _SKIP in self.facts.text:
            return True
        return isinstance(scope.node, ast.Module) and self._is_public(name)

    def _is_public(self, name: str) -> bool:
        """Whether a module's own name may be asked for from outside, or by a string."""
        if self.facts.path.rpartition("/")[2] == "__init__.py":
            return True
        strings = (n.value for n in ast.walk(self.facts.tree) if isinstance(n, ast.Constant))
        return name in strings or any(
            self._asks(other, name) for other in self._others_that_mention(name)
        )

    def _others_that_mention(self, name: str) -> Iterator[Module]:
        project = self.facts.project
        for path in sorted(project.paths - {self.facts.path}):
            text = project.text(path)
            other = project.module(path) if name in text or "import *" in text else None
            if other is not None:
                yield other

    def _asks(self, other: Module, name: str) -> bool:
        """Whether another module takes `name` from this one."""
        project, path = self.facts.project, self.facts.path
        for statement, _ in other.scopes.from_imports:
            if {name, "*"} & {alias.name for alias in statement.names}:
                source = "." * statement.level + (statement.module or "")
                if project.file_of(source, other) == path:
                    return True
        return any(
            isinstance(owner, Submodule) and owner.module.path == path
            for node, scope in other.scopes.attributes
            if node.attr == name
            for owner in project.resolve(node.value, scope, other)
        )

    def _module_imports(self) -> Iterator[RetiredUse]:
        """Imports of the batching module itself that nothing needs any more."""
        changes: dict[ast.ImportFrom | ast.Import, list[ast.alias]] = {}
        for home in self.gone:
            alias = self._batching_alias(home)
            statement = None if alias is None else self.scopes.parents.get(alias)
            if alias is None or not isinstance(statement, ast.ImportFrom | ast.Import):
                continue
            if not self._is_used(home) and not self._is_asked_for(home, alias):
                changes.setdefault(statement, []).append(alias)
        for statement, aliases in changes.items():
            partly = isinstance(statement, ast.ImportFrom) and len(aliases) < len(statement.names)
            whole = len(aliases) == len(statement.names) and self.facts.fills_lines(statement)
            if whole or (partly and "#" not in self.facts.source(statement)):
                names = frozenset(alias.name for alias in aliases)
                yield RetiredUse(statement, "nothing uses this import any more", Unimported(names))

    def _batching_alias(self, home: _Name) -> ast.alias | None:
        """The import that alone binds a name, to the batching module itself."""
        scope, name = home
        bindings = scope.bindings.get(name, [])
        if len(bindings) != 1 or bindings[0].kind is not Kind.IMPORT:
            return None
        node = bindings[0].node
        by_name = bindings[0].target in BATCHING_MODULES
        return node if by_name and isinstance(node, ast.alias) else None

    def _is_used(self, home: _Name) -> bool:
        scope, name = home
        used = sum(
            1 for node, at in self.scopes.names if node.id == name and at.owner(name) is scope
        )
        return used > self.gone[home]


def annotated(node: ast.AST, module: Module) -> bool:
    """Whether an expression is an annotation, or a part of one by `|` and square brackets."""
    parents = module.scopes.parents
    parent = parents.get(node)
    while True:
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.BitOr):
            pass
        elif not isinstance(parent, ast.Tuple | ast.List) and not (
            isinstance(parent, ast.Subscript) and node is parent.slice
        ):
            break
        node, parent = parent, parents.get(parent)
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
        return node is parent.returns
    return isinstance(parent, ast.arg | ast.AnnAssign) and node is parent.annotation


def _value(imported: _Imported) -> tuple[str, str]:
    """A name and what it was bound to, spelled."""
    return imported.home[1], "None" if imported.dotted in NOT_MAPPED else "type(None)"


def _gone(dotted: str) -> str:
    if dotted in NOT_MAPPED:
        return f"{dotted} was None and is gone from JAX 0.10.2"
    return f"{dotted} was the type of None and is gone from JAX 0.10.0"


def _by_star(spot: _Spot) -> bool:
    return spot.root is None and isinstance(spot.node, ast.Name)


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is for a name that is not there."""
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {expr.id for expr in caught if isinstance(expr, ast.Name)}
    return bool(names & (_FALLS_BACK | {"Exception"}))


def _binds(statement: ast.stmt, name: str) -> bool:
    """Whether a statement binds a name to a value, or defines it."""
    if isinstance(statement, ast.Assign):
        return any(isinstance(t, ast.Name) and t.id == name for t in statement.targets)
    return isinstance(statement, ast.ClassDef) and statement.name == name


def _asks_for(test: ast.expr, node: ast.expr) -> bool:
    """Whether a test is `hasattr(owner, name)` for the attribute `node`."""
    if not isinstance(test, ast.Call) or len(test.args) != 2 or not isinstance(node, ast.Attribute):
        return False
    asked = test.args[1]
    by_name = isinstance(test.func, ast.Name) and test.func.id == "hasattr"
    return by_name and isinstance(asked, ast.Constant) and asked.value == node.attr


def _binds_tighter(parent: ast.AST | None, node: ast.expr) -> bool:
    """Whether a comparison in the place of `node` needs parentheses."""
    if isinstance(parent, ast.Call):
        return parent.func is node
    if isinstance(parent, ast.Subscript):
        return parent.value is node
    if isinstance(parent, ast.UnaryOp):
        return not isinstance(parent.op, ast.Not)
    return isinstance(parent, ast.Compare | ast.BinOp | ast.Attribute | ast.Await | ast.Starred)


def _parts(text: str) -> Iterator[ast.expr]:
    """The names and attributes in an annotation that stands in quotes."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            yield node
