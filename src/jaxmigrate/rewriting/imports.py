"""`from` imports: names added, names moved to another module, what is written about them kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

Moves = Callable[[str], "str | None"]
"""Gives an imported name's name in the other module, or None if it stays where it is."""

_LINE = 88


def move_names(node: cst.ImportFrom, module: str, moves: Moves) -> list[cst.ImportFrom]:
    """`from a import b, c` with the names that `moves` knows taken from `module` instead.

    One statement where all names move or `module` is the same, else two: what stays, and what moved.
    Aliases and comments are kept; a moved name is bound to the name it was bound to before.
    """
    aliases = _aliases(node)
    moved = [alias for alias in aliases if moves(_name(alias)) is not None]
    kept = [alias for alias in aliases if moves(_name(alias)) is None]
    renamed = [_renamed(alias, moves) for alias in moved]
    if not kept:
        return [_retargeted(node, module, renamed)]
    if _has_comments(node):
        return [_subset(node, kept), _retargeted(_subset(node, moved), module, renamed)]
    return [_subset(node, kept), from_import(module, renamed)]


def rename_names(node: cst.ImportFrom, moves: Moves) -> cst.ImportFrom:
    """The same import with some names renamed in place, each bound to the name it was bound to.

    A name that would stand there twice is left out the second time.
    """
    renamed: list[cst.ImportAlias] = []
    seen: set[str] = set()
    for alias in _aliases(node):
        new = _renamed(alias, moves) if moves(_name(alias)) is not None else alias
        if _words(new) not in seen:
            renamed.append(new)
            seen.add(_words(new))
    return _subset(node, renamed)


def drop_names(node: cst.ImportFrom, moves: Moves) -> list[cst.ImportFrom]:
    """The import without the names that `moves` knows; no statement if none is left."""
    kept = [alias for alias in _aliases(node) if moves(_name(alias)) is None]
    return [_subset(node, kept)] if kept else []


def with_imported_names(node: cst.ImportFrom, names: Sequence[tuple[str, str]]) -> cst.ImportFrom:
    """The import with further names, each `(name, bound name)`; those there already are not doubled."""
    aliases = _aliases(node)
    present = {_words(alias) for alias in aliases}
    new = [_alias(name, bound) for name, bound in names]
    added = [alias for alias in new if _words(alias) not in present]
    if not added:
        return node
    *before, last = aliases
    separator = (
        before[-1].comma if before else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    )
    closing = last.comma
    chain = [*before, last, *added]
    spaced = [alias.with_changes(comma=separator) for alias in chain[len(before) : -1]]
    return node.with_changes(names=[*before, *spaced, chain[-1].with_changes(comma=closing)])


def from_import(module: str, aliases: Sequence[cst.ImportAlias]) -> cst.ImportFrom:
    """A new `from module import …` statement, in parentheses over several lines if it is long."""
    words = [_words(alias) for alias in aliases]
    text = f"from {module} import {', '.join(words)}"
    if len(text) > _LINE:
        text = f"from {module} import (\n" + "".join(f"    {w},\n" for w in words) + ")"
    line = cst.parse_statement(text)
    assert isinstance(line, cst.SimpleStatementLine)
    statement = line.body[0]
    assert isinstance(statement, cst.ImportFrom)
    return statement


def _aliases(node: cst.ImportFrom) -> list[cst.ImportAlias]:
    return [] if isinstance(node.names, cst.ImportStar) else list(node.names)


def _name(alias: cst.ImportAlias) -> str:
    return alias.evaluated_name


def _words(alias: cst.ImportAlias) -> str:
    bound = alias.evaluated_alias
    return _name(alias) if bound is None else f"{_name(alias)} as {bound}"


def _alias(name: str, bound: str) -> cst.ImportAlias:
    as_name = None if name == bound else cst.AsName(cst.Name(bound))
    return cst.ImportAlias(cst.Name(name), asname=as_name)


def _renamed(alias: cst.ImportAlias, moves: Moves) -> cst.ImportAlias:
    old, new = _name(alias), moves(_name(alias))
    assert new is not None
    if new == old:
        return alias
    bound = alias.evaluated_alias or old
    if bound == new:
        return alias.with_changes(name=cst.Name(new), asname=None)
    as_name = alias.asname or cst.AsName(cst.Name(bound))
    return alias.with_changes(name=cst.Name(new), asname=as_name)


def _retargeted(
    node: cst.ImportFrom, module: str, aliases: Sequence[cst.ImportAlias]
) -> cst.ImportFrom:
    target = cst.parse_expression(module)
    return _subset(node.with_changes(module=target), aliases)


def _subset(node: cst.ImportFrom, aliases: Sequence[cst.ImportAlias]) -> cst.ImportFrom:
    """The import with these names; the last one ends as the last one did."""
    ending = _aliases(node)[-1].comma
    *before, last = aliases
    spaced = [_with_comma(alias) for alias in before]
    return node.with_changes(names=[*spaced, last.with_changes(comma=_ending(last, ending))])


def _ending(
    last: cst.ImportAlias, ending: cst.Comma | cst.MaybeSentinel
) -> cst.Comma | cst.MaybeSentinel:
    """The comma behind the last name: the old ending, with the comment that stands behind the name."""
    if not isinstance(last.comma, cst.Comma) or not isinstance(ending, cst.Comma):
        return ending
    mine, theirs = last.comma.whitespace_after, ending.whitespace_after
    if not isinstance(mine, cst.ParenthesizedWhitespace) or not isinstance(
        theirs, cst.ParenthesizedWhitespace
    ):
        return ending
    space = mine.with_changes(last_line=theirs.last_line, indent=theirs.indent)
    return ending.with_changes(whitespace_after=space)


def _with_comma(alias: cst.ImportAlias) -> cst.ImportAlias:
    if isinstance(alias.comma, cst.Comma):
        return alias
    return alias.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))


def _has_comments(node: cst.ImportFrom) -> bool:
    return "#" in cst.Module([]).code_for_node(node)
