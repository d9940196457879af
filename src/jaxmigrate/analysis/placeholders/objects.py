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
        entities = reader.project.lookup(name, scope, module)
        targets = [f"{source}.{name}" for source in module.scopes.module.star_imports]
        return _imported(reader, entities, targets, module, spot_of(node, module), name)
    bindings = owner.bindings[name]
    kinds = {binding.kind for binding in bindings}
    targets = [b.target for b in bindings if b.kind is Kind.IMPORT and b.target is not None]
    if kinds == {Kind.IMPORT}:
        entities = reader.project.lookup(name, scope, module)
        return _imported(reader, entities, targets, module, spot_of(node, module), name)
    if Kind.IMPORT in kinds:
        joined = reader.flow.node()
        reader.flow.flow(reader.variable(owner, name), joined)
        entities = reader.project.lookup(name, scope, module)
        for variable in _variables_of(reader, targets, module):
            reader.flow.flow(variable, joined)
        imported = [e for e in entities if not isinstance(e, Definition) or e.scope != owner]
        reader.flow.flow(_entities(reader, imported, spot_of(node, module), name), joined)
        return joined
    return reader.variable(owner, name)


def _imported(
    reader: Reader,
    entities: Sequence[Entity],
    targets: Sequence[str],
    module: Module,
    spot: Spot,
    words: str,
) -> Node:
    """What an imported name stands for: whatever its module ever binds it to."""
    variables = _variables_of(reader, targets, module)
    node = reader.flow.node()
    if entities or not variables:
        node = _entities(reader, entities, spot, words)
    for variable in variables:
        reader.flow.flow(variable, node)
    return node


def _variables_of(
    reader: Reader, targets: Sequence[str], importer: Module, hops: int = 5
) -> list[Node]:
    """The variables of other modules that dotted names mean, through modules that pass them on."""
    found: list[Node] = []
    for target in targets:
        last = target.rpartition(".")[2]
        head = target[: len(target) - len(last)]
        path = reader.project.file_of(head.rstrip(".") or head, importer)
        module = reader.project.module(path) if path is not None else None
        if module is None or hops <= 0:
            continue
        top = module.scopes.module
        bindings = top.bindings.get(last, ())
        more = [b.target for b in bindings if b.kind is Kind.IMPORT and b.target is not None]
        if not bindings:
            more = [f"{source}.{last}" for source in top.star_imports]
        if any(binding.kind is not Kind.IMPORT for binding in bindings):
            found.append(reader.variable(top, last))
        found.extend(_variables_of(reader, more, module, hops - 1))
    return found


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
            read_member(reader, thing.module, name, target, spot)
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


def read_member(reader: Reader, module: Module, name: str, target: Node, spot: Spot) -> None:
    """`target` is what a name at the top of a module stands for."""
    bound = module.scopes.module.bindings.get(name)
    if bound is not None and all(binding.kind is not Kind.IMPORT for binding in bound):
        reader.flow.flow(reader.variable(module.scopes.module, name), target)
        return
    entities = reader.project.member(Submodule(module), name)
    targets = [b.target for b in bound or () if b.target is not None]
    if bound is None:
        targets = [f"{source}.{name}" for source in module.scopes.module.star_imports]
    elif any(binding.kind is not Kind.IMPORT for binding in bound):
        reader.flow.flow(reader.variable(module.scopes.module, name), target)
    found = _imported(reader, entities, targets, module, spot, f".{name}")
    reader.flow.flow(found, target)


def _object_attribute(
    reader: Reader, box: Box, definition: Definition, name: str, target: Node, spot: Spot
) -> None:
    box.want(name, lambda part: reader.flow.flow(part, target))
    reader.flow.flow(box.rest, target)
    found = reader.classes.method(definition, name)
    owner = reader.flow.holder(box)
    if found is not None:
        method, _ = found
        bind(reader, method, owner, target)
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
            _described(reader, reader.variable(scope, name), "__get__", owner, spot)
    if name == "__class__":
        reader.flow.add(target, Class(definition))
    elif not is_bound:
        _foreign_attribute(reader, owner, definition, name, target, spot)


def _foreign_attribute(
    reader: Reader, owner: Node, definition: Definition, name: str, target: Node, spot: Spot
) -> None:
    """An attribute that nothing in the project binds: a base's that is out of sight, or `__dict__`."""
    outside = outside_bases(reader, definition)
    foreign = Outside(f"{outside[0]}.{name}") if outside else None
    if foreign is not None and name.startswith("assert"):
        reader.flow.add(target, foreign)
    elif foreign is not None and not name.startswith("__"):
        bound = Wrapped(reader.flow.node(foreign), Arguments((owner,)))
        reader.flow.add(target, bound)
    elif name != "__name__":
        reader.leave(owner, spot, f"asked for {name}")
        reader.flow.add(target, Unseen(spot, f".{name}"))


def _is_field(reader: Reader, definition: Definition, name: str) -> bool:
    return any(f.name == name for f in reader.classes.facts(definition).fields)


def outside_bases(reader: Reader, definition: Definition) -> list[str]:
    """The names of the bases of a class that the project does not define."""
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


def bind(reader: Reader, method: Definition, owner: Node, target: Node) -> None:
    """`target` is a method of what is at `owner`, an object or a class."""
    node = method.node
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    names = {reader.project.name_of(d, method.scope, method.module) for d in node.decorator_list}
    variable = reader.variable(method.scope, node.name)
    here = Here(method.module, method.scope)
    if "builtins.staticmethod" in names:
        reader.flow.flow(variable, target)
        return
    if "builtins.classmethod" in names:
        owner = _classes_at(reader, owner)

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Function) and names & PROPERTIES:
            reader.call(reader.flow.node(Bound(thing, owner)), Arguments(), target, node, here)
        elif isinstance(thing, Function):
            reader.flow.add(target, Bound(thing, owner))
        elif isinstance(thing, Wrapped):
            reader.flow.add(target, Wrapped(reader.flow.node(thing), Arguments((owner,))))
        else:
            # Whatever a decorator gives may bind the object, when it is asked for or called.
            spot = spot_of(node, method.module)
            reader.leave(owner, spot, f"given to the decorator of {node.name}()")
            reader.flow.add(target, thing)

    reader.flow.listen(variable, arrived)


def _classes_at(reader: Reader, owner: Node) -> Node:
    """The classes at a node, and those of the objects there."""
    classes = reader.flow.node()

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box) and thing.cls is not None:
            reader.flow.add(classes, Class(thing.cls))
        elif not isinstance(thing, Placeholder):
            reader.flow.add(classes, thing)

    reader.flow.listen(owner, arrived)
    return classes


def _class_attribute(
    reader: Reader, definition: Definition, name: str, target: Node, spot: Spot
) -> None:
    for base in reader.classes.lineage(definition):
        scope = base.module.scopes.scope_of[base.node]
        if name in scope.bindings:
            for binding in scope.bindings[name]:
                if isinstance(binding.node, ast.FunctionDef | ast.AsyncFunctionDef):
                    method = Definition(base.module, binding.node, scope)
                    _bind_to_class(reader, method, definition, target)
                    return
            reader.flow.flow(reader.variable(scope, name), target)
            return
    outside = outside_bases(reader, definition)
    if outside:
        reader.flow.add(target, Outside(f"{outside[0]}.{name}"))
    else:
        reader.flow.add(target, Unseen(spot, f".{name}"))


def _bind_to_class(
    reader: Reader, method: Definition, definition: Definition, target: Node
) -> None:
    """A method that a class is asked for: as it was written, or with the class for a classmethod."""
    assert isinstance(method.node, ast.FunctionDef | ast.AsyncFunctionDef)
    decorators = method.node.decorator_list
    names = {reader.project.name_of(d, method.scope, method.module) for d in decorators}
    if "builtins.classmethod" in names:
        bind(reader, method, reader.flow.node(Class(definition)), target)
    else:
        reader.flow.flow(reader.variable(method.scope, method.node.name), target)


def store_part(reader: Reader, owner: Node, key: Key, value: Node, spot: Spot) -> None:
    """Put what is at a node into what is at another."""

    def arrived(thing: Thing) -> None:
        if isinstance(thing, Box):
            thing.empty = None
            reader.flow.flow(value, thing.field(key))
            if thing.cls is not None and _takes_over(reader, thing.cls, key):
                reader.leave(value, spot, "given to what stores it")
            for base in reader.classes.lineage(thing.cls) if thing.cls is not None else ():
                scope = base.module.scopes.scope_of[base.node]
                if isinstance(key, str) and key in scope.bindings:
                    _described(reader, reader.variable(scope, key), "__set__", value, spot)
        elif isinstance(thing, File) and isinstance(key, str):
            reader.flow.flow(value, reader.variable(thing.module.scopes.module, key))
        elif not isinstance(thing, Leaf | Placeholder):
            reader.leave(value, spot, "put into something that is not in sight")

    reader.flow.listen(owner, arrived)


def _described(reader: Reader, variable: Node, name: str, given: Node, spot: Spot) -> None:
    """An attribute of a class with `__get__` or `__set__` sees the object, or what is stored."""

    def arrived(thing: Thing) -> None:
        if not isinstance(thing, Box) or thing.cls is None:
            return
        if reader.classes.method(thing.cls, name) is not None:
            reader.leave(given, spot, f"given to the {name} of an attribute")

    reader.flow.listen(variable, arrived)


def _takes_over(reader: Reader, definition: Definition, key: Key) -> bool:
    """Whether a class has code for storing a part: a property, a special method."""
    names = ["__setattr__", "__setitem__", *([key] if isinstance(key, str) else [])]
    return any(reader.classes.method(definition, name) is not None for name in names)


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
