"""A migration too blunt for any user and right for every program: what the judge is tried with.

It puts each tree function behind a helper that guards at run time, so it need know nothing of
callbacks and predicates. That it passes shows that the programs have a right answer and that the
judge accepts it.
"""

from __future__ import annotations

import ast
import re

from jaxmigrate.model import Action, Confidence, FileResult, SiteReport

HELPER = """
import jax as _jax_now, jax.tree_util as _util_now

def _mended(function, at=0):
    def mapped(callback, *trees, is_leaf=None):
        def opaque(node):
            return node is None or is_leaf is not None and bool(is_leaf(node))
        def guarded(*xs):
            if xs[at] is None and not (is_leaf is not None and is_leaf(None)):
                return None
            return callback(*xs)
        return function(guarded, *trees, is_leaf=opaque)
    return mapped

class _Treedef:
    def __init__(self, tree):
        self.leaves, self.treedef = _util_now.tree_flatten(tree)
        leaves, self.wide = _util_now.tree_flatten(tree, is_leaf=lambda n: n is None)
        self.keep = [leaf is not None for leaf in leaves]
    def flatten_up_to(self, tree):
        return [x for x, keep in zip(self.wide.flatten_up_to(tree), self.keep) if keep]
    def unflatten(self, leaves):
        return self.treedef.unflatten(leaves)

def _flatten(tree):
    treedef = _Treedef(tree)
    return treedef.leaves, treedef

_tree_map = _mended(_util_now.tree_map)
_tree_map_with_path = _mended(_util_now.tree_map_with_path, 1)
"""
PLAIN = {"tree_map", "tree_multimap"}
WITH_PATH = {"tree_map_with_path", "map_with_path"}


class _Mend(ast.NodeTransformer):
    """Replaces every way to name a tree map."""

    def __init__(self, source: str) -> None:
        self.look_alikes = set(re.findall(r"^(\w+) = types\.SimpleNamespace", source, re.MULTILINE))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        module = ast.unparse(node.value)
        if module in self.look_alikes:
            return node
        if node.attr == "tree_flatten":
            return ast.copy_location(ast.Name("_flatten", ast.Load()), node)
        if node.attr in WITH_PATH:
            return ast.copy_location(ast.Name("_tree_map_with_path", ast.Load()), node)
        if node.attr in PLAIN or (node.attr == "map" and module in ("jax.tree", "jt", "tree")):
            return ast.copy_location(ast.Name("_tree_map", ast.Load()), node)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.stmt]:
        found: list[ast.stmt] = []
        for alias in node.names:
            known = {"_tree_map": PLAIN, "_tree_map_with_path": WITH_PATH}
            mended = next((name for name, group in known.items() if alias.name in group), None)
            if alias.name == "*":
                text = "tree_map, tree_map_with_path = _tree_map, _tree_map_with_path"
            elif mended is None:
                text = ast.unparse(ast.ImportFrom(node.module, [alias], node.level))
            else:
                text = f"{alias.asname or alias.name} = {mended}"
            found += ast.parse(text).body
        return found


def migrate(source: str) -> FileResult:
    """`source` with every tree map behind a guard at run time."""
    after = HELPER + ast.unparse(ast.fix_missing_locations(_Mend(source).visit(ast.parse(source))))
    site = SiteReport(
        "standin",
        Action.EDIT,
        Confidence.POSSIBLE,
        "every call",
        (),
        1,
        1,
        1,
        1,
        None,
        source,
        after,
    )
    return FileResult("module.py", source.encode(), after.encode(), sites=(site,))
