"""Scopes and bindings of one module: who binds a name, seen from a place in the source.

One pass over the syntax tree. It follows Python's rules (class bodies are invisible to functions in
them, comprehensions have scopes of their own, `global` and `nonlocal`), and knows nothing of JAX.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
ScopeNode: TypeAlias = ast.Module | ast.ClassDef | Function | Comprehension

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Kind(enum.Enum):
    """How a name is bound."""

    IMPORT = enum.auto()
    FUNCTION = enum.auto()
    CLASS = enum.auto()
    PARAMETER = enum.auto()
    ASSIGN = enum.auto()
    OTHER = enum.auto()


@dataclass(frozen=True, slots=True)
class Binding:
    """One place that binds a name.

    `node` is the binding node (`alias`, `FunctionDef`, `arg`, `Name` …); `value` the expression that
    is bound, where the binding is a plain `name = value`; `target` the dotted name an import binds.
    A relative import's target starts with its dots (`..utils.f`).
    """

    kind: Kind
    node: ast.AST
    value: ast.expr | None = None
    target: str | None = None


@dataclass(slots=True, eq=False)
class Scope:
    """A scope and what it binds. `parent` is the scope it stands in, None for the module."""

    node: ScopeNode
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    rebound_outside: dict[str, str] = field(default_factory=dict)
    star_imports: list[str] = field(default_factory=list)
    _owners: dict[str, Scope | None] = field(default_factory=dict)

    @property
    def is_class(self) -> bool:
        """Whether this is a class body, which functions inside it cannot see."""
        return isinstance(self.node, ast.ClassDef)

    @property
    def function(self) -> Scope:
        """The nearest function, class or module scope: where a walrus in a comprehension binds."""
        scope = self
        while isinstance(scope.node, COMPREHENSIONS) and scope.parent is not None:
            scope = scope.parent
        return scope

    def chain(self) -> Iterator[Scope]:
        """The scopes that a name used here is looked up in, innermost first."""
        yield self
        scope = self.parent
        while scope is not None:
            if not scope.is_class:
                yield scope
            scope = scope.parent

    def owner(self, name: str) -> Scope | None:
        """The scope whose binding a use of `name` here refers to, or None if nothing binds it.

        To be asked only once the whole module has been read.
        """
        if name not in self._owners:
            self._owners[name] = self._find_owner(name)
        return self._owners[name]

    def _find_owner(self, name: str) -> Scope | None:
        for scope in self.chain():
            elsewhere = scope.rebound_outside.get(name)
            if elsewhere == "global":
                return next((s for s in [*scope.chain()][-1:] if name in s.bindings), None)
            if name in scope.bindings and elsewhere is None:
                return scope
        return None


class ScopeTree:
    """All scopes of a module, with the nodes that later questions start from.

    `calls`, `attributes` and `loads` are the module's calls, attribute reads and name reads in source
    order, each with the scope it is evaluated in; `imports` the `from` imports; `parents` maps every
    expression and statement to the node it stands in.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.module = Scope(tree, None)
        self.scope_of: dict[ScopeNode, Scope] = {tree: self.module}
        self.calls: list[tuple[ast.Call, Scope]] = []
        self.attributes: list[tuple[ast.Attribute, Scope]] = []
        self.names: list[tuple[ast.Name, Scope]] = []
        self.from_imports: list[tuple[ast.ImportFrom, Scope]] = []
        self.parents: dict[ast.AST, ast.AST] = {}
        self.shared_names: set[str] = set()
        for statement in tree.body:
            self._visit(statement, self.module, tree)

    def enclosing(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes that `node` stands in, innermost first, the module last."""
        parents = self.parents
        current = parents.get(node)
        while current is not None:
            yield current
            current = parents.get(current)

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The statement that `node` is part of (itself, if it is one)."""
        if isinstance(node, ast.stmt):
            return node
        return next(outer for outer in self.enclosing(node) if isinstance(outer, ast.stmt))

    def _visit(self, node: ast.AST, scope: Scope, parent: ast.AST) -> None:
        self.parents[node] = parent
        special = _SPECIAL.get(node.__class__)
        if special is not None:
            special(self, node, scope)
        else:
            self._children(node, scope)

    def _children(self, node: ast.AST, scope: Scope) -> None:
        # Most of the time of reading a module goes by here, so nothing is called that need not be.
        parents, specials, children = self.parents, _SPECIAL, self._children
        for name in node._fields:
            value: Any = getattr(node, name, None)
            for item in value if value.__class__ is list else (value,):
                kind: Any = item.__class__
                if kind in _NO_NODES:
                    continue
                parents[item] = node
                special = specials.get(kind)
                if special is not None:
                    special(self, item, scope)
                elif kind is not ast.Constant:
                    children(item, scope)

    def _open(self, node: ScopeNode, parent: Scope) -> Scope:
        scope = Scope(node, parent)
        self.scope_of[node] = scope
        return scope

    def _call(self, node: ast.Call, scope: Scope) -> None:
        self.calls.append((node, scope))
        self._children(node, scope)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        self.attributes.append((node, scope))
        self._visit(node.value, scope, node)

    def _name(self, node: ast.Name, scope: Scope) -> None:
        if node.ctx.__class__ is ast.Load:
            self.names.append((node, scope))
        else:
            self._bind(scope, node.id, Binding(Kind.OTHER, node))

    def _bind(self, scope: Scope, name: str, binding: Binding) -> None:
        scope.bindings.setdefault(name, []).append(binding)
        if name in scope.rebound_outside:
            home = _home(scope, name)
            if home is not scope:
                home.bindings.setdefault(name, []).append(binding)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        self._bind(scope, node.name, Binding(Kind.FUNCTION, node))
        for decorator in node.decorator_list:
            self._visit(decorator, scope, node)
        if node.returns is not None:
            self._visit(node.returns, scope, node)
        inner = self._open(node, scope)
        self._parameters(node.args, scope, inner, node)
        for statement in node.body:
            self._visit(statement, inner, node)

    def _lambda(self, node: ast.Lambda, scope: Scope) -> None:
        inner = self._open(node, scope)
        self._parameters(node.args, scope, inner, node)
        self._visit(node.body, inner, node)

    def _parameters(
        self, args: ast.arguments, outside: Scope, inside: Scope, parent: ast.AST
    ) -> None:
        self.parents[args] = parent
        for arg in all_parameters(args):
            self.parents[arg] = args
            self._bind(inside, arg.arg, Binding(Kind.PARAMETER, arg))
            if arg.annotation is not None:
                self._visit(arg.annotation, outside, arg)
        for default in (*args.defaults, *args.kw_defaults):
            if default is not None:
                self._visit(default, outside, args)

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        self._bind(scope, node.name, Binding(Kind.CLASS, node))
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self._visit(part, scope, node)
        inner = self._open(node, scope)
        for statement in node.body:
            self._visit(statement, inner, node)

    def _comprehension(self, node: Comprehension, scope: Scope) -> None:
        inner = self._open(node, scope)
        for position, generator in enumerate(node.generators):
            self.parents[generator] = node
            self._visit(generator.iter, scope if position == 0 else inner, generator)
            self._visit(generator.target, inner, generator)
            for condition in generator.ifs:
                self._visit(condition, inner, generator)
        if isinstance(node, ast.DictComp):
            self._visit(node.key, inner, node)
            self._visit(node.value, inner, node)
        else:
            self._visit(node.elt, inner, node)

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        for target in node.targets:
            self._target(target, node.value, scope, node)
        self._visit(node.value, scope, node)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None or scope.is_class:
            self._target(node.target, node.value, scope, node)
        self._visit(node.annotation, scope, node)
        if node.value is not None:
            self._visit(node.value, scope, node)

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> None:
        self.parents[node.target] = node
        binding = Binding(Kind.OTHER, node.target, node.value)
        self._bind(scope.function, node.target.id, binding)
        self._visit(node.value, scope, node)

    def _target(
        self, target: ast.expr, value: ast.expr | None, scope: Scope, parent: ast.AST
    ) -> None:
        if isinstance(target, ast.Name):
            self.parents[target] = parent
            self._bind(scope, target.id, Binding(Kind.ASSIGN, target, value))
        else:
            self._visit(target, scope, parent)

    def _import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            self.parents[alias] = node
            name = alias.asname or alias.name.partition(".")[0]
            target = alias.name if alias.asname else name
            self._bind(scope, name, Binding(Kind.IMPORT, alias, target=target))

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        self.from_imports.append((node, scope))
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            self.parents[alias] = node
            if alias.name == "*":
                scope.star_imports.append(module)
                continue
            joined = module + alias.name if module.endswith(".") else f"{module}.{alias.name}"
            self._bind(
                scope, alias.asname or alias.name, Binding(Kind.IMPORT, alias, target=joined)
            )

    def _global(self, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
        how = "global" if isinstance(node, ast.Global) else "nonlocal"
        for name in node.names:
            scope.rebound_outside[name] = how
            self.shared_names.add(name)

    def _named(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar, scope: Scope) -> None:
        if node.name is not None:
            self._bind(scope, node.name, Binding(Kind.OTHER, node))
        self._children(node, scope)

    def _mapping_pattern(self, node: ast.MatchMapping, scope: Scope) -> None:
        if node.rest is not None:
            self._bind(scope, node.rest, Binding(Kind.OTHER, node))
        self._children(node, scope)


_NO_NODES = frozenset(
    {type(None), str, int, bool, bytes, float, complex, type(...), ast.Load, ast.Store, ast.Del}
    | {*ast.operator.__subclasses__(), *ast.unaryop.__subclasses__()}
    | {*ast.cmpop.__subclasses__(), *ast.boolop.__subclasses__()}
)
_SPECIAL: dict[type[ast.AST], Callable[..., None]] = {
    ast.Call: ScopeTree._call,
    ast.Attribute: ScopeTree._attribute,
    ast.Name: ScopeTree._name,
    ast.FunctionDef: ScopeTree._function,
    ast.AsyncFunctionDef: ScopeTree._function,
    ast.Lambda: ScopeTree._lambda,
    ast.ClassDef: ScopeTree._class,
    ast.ListComp: ScopeTree._comprehension,
    ast.SetComp: ScopeTree._comprehension,
    ast.DictComp: ScopeTree._comprehension,
    ast.GeneratorExp: ScopeTree._comprehension,
    ast.Assign: ScopeTree._assign,
    ast.AnnAssign: ScopeTree._annotated,
    ast.NamedExpr: ScopeTree._walrus,
    ast.Import: ScopeTree._import,
    ast.ImportFrom: ScopeTree._import_from,
    ast.Global: ScopeTree._global,
    ast.Nonlocal: ScopeTree._global,
    ast.ExceptHandler: ScopeTree._named,
    ast.MatchAs: ScopeTree._named,
    ast.MatchStar: ScopeTree._named,
    ast.MatchMapping: ScopeTree._mapping_pattern,
}


def all_parameters(args: ast.arguments) -> list[ast.arg]:
    """Every parameter of a signature, in the order of its source text."""
    found = [*args.posonlyargs, *args.args]
    if args.vararg is not None:
        found.append(args.vararg)
    found.extend(args.kwonlyargs)
    if args.kwarg is not None:
        found.append(args.kwarg)
    return found


def _home(scope: Scope, name: str) -> Scope:
    """The scope that `global` or `nonlocal` in `scope` sends a binding of `name` to."""
    if scope.rebound_outside[name] == "global":
        while scope.parent is not None:
            scope = scope.parent
        return scope
    outer = scope.parent
    while outer is not None:
        if not outer.is_class and name in outer.bindings and name not in outer.rebound_outside:
            return outer
        outer = outer.parent
    return scope
