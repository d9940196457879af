"""One helper for a module that gets several guards: where it goes, what it is called."""

from __future__ import annotations

import ast
import sys
from typing import Final

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.names import fresh
from jaxmigrate.analysis.project import Module
from jaxmigrate.analysis.scopes import Kind

HELPER_NAMES: Final = ("_tree_map_skip_none", "_tree_map_over_none")
"""What a helper is called that guards the maps of a module, by the first of these that is free."""


def helper_name(module: Module) -> str:
    """A name for the helper that nothing in the module goes by."""
    taken = {name.id for name, _ in module.scopes.names}
    for scope in module.scopes.scope_of.values():
        taken |= scope.bindings.keys()
    return fresh(HELPER_NAMES, taken)


def place_for_helper(module: Module) -> ast.stmt | None:
    """The last of the imports that a module begins with: the helper goes behind it."""
    last: ast.stmt | None = None
    for statement in module.tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            last = statement
        elif not _is_preamble(statement):
            break
    return last


def import_above(module: Module, text: str) -> ast.stmt | None:
    """The import of a module's top that an import written as `text` goes below.

    That is the last one of its kind that sorts before it, else the last of all.
    """
    (new,) = ast.parse(text).body
    last = place_for_helper(module)
    found = last
    for statement in module.tree.body:
        if last is None or statement.lineno > last.lineno:
            break
        name = _imported(statement)
        alike = type(statement) is type(new) and not name.startswith(".")
        if alike and name <= _imported(new) and not is_standard(statement):
            found = statement
    return found


def is_standard(statement: ast.stmt) -> bool:
    """Whether an import is of Python's own library."""
    root = _imported(statement).partition(".")[0]
    return root in sys.stdlib_module_names or root == "__future__"


def _imported(statement: ast.stmt) -> str:
    """The module that an import names."""
    if isinstance(statement, ast.ImportFrom):
        return "." * statement.level + (statement.module or "")
    return statement.names[0].name if isinstance(statement, ast.Import) else ""


def spelled_at_top(call: TreeCall, place: ast.stmt) -> bool:
    """Whether a call spells the tree map by a name that a module's imports up to `place` bind."""
    root = call.node.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    owner = call.scope.owner(root.id)
    if owner is None or owner.parent is not None:
        return False
    return all(
        binding.kind is Kind.IMPORT and getattr(binding.node, "lineno", 0) <= place.lineno
        for binding in owner.bindings[root.id]
    )


def _is_preamble(statement: ast.stmt) -> bool:
    """A docstring, or what stands between imports: `if TYPE_CHECKING`, `try: import …`."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.If | ast.Try)
