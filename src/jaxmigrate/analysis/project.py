"""What a name means, across the files of a project: from a use to the JAX function, or to a definition.

Modules are parsed when first asked for, so a question costs what it touches. Nothing here reads
files: the project is given its paths and a way to load one.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

from jaxmigrate.analysis.jaxnames import star_import_provides
from jaxmigrate.analysis.scopes import Binding, Kind, Scope, ScopeTree

MAX_HOPS: Final = 12
"""How many imports and aliases are followed before a name counts as unknown (cycles end here)."""

EXTERNAL_ONLY: Final = frozenset({"jax", "jaxlib", "numpy", "functools", "typing"})
"""Top-level modules that are never taken for a project's own file of the same name."""


_ALL: Final = "__all__"


@dataclass(frozen=True, slots=True)
class External:
    """Something outside the project, by its dotted name: `jax.tree.map`, `builtins.len`."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """One parsed file. `path` is relative with `/`; `scopes` are those of `tree`.

    `memo` is for facts about it that are asked for more than once.
    """

    path: str
    tree: ast.Module
    scopes: ScopeTree
    memo: dict[str, object] = field(default_factory=dict)

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class that the project defines, with the module and scope it stands in."""

    module: Module
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    scope: Scope


@dataclass(frozen=True, slots=True)
class Value:
    """A name bound to an expression that is no plain name: `f = partial(g, 1)`, `f = lambda x: x`."""

    module: Module
    expr: ast.expr
    scope: Scope


@dataclass(frozen=True, slots=True)
class Submodule:
    """A module of the project, as a value."""

    module: Module


Entity: TypeAlias = External | Definition | Value | Submodule


def module_of(path: str, tree: ast.Module) -> Module:
    """The module of a syntax tree, its scopes read."""
    return Module(path, tree, ScopeTree(tree))


class Project:
    """The files of a project and the names in them.

    `paths` are relative with `/`; `load` gives a path's text, or None if it cannot be read;
    `aliases` are further names that may stand for tree maps (`tmap = jax.tree.map`).
    """

    def __init__(
        self,
        paths: Iterable[str],
        load: Callable[[str], str | None],
        aliases: Iterable[str] = (),
    ) -> None:
        self.paths = frozenset(paths)
        self.aliases = frozenset(aliases)
        self._load = load
        self._modules: dict[str, Module | None] = {}
        self._by_suffix: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            self._index(path)

    def module(self, path: str) -> Module | None:
        """The parsed module at `path`, or None if there is none or it does not parse."""
        if path not in self._modules:
            self._modules[path] = self._parse(path)
        return self._modules[path]

    def text(self, path: str) -> str:
        """The text of a file; empty if it cannot be read."""
        return self._load(path) or ""

    def resolve(self, expr: ast.expr, scope: Scope, module: Module) -> tuple[Entity, ...]:
        """What an expression of names and dots may mean, seen from `scope`.

        Several entities where several imports or definitions bind the name (`try: … except
        ImportError: …`); none where any of the bindings cannot be told.
        """
        return self._resolve(expr, scope, module, MAX_HOPS)

    def name_of(self, expr: ast.expr, scope: Scope, module: Module) -> str | None:
        """The one dotted name outside the project that `expr` stands for, or None."""
        entities = self.resolve(expr, scope, module)
        names = {entity.name for entity in entities if isinstance(entity, External)}
        if len(names) == 1 and all(isinstance(entity, External) for entity in entities):
            return names.pop()
        return None

    def lookup(self, name: str, scope: Scope, module: Module) -> tuple[Entity, ...]:
        """What the plain name `name` may mean in `scope`; see `resolve`."""
        return self._lookup(name, scope, module, MAX_HOPS)

    def member(self, owner: Entity, name: str) -> tuple[Entity, ...]:
        """What attribute `name` of an entity may mean."""
        return self._member(owner, name, MAX_HOPS)

    def file_of(self, dotted: str, importer: Module) -> str | None:
        """The path of the project's module that `dotted`, with dots in front if relative, names there."""
        return self._find(dotted, importer)

    def _parse(self, path: str) -> Module | None:
        text = self._load(path) if path in self.paths else None
        if text is None:
            return None
        try:
            return module_of(path, ast.parse(text, filename=path))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def _index(self, path: str) -> None:
        parts = _module_parts(path)
        for start in range(len(parts)):
            self._by_suffix.setdefault(".".join(parts[start:]), []).append(path)

    def _resolve(
        self, expr: ast.expr, scope: Scope, module: Module, hops: int
    ) -> tuple[Entity, ...]:
        if isinstance(expr, ast.Name):
            return self._lookup(expr.id, scope, module, hops)
        if isinstance(expr, ast.Attribute):
            owners = self._resolve(expr.value, scope, module, hops)
            return _all_known([self._member(owner, expr.attr, hops) for owner in owners])
        return ()

    def _lookup(self, name: str, scope: Scope, module: Module, hops: int) -> tuple[Entity, ...]:
        if hops <= 0:
            return ()
        owner = scope.owner(name)
        if owner is None:
            return self._unbound(name, module, hops)
        bindings = [b for b in owner.bindings[name] if not _is_none(b.value)]
        return _all_known([self._bound(binding, owner, module, hops) for binding in bindings])

    def _bound(
        self, binding: Binding, scope: Scope, module: Module, hops: int
    ) -> tuple[Entity, ...]:
        node = binding.node
        if binding.kind is Kind.IMPORT and binding.target is not None:
            return self._dotted(binding.target, module, hops - 1)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return (Definition(module, node, scope),)
        if binding.kind is Kind.ASSIGN and binding.value is not None:
            if isinstance(binding.value, ast.Name | ast.Attribute):
                return self._resolve(binding.value, scope, module, hops - 1)
            return (Value(module, binding.value, scope),)
        return ()

    def _unbound(self, name: str, module: Module, hops: int) -> tuple[Entity, ...]:
        found = self._starred(name, module, hops)
        if found:
            return found
        return (External(f"builtins.{name}"),) if hasattr(builtins, name) else ()

    def _starred(self, name: str, module: Module, hops: int) -> tuple[Entity, ...]:
        """What the last `import *` of a module that provides `name` brings."""
        for source in reversed(module.scopes.module.star_imports):
            found = self._star(source, name, module, hops)
            if found:
                return found
        return ()

    def _star(self, source: str, name: str, module: Module, hops: int) -> tuple[Entity, ...]:
        path = self._find(source, module)
        if path is not None:
            star = self.module(path)
            if star is None or not exports(star, name):
                return ()
            return self._member(Submodule(star), name, hops - 1)
        return (External(f"{source}.{name}"),) if star_import_provides(source, name) else ()

    def _dotted(self, target: str, importer: Module, hops: int) -> tuple[Entity, ...]:
        if hops <= 0:
            return ()
        dots = len(target) - len(target.lstrip("."))
        parts = target[dots:].split(".")
        for end in range(len(parts), 0, -1):
            path = self._find("." * dots + ".".join(parts[:end]), importer)
            if path is not None:
                if end == len(parts):
                    return self._imported_module(path, parts[-1], importer, hops)
                return self._within(path, parts[end:], hops)
        if dots:
            package = self._find("." * dots, importer)
            return () if package is None else self._within(package, parts, hops)
        return (External(target),)

    def _imported_module(
        self, path: str, name: str, importer: Module, hops: int
    ) -> tuple[Entity, ...]:
        """What `from package import name` means where the file at `path` is called so.

        That is the package's own `name`, and the file only if there is none, as there is not while the
        package itself is being imported.
        """
        package = self._package_of(path)
        if package is not None and package is not importer:
            bound = package.scopes.module.bindings.get(name, ())
            if not bound:
                found = self._starred(name, package, hops - 1)
            elif any(_is_deletion(binding) for binding in bound):
                found = ()
            else:
                found = self._lookup(name, package.scopes.module, package, hops - 1)
                if not found and any(binding.kind is not Kind.IMPORT for binding in bound):
                    return ()
            if found:
                return found
        return self._within(path, (), hops)

    def _package_of(self, path: str) -> Module | None:
        """The `__init__.py` of the package that a file is in, its own folder's for one that is none."""
        folder = path.split("/")[:-1]
        init = self._file_in(folder[:-1] if path.endswith("__init__.py") else folder)
        return self.module(init) if init != path and init in self.paths else None

    def _within(self, path: str, parts: Sequence[str], hops: int) -> tuple[Entity, ...]:
        module = self.module(path)
        entities: tuple[Entity, ...] = () if module is None else (Submodule(module),)
        for part in parts:
            entities = _all_known([self._member(entity, part, hops) for entity in entities])
        return entities

    def _member(self, owner: Entity, name: str, hops: int) -> tuple[Entity, ...]:
        if hops <= 0:
            return ()
        if isinstance(owner, External):
            return (External(f"{owner.name}.{name}"),)
        if isinstance(owner, Submodule):
            return self._module_member(owner.module, name, hops)
        if isinstance(owner, Definition) and isinstance(owner.node, ast.ClassDef):
            body = owner.module.scopes.scope_of[owner.node]
            if name in body.bindings:
                return self._lookup(name, body, owner.module, hops)
        return ()

    def _module_member(self, module: Module, name: str, hops: int) -> tuple[Entity, ...]:
        bound = module.scopes.module.bindings.get(name)
        if bound is None:
            found = self._starred(name, module, hops)
        else:
            found = self._lookup(name, module.scopes.module, module, hops)
        if found or not module.path.endswith("__init__.py"):
            return found
        if bound is not None and not any(_is_deletion(binding) for binding in bound):
            return ()
        path = self._file([*_module_parts(module.path), name])
        child = None if path is None else self.module(path)
        return () if child is None else (Submodule(child),)

    def _find(self, dotted: str, importer: Module) -> str | None:
        """The path of the project's module that `dotted` names when `importer` imports it."""
        if dotted.startswith("."):
            return self._find_relative(dotted, importer)
        if dotted.partition(".")[0] in EXTERNAL_ONLY:
            return None
        folder = importer.path.split("/")[:-1]
        candidates = [
            path for path in self._by_suffix.get(dotted, ()) if self._is_root(path, dotted, folder)
        ]
        return max(candidates, key=lambda path: _shared(path.split("/"), folder), default=None)

    def _find_relative(self, dotted: str, importer: Module) -> str | None:
        names = dotted.lstrip(".")
        up = len(dotted) - len(names)
        folder = importer.path.split("/")[:-1]
        if up - 1 > len(folder):
            return None
        base = folder[: len(folder) - (up - 1)]
        return self._file([*base, *(names.split(".") if names else [])])

    def _file(self, parts: Sequence[str]) -> str | None:
        joined = "/".join(parts)
        for path in (f"{joined}.py", f"{joined}/__init__.py" if joined else "__init__.py"):
            if path in self.paths:
                return path
        return None

    def _is_root(self, path: str, dotted: str, folder: Sequence[str]) -> bool:
        """Whether the folder that `dotted` starts in can be on `sys.path`: no package, or our own."""
        above = _module_parts(path)[: -len(dotted.split("."))]
        return above == list(folder) or self._file_in(above) not in self.paths

    @staticmethod
    def _file_in(folder: Sequence[str]) -> str:
        return "/".join([*folder, "__init__.py"])


def exports(module: Module, name: str) -> bool:
    """Whether `from module import *` brings `name`, if the module has it."""
    if "__all__" not in module.scopes.module.bindings:
        return not name.startswith("_")
    if _ALL not in module.memo:
        module.memo[_ALL] = _listed(module)
    listed = cast("frozenset[str] | None", module.memo[_ALL])
    return not name.startswith("_") if listed is None else name in listed


def _listed(module: Module) -> frozenset[str] | None:
    """What `__all__` lists, None if that cannot be told."""
    parts: list[ast.expr | None] = []
    for binding in module.scopes.module.bindings["__all__"]:
        parent = module.scopes.parents[binding.node]
        added = parent.value if isinstance(parent, ast.AugAssign) else None
        parts.append(binding.value or added)
    for call, _ in module.scopes.calls:
        function = call.func
        if isinstance(function, ast.Attribute) and _is_all(function.value):
            known = function.attr in ("extend", "append") and len(call.args) == 1
            one = function.attr == "append"
            argument = call.args[0] if known else None
            parts.append(ast.List([argument]) if one and argument is not None else argument)
    names = [_strings(part) for part in parts]
    if any(found is None for found in names):
        return None
    return frozenset(name for found in names for name in found or ())


def _strings(expr: ast.expr | None) -> list[str] | None:
    """The strings of a list, or of several added up; None if they cannot be told."""
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
        left, right = _strings(expr.left), _strings(expr.right)
        return None if left is None or right is None else left + right
    if _is_all(expr):
        return []
    if not isinstance(expr, ast.List | ast.Tuple | ast.Set):
        return None
    words = [e.value for e in expr.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return words if len(words) == len(expr.elts) else None


def _is_all(expr: ast.expr | None) -> bool:
    return isinstance(expr, ast.Name) and expr.id == "__all__"


def _module_parts(path: str) -> list[str]:
    parts = path.removesuffix(".py").split("/")
    return parts[:-1] if parts[-1] == "__init__" else parts


def _shared(path: Sequence[str], folder: Sequence[str]) -> int:
    count = 0
    for mine, theirs in zip(path, folder, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _all_known(found: list[tuple[Entity, ...]]) -> tuple[Entity, ...]:
    """The union of several answers, in order, or nothing if one of them is unknown."""
    if not all(found):
        return ()
    return tuple(dict.fromkeys(entity for entities in found for entity in entities))


def _is_deletion(binding: Binding) -> bool:
    return isinstance(binding.node, ast.Name) and isinstance(binding.node.ctx, ast.Del)


def _is_none(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
