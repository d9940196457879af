"""Names, attributes and parts: what they stand for, and what is put into them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from jaxmigrate.analysis.placeholders.records import Here
from jaxmigrate.analysis.placeholders.things import (
    LEAF,
    Arguments,
    Bound,
    Box,
    Class,
    File,
    Function,
    Key,
    Leaf,
    Method,
    Node,
    Outside,
    Placeholder,
    Spot,
    Structure,
    Thing,
    Unseen,
    Wrapped,
    spot_of,
)
from jaxmigrate.analysis.project import Definition, Entity, External, Module, Submodule
from jaxmigrate.analysis.scopes import Kind, Scope

if TYPE_CHECKING:
    from jaxmigrate.analysis.placeholders.reading import Reader

_MAX_DOTS: Final = 5
"""`node = node.parent.parent` in a loop would have no end of names."""

_UNSURE_OF_LEAVES: Final = frozenset(
    {
        *(
            "sharding",
            "base",
            "fields",
            "metadata",
            "names",
            "spec",
            "committed",
            "layout",
            "format",
        ),
        *("sort", "fill", "put", "partition", "resize", "itemset", "setflags", "setfield"),
        *("tofile", "dump", "delete", "copy_to_host_async", "device_buffer"),
    }
)
"""Attributes of arrays and their like that may be None or an empty tuple, and methods that give None."""
PROPERTIES: Final = frozenset({"builtins.property", "functools.cached_property"})
"""Decorators that make a method an attribute."""


def read_name(reader: Reader, name: str, scope: Scope, module: Module, node: ast.AST) -> Node:
    owner = scope.owner(name)
    if owner is None:
        return _entities(
            reader, reader.project.lookup(name, scope, module), spot_of(node, module), name
        )
    kinds = {binding.kind for binding in owner.bindings[name]}
    if kinds == {Kind.IMPORT}:
        entities = reader.project.lookup(name, scope, module)
        return _entities(reader, entities, spot_of(node, module), name)
    if Kind.IMPORT in kinds:
        joined = reader.flow.node()
        reader.flow.flow(reader.variable(owner, name), joined)
        entities = reader.project.lookup(name, scope, module)
        imported = [e for e in entities if not isinstance(e, Definition) or e.scope != owner]
        reader.flow.flow(_entities(reader, imported, spot_of(node, module), name), joined)
        return joined
    return reader.variable(owner, name)


def _entities(reader: Reader, entities: Sequence[Entity], spot: Spot, words: str) -> Node:
    node = reader.flow.node()
    if not entities:
        reader.flow.add(node, Unseen(spot, words))
    for entity in entities:
        if isinstance(entity, External):
            reader.flow.add(node, Outside(entity.name))
        elif isinstance(entity, Submodule):
            reader.flow.add(node, File(entity.module))
        elif isinstance(entity, Definition):
            reader.flow.flow(reader.variable(entity.scope, entity.node.name), node)
        else:
            names = [
                name
                for name, bindings in entity.scope.bindings.items()
                if any(binding.value is entity.expr for binding in bindings)
            ]
            for name in names:
                reader.flow.flow(reader.variable(entity.scope, name), node)
    return node


def read_attribute(reader: Reader, owner: Node, name: str, target: Node, spot: Spot) -> None:
    """`target` is the attribute `name` of what is at `owner`."""

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box) and thing.cls is not None:
            _object_attribute(reader, thing, thing.cls, name, target, spot)
        elif isinstance(thing, Box):
            reader.flow.add(target, Method(thing, name))
        elif isinstance(thing, Outside):
            reader.flow.add(target, _attribute_outside(thing, name, spot))
        elif isinstance(thing, File):
            _member(reader, thing.module, name, target, spot)
        elif isinstance(thing, Class):
            _class_attribute(reader, thing.definition, name, target, spot)
        elif isinstance(thing, Leaf):
            unsure = name in _UNSURE_OF_LEAVES
            reader.flow.add(target, Unseen(spot, f".{name}") if unsure else LEAF)
            if name == "shape":
                reader.flow.add(target, reader.shape)
        elif isinstance(thing, Structure) and name == "unflatten":
            holder = reader.flow.node(Outside("jax.tree.unflatten"))
            reader.flow.add(target, Wrapped(holder, Arguments((reader.flow.node(thing),))))
        elif isinstance(thing, Structure) and name.startswith("num_"):
            reader.flow.add(target, LEAF)
        elif isinstance(thing, Structure):
            reader.leave(reader.flow.node(thing), spot, f"its structure is asked for {name}")
            reader.flow.add(target, Unseen(spot, f".{name}"))
        elif isinstance(thing, Unseen):
            reader.flow.add(target, Unseen(spot, f".{name}", thing.about_trees))
        elif not isinstance(thing, Placeholder):
            reader.flow.add(target, Unseen(spot, f".{name}"))

    reader.flow.listen(owner, arrived)


def _attribute_outside(owner: Outside, name: str, spot: Spot) -> Outside | Unseen:
    """The attribute of something outside; what is reached through many of them has no name any more."""
    if owner.name.count(".") < _MAX_DOTS:
        return Outside(f"{owner.name}.{name}")
    return Unseen(spot, f".{name}")


def _member(reader: Reader, module: Module, name: str, target: Node, spot: Spot) -> None:
    bound = module.scopes.module.bindings.get(name)
    if bound is not None and all(binding.kind is not Kind.IMPORT for binding in bound):
        reader.flow.flow(reader.variable(module.scopes.module, name), target)
        return
    entities = reader.project.member(Submodule(module), name)
    reader.flow.flow(_entities(reader, entities, spot, f".{name}"), target)


def _object_attribute(
    reader: Reader, box: Box, definition: Definition, name: str, target: Node, spot: Spot
) -> None:
    reader.flow.flow(box.field(name), target)
    reader.flow.flow(box.rest, target)
    found = reader.classes.method(definition, name)
    owner = reader.flow.node(box)
    if found is not None:
        method, _ = found
        _bind(reader, method, owner, target)
        return
    if name == "_replace" or (name == "replace" and box.children is not None):
        reader.flow.add(target, Method(box, "_replace"))
        return
    if _is_field(reader, definition, name):
        return
    is_bound = name in reader.stored
    for base in reader.classes.lineage(definition):
        scope = base.module.scopes.scope_of[base.node]
        if name in scope.bindings:
            is_bound = True
            reader.flow.flow(reader.variable(scope, name), target)
    if not is_bound:
        _foreign_attribute(reader, owner, definition, name, target, spot)


def _foreign_attribute(
    reader: Reader, owner: Node, definition: Definition, name: str, target: Node, spot: Spot
) -> None:
    """An attribute that nothing in the project binds: a base's that is out of sight, or `__dict__`."""
    outside = _outside_bases(reader, definition)
    foreign = Outside(f"{outside[0]}.{name}") if outside else None
    if foreign is not None and name.startswith("assert"):
        reader.flow.add(target, foreign)
    elif foreign is not None and not name.startswith("__"):
        bound = Wrapped(reader.flow.node(foreign), Arguments((owner,)))
        reader.flow.add(target, bound)
    elif name not in ("__class__", "__name__"):
        reader.leave(owner, spot, f"asked for {name}")
        reader.flow.add(target, Unseen(spot, f".{name}"))


def _is_field(reader: Reader, definition: Definition, name: str) -> bool:
    return any(f.name == name for f in reader.classes.facts(definition).fields)


def _outside_bases(reader: Reader, definition: Definition) -> list[str]:
    found: list[str] = []
    for base in reader.classes.lineage(definition):
        assert isinstance(base.node, ast.ClassDef)
        for written in base.node.bases:
            expr = written.value if isinstance(written, ast.Subscript) else written
            entities = reader.project.resolve(expr, base.scope, base.module)
            found.extend(entity.name for entity in entities if isinstance(entity, External))
            if not entities:
                found.append("unknown")
    return [name for name in found if name not in ("builtins.object", "typing.Generic")]


def _bind(reader: Reader, method: Definition, owner: Node, target: Node) -> None:
    node = method.node
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    names = {reader.project.name_of(d, method.scope, method.module) for d in node.decorator_list}
    variable = reader.variable(method.scope, node.name)
    here = Here(method.module, method.scope)
    if "builtins.staticmethod" in names:
        reader.flow.flow(variable, target)
        return

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Function) and names & PROPERTIES:
            reader.call(reader.flow.node(Bound(thing, owner)), Arguments(), target, node, here)
        elif isinstance(thing, Function):
            reader.flow.add(target, Bound(thing, owner))
        elif isinstance(thing, Wrapped):
            reader.flow.add(target, Wrapped(reader.flow.node(thing), Arguments((owner,))))
        else:
            reader.flow.add(target, thing)

    reader.flow.listen(variable, arrived)


def _class_attribute(
    reader: Reader, definition: Definition, name: str, target: Node, spot: Spot
) -> None:
    for base in reader.classes.lineage(definition):
        scope = base.module.scopes.scope_of[base.node]
        if name in scope.bindings:
            reader.flow.flow(reader.variable(scope, name), target)
            return
    outside = _outside_bases(reader, definition)
    if outside:
        reader.flow.add(target, Outside(f"{outside[0]}.{name}"))
    else:
        reader.flow.add(target, Unseen(spot, f".{name}"))


def store_part(reader: Reader, owner: Node, key: Key, value: Node, spot: Spot) -> None:
    """Put what is at a node into what is at another."""

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box):
            thing.empty = None
            reader.flow.flow(value, thing.field(key))
        elif isinstance(thing, File) and isinstance(key, str):
            reader.flow.flow(value, reader.variable(thing.module.scopes.module, key))
        elif not isinstance(thing, Leaf | Placeholder):
            reader.leave(value, spot, "put into something that is not in sight")

    reader.flow.listen(owner, arrived)


def merge_parts(reader: Reader, source: Node, box: Box) -> None:
    """The parts of what is at a node are parts of a box too."""

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box):
            box.sources.add(thing)
            thing.watch(lambda key, part: reader.flow.flow(part, box.field(key)))
        elif isinstance(thing, Unseen):
            reader.flow.add(box.rest, thing)

    reader.flow.listen(source, arrived)


def read_elements(reader: Reader, source: Node, target: Node, here: Here, expr: ast.AST) -> None:
    """What iterating over what is at a node gives."""
    reader.strict(source, here, expr)

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box) and thing.kind == "dict":
            reader.flow.add(target, LEAF)
        elif isinstance(thing, Box):
            thing.watch(lambda _, part: reader.flow.flow(part, target))
        elif isinstance(thing, Leaf | Unseen):
            reader.flow.add(target, thing)
        elif not isinstance(thing, Placeholder):
            reader.flow.add(target, Unseen(spot_of(expr, here.module), "an iteration"))

    reader.flow.listen(source, arrived)
