"""Modules and names that are reached by a string: `globals()`, `importlib.import_module("x")`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxmigrate.analysis.placeholders.arguments import called, give_away
from jaxmigrate.analysis.placeholders.records import Here
from jaxmigrate.analysis.placeholders.things import (
    Arguments,
    File,
    Node,
    Outside,
    Unseen,
    spot_of,
)

if TYPE_CHECKING:
    from jaxmigrate.analysis.placeholders.reading import Reader

LOADED_MODULES = "sys.modules"


def read_namespace(
    reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> bool:
    """`globals()`, `locals()`, `eval(…)`: whatever has a name there may be meant."""
    spot, words = spot_of(expr, here.module), f"reached by {called(expr)}"
    give_away(reader, arguments, spot, f"passed to {called(expr)}")
    reader.leave_module(here.module, spot, words)
    for scope in here.scope.chain():
        if scope is not here.module.scopes.module:
            for name in scope.bindings:
                reader.leave(reader.variable(scope, name), spot, words)
    reader.flow.add(result, Unseen(spot, f"what {called(expr)} gives"))
    return True


def read_vars(
    reader: Reader, arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> bool:
    """`vars()` is `locals()`; with an object it is one more function out of sight."""
    return not arguments.given and read_namespace(reader, arguments, result, expr, here)


def read_import(
    reader: Reader, _arguments: Arguments, result: Node, expr: ast.AST, here: Here
) -> bool:
    """`importlib.import_module("x")`, `sys.modules.get("x")`."""
    given = expr.args[:1] if isinstance(expr, ast.Call) else []
    load_module(reader, given[0] if given else None, result, expr, here)
    return True


def load_module(
    reader: Reader, name: ast.expr | None, result: Node, expr: ast.AST, here: Here
) -> None:
    """`result` is the module of a name: every module, where the name is not written out."""
    spot = spot_of(expr, here.module)
    if isinstance(name, ast.Name) and name.id == "__name__":
        reader.flow.add(result, File(here.module))
        return
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        dotted = name.value
        path = reader.project.file_of(dotted, here.module)
        module = reader.project.module(path) if path is not None else None
        if module is not None:
            reader.flow.add(result, File(module))
        else:
            reader.flow.add(result, Outside(dotted))
        if module is not None or not dotted.startswith("."):
            return
    for module in reader.modules:
        reader.leave_module(module, spot, "in a module that may be reached by its name")
    reader.flow.add(result, Unseen(spot, "a module by its name"))
