"""`from` imports: names added, names moved to another module, what is written about them kept.

A comment behind a name or alone above it belongs to that name and goes where it goes.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import libcst as cst

Moves = Callable[[str], "str | None"]
"""Gives an imported name's name in the other module, or None if it stays where it is."""

_LINE = 88
_SHORT_LINE = 79
_INDENT = "    "
_SPACE = cst.SimpleWhitespace(" ")
_END_OF_LINE = cst.TrailingWhitespace()


def _nothing() -> cst.BaseParenthesizableWhitespace:
    return cst.SimpleWhitespace("")


def move_names(node: cst.ImportFrom, module: str, moves: Moves) -> list[cst.ImportFrom]:
    """`from a import b, c` with the names that `moves` knows taken from `module` instead.

    One statement where all names move or none needs to, else two: what stays, and what moved. A moved
    name is bound to the name it was bound to before, and left out where it is bound again at once.
    """
    names = _Names.of(node)
    moved = _needed(names.entries, moves)
    kept = [entry for entry in names.entries if moves(entry.name) is None]
    if not moved:
        return [names.with_entries(kept).onto(node)]
    renamed = _distinct(_renamed(entry, moves) for entry in moved)
    there = node.with_changes(module=cst.parse_expression(module))
    if not kept:
        return [names.with_entries(renamed).onto(there)]
    here = names.with_entries(kept).onto(node)
    if any(entry.has_comment for entry in renamed):
        return [here, names.with_entries(renamed).without_loose_comments().onto(there)]
    return [here, from_import(module, [entry.words for entry in renamed])]


def rename_names(node: cst.ImportFrom, moves: Moves) -> cst.ImportFrom:
    """The same import with some names renamed in place, each bound to the name it was bound to.

    A name that would stand there twice is left out the second time.
    """
    names = _Names.of(node)
    renamed = (
        entry if moves(entry.name) is None else _renamed(entry, moves) for entry in names.entries
    )
    return names.with_entries(_distinct(renamed)).onto(node)


def drop_names(node: cst.ImportFrom, moves: Moves) -> list[cst.ImportFrom]:
    """The import without the names that `moves` knows; no statement if none is left."""
    names = _Names.of(node)
    kept = [entry for entry in names.entries if moves(entry.name) is None]
    return [names.with_entries(kept).onto(node)] if kept else []


def with_imported_names(node: cst.ImportFrom, added: Sequence[tuple[str, str]]) -> cst.ImportFrom:
    """The import with further names, each `(name, bound name)`; those there already are not doubled.

    Each goes to its place if the names are sorted, else to the end.
    """
    names = _Names.of(node)
    if not names.entries:
        return node
    for name, bound in added:
        new = _Entry(_alias(name, bound))
        if new.words not in {entry.words for entry in names.entries}:
            names = names.with_entry(new, node)
    return names.onto(node)


def from_import(module: str, words: Sequence[str]) -> cst.ImportFrom:
    """A new `from module import …` of names, each `name` or `name as bound`; over lines if long."""
    text = f"from {module} import {', '.join(words)}"
    if len(text) > _LINE:
        text = f"from {module} import (\n" + "".join(f"    {w},\n" for w in words) + ")"
    line = cst.parse_statement(text)
    assert isinstance(line, cst.SimpleStatementLine)
    statement = line.body[0]
    assert isinstance(statement, cst.ImportFrom)
    return statement


@dataclass(frozen=True, slots=True)
class _Entry:
    """An imported name with what is written about it.

    `above` are the lines alone above it, `behind` the end of its line if a comment is there; `gap` is
    the white space before it without these, None for a name that is first or new.
    """

    alias: cst.ImportAlias
    gap: cst.BaseParenthesizableWhitespace | None = None
    above: tuple[cst.EmptyLine, ...] = ()
    behind: cst.TrailingWhitespace | None = None
    before_comma: cst.BaseParenthesizableWhitespace = field(default_factory=_nothing)

    @property
    def name(self) -> str:
        """The name as it is called in the module."""
        return self.alias.evaluated_name

    @property
    def bound(self) -> str:
        """The name that is bound."""
        return self.alias.evaluated_alias or self.name

    @property
    def words(self) -> str:
        """`name` or `name as bound`."""
        bound = self.alias.evaluated_alias
        return self.name if bound is None else f"{self.name} as {bound}"

    @property
    def has_comment(self) -> bool:
        """Whether a comment belongs to the name."""
        if self.behind is not None or any(line.comment is not None for line in self.above):
            return True
        return "#" in _code(self.alias) + _code(self.before_comma)


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of an import, and the layout that stays whichever of them are there.

    `opening` is the white space behind the bracket, `closing` that before the closing one, `first_line`
    a comment behind the bracket, `tail` the lines below the last name; `separator` goes before a name
    that is new, or `line_break` if the line gets long, where the names have both between them.
    """

    entries: tuple[_Entry, ...]
    opening: cst.BaseParenthesizableWhitespace
    closing: cst.BaseParenthesizableWhitespace
    first_line: cst.TrailingWhitespace | None
    tail: tuple[cst.EmptyLine, ...]
    separator: cst.BaseParenthesizableWhitespace
    line_break: cst.ParenthesizedWhitespace | None
    ends_in_comma: bool

    @classmethod
    def of(cls, node: cst.ImportFrom) -> _Names:
        """The names of an import; none of an `import *`."""
        aliases = [] if isinstance(node.names, cst.ImportStar) else list(node.names)
        commas = [a.comma if isinstance(a.comma, cst.Comma) else cst.Comma() for a in aliases]
        gaps = [_nothing() if node.lpar is None else node.lpar.whitespace_after]
        gaps += [comma.whitespace_after for comma in commas]
        ends_in_comma = bool(aliases) and isinstance(aliases[-1].comma, cst.Comma)
        if aliases and not ends_in_comma and node.rpar is not None:
            gaps[-1] = node.rpar.whitespace_before
        entries = [
            _Entry(
                alias.with_changes(comma=cst.MaybeSentinel.DEFAULT),
                _bare(gaps[n]) if n else None,
                _lines(gaps[n]),
                _comment(gaps[n + 1]),
                commas[n].whitespace_before,
            )
            for n, alias in enumerate(aliases)
        ]
        separator, line_break = _separators([_bare(gap) for gap in gaps[:-1]])
        return cls(
            tuple(entries),
            opening=_bare(gaps[0]),
            closing=_bare(gaps[-1]),
            first_line=_comment(gaps[0]),
            tail=_lines(gaps[-1]) if aliases else (),
            separator=separator,
            line_break=line_break,
            ends_in_comma=ends_in_comma,
        )

    def with_entries(self, entries: Iterable[_Entry]) -> _Names:
        """The same layout with other names."""
        return dataclasses.replace(self, entries=tuple(entries))

    def with_entry(self, new: _Entry, node: cst.ImportFrom) -> _Names:
        """The names with a new one of `node`, on a line of its own if there would be no room."""
        longest = max(_SHORT_LINE, _longest_line(self.onto(node)))
        place = _place(self.entries, new)
        before, behind = self.entries[:place], self.entries[place:]
        longer = self.with_entries([*before, new, *behind])
        if self.line_break is None or _longest_line(longer.onto(node)) <= longest:
            return longer
        return self.with_entries([*before, dataclasses.replace(new, gap=self.line_break), *behind])

    def without_loose_comments(self) -> _Names:
        """The same names without the comments that belong to none of them."""
        return dataclasses.replace(self, first_line=None, tail=())

    def onto(self, node: cst.ImportFrom) -> cst.ImportFrom:
        """The import with these names, if there are any."""
        if not self.entries:
            return node
        aliases: list[cst.ImportAlias] = []
        for entry, following in pairwise(self.entries):
            shape = self.separator if following.gap is None else following.gap
            gap = _gap(shape, entry.behind, following.above, _INDENT)
            aliases.append(entry.alias.with_changes(comma=cst.Comma(entry.before_comma, gap)))
        last = self.entries[-1]
        closing = _gap(self.closing, last.behind, self.tail, "")
        if self.ends_in_comma or "#" in _code(last.before_comma):
            comma = cst.Comma(last.before_comma, closing)
            aliases.append(last.alias.with_changes(comma=comma))
            closing = _nothing()
        else:
            aliases.append(last.alias)
        if node.lpar is None or node.rpar is None:
            return node.with_changes(names=aliases)
        opening = _gap(self.opening, self.first_line, self.entries[0].above, _INDENT)
        return node.with_changes(
            names=aliases,
            lpar=node.lpar.with_changes(whitespace_after=opening),
            rpar=node.rpar.with_changes(whitespace_before=closing),
        )


def _needed(entries: Sequence[_Entry], moves: Moves) -> list[_Entry]:
    """The entries that move, without those that one which stays binds again behind them."""
    needed: list[_Entry] = []
    bound: set[str] = set()
    for entry in reversed(entries):
        if moves(entry.name) is None:
            bound.add(entry.bound)
        elif entry.bound not in bound or entry.has_comment:
            needed.append(entry)
    return needed[::-1]


def _distinct(entries: Iterable[_Entry]) -> list[_Entry]:
    """The entries without those that are there already, unless something is written about them."""
    found: list[_Entry] = []
    for entry in entries:
        if entry.has_comment or all(entry.words != other.words for other in found):
            found.append(entry)
    return found


def _place(entries: Sequence[_Entry], new: _Entry) -> int:
    """Where a new name goes: in order of name if the others are, else to the end."""
    order = [entry.name for entry in entries]
    return bisect_right(order, new.name) if order == sorted(order) else len(order)


def _renamed(entry: _Entry, moves: Moves) -> _Entry:
    new = moves(entry.name)
    assert new is not None
    if new == entry.name:
        return entry
    as_name = None
    if entry.bound != new:
        as_name = entry.alias.asname or cst.AsName(cst.Name(entry.bound))
    alias = entry.alias.with_changes(name=cst.Name(new), asname=as_name)
    return dataclasses.replace(entry, alias=alias)


def _alias(name: str, bound: str) -> cst.ImportAlias:
    as_name = None if name == bound else cst.AsName(cst.Name(bound))
    return cst.ImportAlias(cst.Name(name), asname=as_name)


def _gap(
    shape: cst.BaseParenthesizableWhitespace,
    behind: cst.TrailingWhitespace | None,
    lines: Sequence[cst.EmptyLine],
    indent: str,
) -> cst.BaseParenthesizableWhitespace:
    """White space with a comment at its start and lines in it; `indent` if it was no line break."""
    if behind is None and not lines:
        return shape
    if not isinstance(shape, cst.ParenthesizedWhitespace):
        last_line = cst.SimpleWhitespace(indent)
        shape = cst.ParenthesizedWhitespace(_END_OF_LINE, indent=True, last_line=last_line)
    return shape.with_changes(first_line=behind or shape.first_line, empty_lines=tuple(lines))


def _bare(gap: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    if not isinstance(gap, cst.ParenthesizedWhitespace):
        return gap
    return gap.with_changes(first_line=_END_OF_LINE, empty_lines=())


def _lines(gap: cst.BaseParenthesizableWhitespace) -> tuple[cst.EmptyLine, ...]:
    return tuple(gap.empty_lines) if isinstance(gap, cst.ParenthesizedWhitespace) else ()


def _comment(gap: cst.BaseParenthesizableWhitespace) -> cst.TrailingWhitespace | None:
    if not isinstance(gap, cst.ParenthesizedWhitespace) or gap.first_line.comment is None:
        return None
    return gap.first_line


def _separators(
    gaps: Sequence[cst.BaseParenthesizableWhitespace],
) -> tuple[cst.BaseParenthesizableWhitespace, cst.ParenthesizedWhitespace | None]:
    """What goes before a new name, and what if the line gets long, from what is before the others."""
    breaks = [gap for gap in gaps if isinstance(gap, cst.ParenthesizedWhitespace)]
    between = gaps[1:] or breaks
    if not between:
        return _SPACE, None
    if all(isinstance(gap, cst.ParenthesizedWhitespace) for gap in between):
        return between[-1], None
    return (_SPACE, breaks[-1]) if breaks else (between[-1], None)


def _longest_line(node: cst.CSTNode) -> int:
    return max(map(len, _code(node).splitlines()))


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
