"""The placeholder by name: what a user may give for it, how it is written in a file, how it is asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jaxmigrate.analysis.project import Definition, External, Module, Project
from jaxmigrate.analysis.scopes import Kind
from jaxmigrate.analysis.trees.classes import Classes
from jaxmigrate.errors import UsageError

_TUPLES: Final = frozenset({"typing.NamedTuple", "typing_extensions.NamedTuple", "builtins.tuple"})
_KNOWN_TUPLES: Final = frozenset({"optax.MaskedNode", "optax.EmptyState"})
"""Classes of libraries that are empty NamedTuples: false, and equal to each other."""


@dataclass(frozen=True, slots=True)
class Sentinel:
    """What is to stand where a tree holds no value.

    `text` is `()`, `{}` or the call of a class without arguments; `cls` the class by its dotted name,
    empty for the two others; `home` the path of the file that defines it, if the project does. `falsy`,
    `equal` and `hashable` say whether it is false, equal to another of its kind, and has a hash;
    `bases` are the built-in classes that it is an object of.
    """

    text: str
    cls: str = ""
    home: str = ""
    falsy: bool = True
    equal: bool = True
    hashable: bool = True
    bases: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Spelling:
    """How the sentinel's class is named in a file, the import that it takes, and where it is bound."""

    name: str
    imported: str | None = None
    since: int = 0


@dataclass(frozen=True, slots=True)
class Unspeakable:
    """Why the sentinel cannot be named in a file."""

    reason: str


def parse_sentinel(text: str, project: Project) -> Sentinel:
    """The sentinel that `text` describes. Raises UsageError, in words, for what cannot be one."""
    try:
        expr = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise UsageError(f"--sentinel {text!r} is no Python expression") from None
    if isinstance(expr, ast.Tuple) and not expr.elts:
        return Sentinel("()", bases=frozenset({"builtins.tuple"}))
    if isinstance(expr, ast.Dict) and not expr.keys:
        return Sentinel("{}", hashable=False, bases=frozenset({"builtins.dict"}))
    if isinstance(expr, ast.Call) and not expr.args and not expr.keywords:
        dotted = _dotted(expr.func)
        if dotted is not None:
            return _of_class(dotted, project)
    raise UsageError(
        f"--sentinel {text!r} is no empty pytree: it may be (), {{}} "
        "or the call of a class without arguments, as optax.MaskedNode()"
    )


def _dotted(expr: ast.expr) -> str | None:
    if isinstance(expr, ast.Name):
        return expr.id
    if isinstance(expr, ast.Attribute):
        owner = _dotted(expr.value)
        return None if owner is None else f"{owner}.{expr.attr}"
    return None


def _of_class(dotted: str, project: Project) -> Sentinel:
    found = list(_definitions(dotted, project))
    if len(found) > 1:
        places = ", ".join(f"{d.module.path}:{d.node.lineno}" for d in found)
        raise UsageError(f"--sentinel {dotted}(): the project has several of that name: {places}")
    if found:
        return of_definition(found[0], project)
    if "." not in dotted:
        raise UsageError(
            f"--sentinel {dotted}(): the project has no class {dotted} at the top of a module; "
            "a class of a library is written with its module, as optax.MaskedNode()"
        )
    known = dotted in _KNOWN_TUPLES
    bases = frozenset({"builtins.tuple"}) if known else frozenset({"?"})
    return Sentinel(f"{dotted}()", dotted, "", known, known, known, bases)


def _definitions(dotted: str, project: Project) -> Iterator[Definition]:
    """The classes of the project that go by a name, at the top of their modules."""
    prefix, _, name = dotted.rpartition(".")
    for path in sorted(project.paths):
        module = project.module(path)
        if module is None:
            continue
        parts = path.removesuffix(".py").removesuffix("/__init__")
        if prefix and not f".{parts.replace('/', '.')}".endswith(f".{prefix}"):
            continue
        for binding in module.scopes.module.bindings.get(name, ()):
            if isinstance(binding.node, ast.ClassDef):
                yield Definition(module, binding.node, module.scopes.module)


def of_definition(definition: Definition, project: Project) -> Sentinel:
    """The sentinel that a class of the project makes. Raises UsageError if it is no empty pytree."""
    node = definition.node
    assert isinstance(node, ast.ClassDef)
    facts = Classes(project).facts(definition)
    where = f"{definition.module.path}:{node.lineno}"
    if facts.children is None or facts.fields or facts.has_init:
        raise UsageError(
            f"--sentinel {node.name}(): {where} is no empty pytree, so it would be a leaf"
        )
    names = {project.name_of(base, definition.scope, definition.module) for base in node.bases}
    is_tuple = bool(names & _TUPLES)
    methods = {getattr(statement, "name", "") for statement in node.body}
    is_dataclass = any("dataclass" in ast.unparse(d) for d in node.decorator_list)
    return Sentinel(
        f"{node.name}()",
        node.name,
        definition.module.path,
        falsy=is_tuple and "__bool__" not in methods and "__len__" not in methods,
        equal=is_tuple or is_dataclass or "__eq__" in methods,
        hashable=is_tuple or "__hash__" in methods or not (is_dataclass or "__eq__" in methods),
        bases=frozenset({"builtins.tuple"} if is_tuple else ()) | _lineage(definition, project),
    )


def _lineage(definition: Definition, project: Project) -> frozenset[str]:
    """The classes that a class inherits from, "?" among them for one that is not known."""
    found: set[str] = set()
    for owner in Classes(project).lineage(definition):
        assert isinstance(owner.node, ast.ClassDef)
        found.add(f"project.{owner.node.name}")
        for base in owner.node.bases:
            for entity in project.resolve(base, owner.scope, owner.module):
                if isinstance(entity, External):
                    found.add(entity.name)
    return frozenset(found)


def spelled(sentinel: Sentinel, module: Module, project: Project) -> Spelling | Unspeakable:
    """How the sentinel's class is named in a module, everywhere in it."""
    if not sentinel.cls:
        return Spelling("")
    name = _bound_name(sentinel, module, project)
    if name is not None:
        (binding,) = module.scopes.module.bindings[name.partition(".")[0]]
        return Spelling(name, since=getattr(binding.node, "end_lineno", 0))
    root = sentinel.cls.partition(".")[0]
    if _is_bound_anywhere(root, module):
        return Unspeakable(_why_bound(root, module))
    if not sentinel.home:
        return Spelling(sentinel.cls, f"import {sentinel.cls.rpartition('.')[0]}")
    home = project.module(sentinel.home)
    assert home is not None
    if _reaches(home, module, project):
        return Unspeakable(f"{sentinel.home}, which defines it, imports {module.path}")
    dotted = _importable(sentinel.home, module, project)
    if dotted is None:
        return Unspeakable(f"how {module.path} can import {sentinel.home} is not known")
    return Spelling(sentinel.cls, f"from {dotted} import {sentinel.cls}")


def _bound_name(sentinel: Sentinel, module: Module, project: Project) -> str | None:
    """The name that the top of the module has for the class, and no other scope hides."""
    scope = module.scopes.module
    for name, bindings in scope.bindings.items():
        if len(bindings) != 1 or _is_hidden(name, module):
            continue
        node = bindings[0].node
        if sentinel.home:
            for entity in project.lookup(name, scope, module):
                if not isinstance(entity, Definition) or entity.module.path != sentinel.home:
                    continue
                if entity.node.name == sentinel.cls:
                    return name
            continue
        if (
            not isinstance(node, ast.alias)
            or module.scopes.parents.get(module.scopes.parents[node]) is not module.tree
        ):
            continue
        found = project.lookup(name, scope, module)
        if len(found) == 1 and isinstance(found[0], External):
            outer = found[0].name
            if sentinel.cls == outer:
                return name
            if sentinel.cls.rpartition(".")[0] == outer:
                return f"{name}.{sentinel.cls.rpartition('.')[2]}"
    return None


def _is_hidden(name: str, module: Module) -> bool:
    top = module.scopes.module
    return any(
        name in scope.bindings for scope in module.scopes.scope_of.values() if scope is not top
    )


def _is_bound_anywhere(name: str, module: Module) -> bool:
    return any(name in scope.bindings for scope in module.scopes.scope_of.values())


def _why_bound(name: str, module: Module) -> str:
    """What the file has for a name that the sentinel needs."""
    found = [
        binding
        for scope in {module.scopes.module, *module.scopes.scope_of.values()}
        for binding in scope.bindings.get(name, ())
    ]
    if not all((binding.target or "").partition(".")[0] == name for binding in found):
        return f"{name} is another thing in {module.path}"
    places = sorted({_import_place(binding.node, module) for binding in found})
    return f"{name} is imported only {' and '.join(places)} ({module.path})"


def _import_place(node: ast.AST, module: Module) -> str:
    for outer in module.scopes.enclosing(node):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            return f"inside {outer.name}()"
        if isinstance(outer, ast.If) and "TYPE_CHECKING" in ast.unparse(outer.test):
            return "under TYPE_CHECKING"
        if isinstance(outer, ast.ClassDef):
            return f"inside {outer.name}"
    return "in a part of the file"


def _reaches(start: Module, goal: Module, project: Project) -> bool:
    """Whether importing `start` imports `goal`, so that `goal` importing it would be a circle."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module is goal:
            return True
        if module.path in seen:
            continue
        seen.add(module.path)
        for bindings in module.scopes.module.bindings.values():
            for binding in bindings:
                if binding.kind is Kind.IMPORT and binding.target is not None:
                    waiting.extend(_imported(binding.target, module, project))
    return False


def _imported(target: str, module: Module, project: Project) -> Iterator[Module]:
    dots = len(target) - len(target.lstrip("."))
    parts = target[dots:].split(".")
    folder = module.path.split("/")[:-1]
    base = folder[: len(folder) - (dots - 1)] if dots > 1 else folder
    for end in range(len(parts), 0, -1):
        tail = "/".join(parts[:end])
        for path in project.paths:
            stem = path.removesuffix(".py").removesuffix("/__init__")
            near = (
                stem == "/".join([*base, tail])
                if dots
                else stem == tail or stem.endswith(f"/{tail}")
            )
            if near:
                found = project.module(path)
                if found is not None:
                    yield found


def _importable(path: str, importer: Module, project: Project) -> str | None:
    """The dotted name by which a file can be imported from another, or None if that is not known."""
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    start = len(parts) - 1 if not path.endswith("__init__.py") else len(parts)
    while start > 0 and "/".join([*parts[:start], "__init__.py"]) in project.paths:
        start -= 1
    dotted = ".".join(parts[start:])
    in_package = start < len(parts) - 1 or path.endswith("__init__.py")
    beside = importer.path.split("/")[:-1] == path.split("/")[:-1]
    return dotted if in_package or beside else None
