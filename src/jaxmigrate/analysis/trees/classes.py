"""Classes of a project: their fields, whether JAX sees into their objects, which methods they have."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jaxmigrate.analysis.project import Definition, External, Module, Project
from jaxmigrate.analysis.scopes import Scope

_PYTREE_BASES: Final = frozenset(
    {
        "typing.NamedTuple",
        "typing_extensions.NamedTuple",
        "equinox.Module",
        "equinox._module.Module",
        "flax.struct.PyTreeNode",
        "penzai.core.struct.Struct",
        "simple_pytree.Pytree",
        "tjax.Module",
        "treeo.Tree",
        "treex.Module",
    }
)
_PYTREE_DECORATORS: Final = frozenset(
    {
        "flax.struct.dataclass",
        "chex.dataclass",
        "chex.mappable_dataclass",
        "jax_dataclasses.pytree_dataclass",
        "jax.tree_util.register_pytree_node_class",
        "jax.tree_util.register_pytree_with_keys_class",
        "jax.tree_util.register_dataclass",
        "jax.tree_util.register_static",
        "tjax.dataclasses.dataclass",
        "penzai.core.struct.pytree_dataclass",
    }
)
_NAMED_TUPLES: Final = ("typing.NamedTuple", "typing_extensions.NamedTuple")
_STATIC_CLASSES: Final = frozenset({"jax.tree_util.register_static"})
_REGISTERING: Final = frozenset(
    {
        "jax.tree_util.register_pytree_node",
        "jax.tree_util.register_pytree_with_keys",
        "jax.tree_util.register_dataclass",
    }
)
_STATIC_OPTIONS: Final = frozenset({("static", True), ("pytree_node", False)})
_CONSTRUCTORS: Final = frozenset({"__init__", "__new__", "__post_init__", "setup"})
_OWN_CONTAINERS: Final = frozenset({"builtins.dict", "builtins.list", "builtins.tuple"})


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a class: its annotation and default as written, and whether JAX sees it."""

    name: str
    annotation: ast.expr | None
    default: ast.expr | None
    node: ast.stmt
    module: Module
    scope: Scope
    static: bool


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """What is known of a class.

    `fields` are those of its bases and its own, in order; `children` the names of the fields that JAX
    sees, None if it takes the object for a leaf.
    """

    fields: tuple[Field, ...]
    children: frozenset[str] | None
    has_init: bool
    bases: tuple[Definition, ...]
    every_attribute: bool


class Classes:
    """Reads classes, each once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._facts: dict[ast.ClassDef, ClassFacts] = {}
        self._stores: dict[ast.AST, Mapping[str, Sequence[ast.expr]]] = {}
        self._registered: dict[Module, dict[str, frozenset[str] | None]] = {}

    def facts(self, definition: Definition) -> ClassFacts:
        """The facts of a class that the project defines."""
        node = definition.node
        assert isinstance(node, ast.ClassDef)
        if node not in self._facts:
            # What a class that inherits from itself sees; also ends the recursion.
            self._facts[node] = ClassFacts((), None, False, (), False)
            self._facts[node] = self._read(definition, node)
        return self._facts[node]

    def method(self, definition: Definition, name: str) -> tuple[Definition, Definition] | None:
        """The method `name` of a class or its bases, with the class that defines it."""
        for owner in self.lineage(definition):
            body = owner.module.scopes.scope_of[owner.node]
            for binding in body.bindings.get(name, ()):
                if isinstance(binding.node, ast.FunctionDef | ast.AsyncFunctionDef):
                    return Definition(owner.module, binding.node, body), owner
        return None

    def stores(
        self, method: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> Mapping[str, Sequence[ast.expr]]:
        """What a method assigns to the attributes of its first parameter, by attribute."""
        if method not in self._stores:
            first = [*method.args.posonlyargs, *method.args.args][:1]
            self._stores[method] = _stores(method, first[0].arg) if first else {}
        return self._stores[method]

    def only_constructed(self, definition: Definition, name: str) -> bool:
        """Whether no method but those that construct an object stores an attribute of it."""
        for owner in self.lineage(definition):
            for method in getattr(owner.node, "body", ()):
                if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    continue
                if not is_constructor(method) and name in self.stores(method):
                    return False
        return True

    def positions(self, definition: Definition) -> tuple[str, ...]:
        """The names of a NamedTuple's parts in order, none for a class that looks its parts up itself."""
        if self.method(definition, "__getitem__") or self.method(definition, "__iter__"):
            return ()
        for owner in self.lineage(definition):
            for base in getattr(owner.node, "bases", ()):
                if self._project.name_of(base, owner.scope, owner.module) in _NAMED_TUPLES:
                    return tuple(f.name for f in self.facts(definition).fields)
        return ()

    def lineage(self, definition: Definition) -> Iterator[Definition]:
        """A class and its bases in the project, nearest first."""
        seen: set[ast.AST] = set()
        waiting = [definition]
        while waiting:
            current = waiting.pop(0)
            if current.node in seen or len(seen) > 20:
                continue
            seen.add(current.node)
            yield current
            waiting.extend(self.facts(current).bases)

    def _read(self, definition: Definition, node: ast.ClassDef) -> ClassFacts:
        bases, outside = self._bases(definition, node)
        decorators = {self._name(d, definition) for d in node.decorator_list}
        inherited = [f for base in bases for f in self.facts(base).fields]
        own = list(self._fields(definition, node))
        names = {f.name for f in own}
        fields = (*(f for f in inherited if f.name not in names), *own)
        is_pytree = bool(
            outside & _PYTREE_BASES
            or decorators & (_PYTREE_DECORATORS - _STATIC_CLASSES)
            or any(self.facts(base).children is not None for base in bases)
        )
        children: frozenset[str] | None = None
        if is_pytree:
            children = frozenset(f.name for f in fields if not f.static)
        registered = self._registrations(definition.module)
        if node.name in registered:
            given = registered[node.name]
            children = frozenset(f.name for f in fields) if given is None else given
        by_class = "jax.tree_util.register_pytree_node_class" in decorators
        by_hand = by_class or node.name in registered
        flattened = self._flattened(node) if by_hand else None
        if flattened is not None:
            children = flattened
        return ClassFacts(
            fields=fields,
            children=children,
            has_init=any(getattr(s, "name", None) == "__init__" for s in node.body),
            bases=tuple(bases),
            every_attribute=is_pytree and not by_hand and not fields,
        )

    def _bases(
        self, definition: Definition, node: ast.ClassDef
    ) -> tuple[list[Definition], frozenset[str]]:
        found: list[Definition] = []
        outside: set[str] = set()
        for base in node.bases:
            expr = base.value if isinstance(base, ast.Subscript) else base
            for entity in self._project.resolve(expr, definition.scope, definition.module):
                if isinstance(entity, Definition) and isinstance(entity.node, ast.ClassDef):
                    found.append(entity)
                elif isinstance(entity, External):
                    outside.add(entity.name)
        return found, frozenset(outside)

    def _fields(self, definition: Definition, node: ast.ClassDef) -> Iterator[Field]:
        body = definition.module.scopes.scope_of[node]
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                if "ClassVar" in ast.dump(statement.annotation):
                    continue
                yield Field(
                    statement.target.id,
                    statement.annotation,
                    self._default(statement.value),
                    statement,
                    definition.module,
                    body,
                    self._is_static(statement.value),
                )

    def _default(self, value: ast.expr | None) -> ast.expr | None:
        """The default that a field has: the value, or what `field(default=…)` says."""
        if not isinstance(value, ast.Call) or not _is_field_call(value):
            return value
        given = {k.arg: k.value for k in value.keywords}
        if "default" in given:
            return given["default"]
        factory = given.get("default_factory")
        return ast.Call(factory, [], []) if factory is not None else None

    @staticmethod
    def _is_static(value: ast.expr | None) -> bool:
        if not isinstance(value, ast.Call):
            return False
        if getattr(value.func, "attr", getattr(value.func, "id", "")) == "static_field":
            return True
        return any(
            (k.arg, getattr(k.value, "value", None)) in _STATIC_OPTIONS
            or (k.arg == "metadata" and "static" in ast.dump(k.value))
            for k in value.keywords
        )

    def _registrations(self, module: Module) -> dict[str, frozenset[str] | None]:
        """The classes that a module registers by a call, with the fields that JAX is to see."""
        if module not in self._registered:
            found: dict[str, frozenset[str] | None] = {}
            for call, scope in module.scopes.calls:
                last = getattr(call.func, "attr", getattr(call.func, "id", ""))
                if not last.startswith("register_") or not call.args:
                    continue
                name = self._project.name_of(call.func, scope, module)
                if name in _REGISTERING and isinstance(call.args[0], ast.Name):
                    found[call.args[0].id] = _data_fields(call) or _children_of(call)
            self._registered[module] = found
        return self._registered[module]

    @staticmethod
    def _flattened(node: ast.ClassDef) -> frozenset[str] | None:
        """The attributes that `tree_flatten` gives as children: those in what it returns first."""
        for statement in node.body:
            if getattr(statement, "name", None) not in ("tree_flatten", "tree_flatten_with_keys"):
                continue
            for inner in ast.walk(statement):
                if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Tuple):
                    return _attributes_of(inner.value.elts[0], statement)
        return None

    def _name(self, decorator: ast.expr, definition: Definition) -> str:
        expr = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(decorator, ast.Call) and decorator.args:
            name = self._project.name_of(expr, definition.scope, definition.module)
            if name == "functools.partial":
                expr = decorator.args[0]
        return self._project.name_of(expr, definition.scope, definition.module) or ""


def is_constructor(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method makes an object what it is, before anything else is called on it."""
    return method.name in _CONSTRUCTORS


def _stores(method: ast.AST, owner: str) -> Mapping[str, Sequence[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(method):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        for target in targets:
            if not isinstance(target, ast.Attribute) or node.value is None:
                continue
            if isinstance(target.value, ast.Name) and target.value.id == owner:
                found.setdefault(target.attr, []).append(node.value)
    return found


def _is_field_call(call: ast.Call) -> bool:
    return getattr(call.func, "attr", getattr(call.func, "id", "")) in ("field", "static_field")


def _data_fields(call: ast.Call) -> frozenset[str] | None:
    given = {k.arg: k.value for k in call.keywords}
    data = given.get("data_fields") or (call.args[1] if len(call.args) > 1 else None)
    if isinstance(data, ast.List | ast.Tuple):
        return frozenset(str(e.value) for e in data.elts if isinstance(e, ast.Constant))
    return None


def _children_of(call: ast.Call) -> frozenset[str] | None:
    """The attributes that the function a class is registered with gives as children, if it is a lambda."""
    function = call.args[1] if len(call.args) > 1 else None
    if not isinstance(function, ast.Lambda) or not isinstance(function.body, ast.Tuple):
        return None
    return frozenset(
        n.attr for n in ast.walk(function.body.elts[0]) if isinstance(n, ast.Attribute)
    )


def _attributes_of(children: ast.expr, method: ast.AST) -> frozenset[str] | None:
    """The `self.x` in an expression, or in what the name it is was assigned in the method."""
    if isinstance(children, ast.Name):
        values = [
            n.value
            for n in ast.walk(method)
            if isinstance(n, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == children.id for t in n.targets)
        ]
        if len(values) != 1:
            return None
        children = values[0]
    found = {
        n.attr
        for n in ast.walk(children)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self"
    }
    return frozenset(found)
