"""Lays out what was rewritten: as ruff or black would where the code kept to them, else as the file does.

It sees a spliced text and gives further edits, white space and brackets only; that nothing else changes
is checked by a gate.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from jaxmigrate.lines import LineIndex
from jaxmigrate.model import Span
from jaxmigrate.rewriting.calls import fitted_call
from jaxmigrate.rewriting.formatter import Lines, formatted
from jaxmigrate.rewriting.splice import Edit, moved_spans
from jaxmigrate.sources.style import Style

_NEVER_LONG: Final = 72
"""No project asks for lines shorter than this."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Edits of one statement: the span they cover in the old text and in the new one, and the old one."""

    old: Span
    new: Span
    statement: ast.stmt | None


def layout(
    old_text: str,
    old_tree: ast.Module,
    new_text: str,
    edits: Sequence[Edit],
    style_of_file: Callable[[], Style],
) -> list[Edit]:
    """Edits of `new_text` that lay out its statements with lines longer than the style allows.

    `edits`, in order, turned `old_text`, whose tree is `old_tree`, into `new_text`. The file's style is
    asked for only where a line is long at all.
    """
    old_lines, new_lines = LineIndex(old_text), LineIndex(new_text)
    if not any(_is_long(span, new_lines, _NEVER_LONG) for span in moved_spans(edits)) and not any(
        "\n" in old_text[edit.span.start : edit.span.end] for edit in edits
    ):
        return []
    style = style_of_file()
    found: list[Edit] = []
    for place in _by_statement(old_tree, edits, old_lines):
        is_long = _is_long(place.new, new_lines, style.width)
        spread = "\n" in old_text[place.old.start : place.old.end]
        if not (is_long or spread) or _in_fstring(place, old_lines):
            continue
        if any(
            edit.span.start < place.new.end and place.new.start < edit.span.end for edit in found
        ):
            continue
        edit = _formatted(old_text, new_text, place, old_lines, new_lines, style)
        if edit is None and is_long:
            edit = _fitted(new_text, place, old_lines, new_lines, style)
        if edit is not None:
            found.append(edit)
    return found


def _by_statement(tree: ast.Module, edits: Sequence[Edit], lines: LineIndex) -> Iterator[_Place]:
    statements = dict(sorted(_statements(tree, edits, lines), key=_offset))
    starts = list(statements)
    groups: dict[int, _Place] = {}
    for edit, new in zip(edits, moved_spans(edits), strict=True):
        index = bisect_right(starts, edit.span.start) - 1
        place = groups.get(index)
        if place is None:
            statement = statements[starts[index]] if index >= 0 else None
            groups[index] = _Place(edit.span, new, statement)
        else:
            old = Span(place.old.start, edit.span.end)
            groups[index] = _Place(old, Span(place.new.start, new.end), place.statement)
    yield from groups.values()


def _statements(
    tree: ast.Module, edits: Sequence[Edit], lines: LineIndex
) -> Iterator[tuple[int, ast.stmt]]:
    """The statements around the edits, with the offsets they start at, decorators included."""
    touched = [lines.position(edit.span.start)[0] for edit in edits]
    for top in tree.body:
        first, last = _first_line(top), top.end_lineno or top.lineno
        if not any(first <= line <= last for line in touched):
            continue
        for node in ast.walk(top):
            if isinstance(node, ast.stmt):
                start = min([node, *getattr(node, "decorator_list", ())], key=_line)
                yield lines.offset(start.lineno, start.col_offset), node


def _offset(found: tuple[int, ast.stmt]) -> int:
    return found[0]


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _line(node: ast.stmt | ast.expr) -> int:
    return node.lineno


def _in_fstring(place: _Place, lines: LineIndex) -> bool:
    """Whether the edits stand in an f-string, which before Python 3.12 must stay on its line."""
    strings = [n for n in ast.walk(place.statement or ast.Module([], [])) if _is_fstring(n)]
    for node in strings:
        assert isinstance(node, ast.JoinedStr)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = lines.offset(node.lineno, node.col_offset)
        if start <= place.old.start < lines.offset(node.end_lineno, node.end_col_offset):
            return True
    return False


def _is_fstring(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr)


def _is_long(span: Span, lines: LineIndex, width: int) -> bool:
    first, _ = lines.position(span.start)
    last, _ = lines.position(span.end)
    return any(len(lines.line_text(n).expandtabs(4)) > width for n in range(first, last + 1))


def _formatted(
    old_text: str,
    new_text: str,
    place: _Place,
    old_lines: LineIndex,
    new_lines: LineIndex,
    style: Style,
) -> Edit | None:
    """What the formatter makes of the place, if the old statement was as the formatter has it.

    A statement of one line says nothing of where the file puts its arguments.
    """
    if not style.is_ruffs and "\n" not in old_text[place.old.start : place.old.end]:
        return None
    if not _is_plain(place.statement, old_text, old_lines, style) and (
        formatted(old_text, _lines(place.old, old_lines), style) != old_text
    ):
        return None
    after = formatted(new_text, _lines(place.new, new_lines), style)
    if after is not None and not new_text.endswith(("\n", "\r")):
        after = after.rstrip("\r\n")
    edit = _difference(new_text, after) if after is not None else None
    return edit if edit is not None and _is_inside(edit, place, old_lines, new_lines) else None


def _is_inside(edit: Edit, place: _Place, old_lines: LineIndex, new_lines: LineIndex) -> bool:
    """Whether an edit keeps to the lines of the statement that was rewritten."""
    if place.statement is None:
        return False
    above = old_lines.position(place.old.start)[0] - _first_line(place.statement)
    below = (place.statement.end_lineno or 0) - old_lines.position(place.old.end)[0]
    first = new_lines.position(place.new.start)[0] - above
    last = new_lines.position(place.new.end)[0] + below
    start, _ = new_lines.position(edit.span.start)
    end, _ = new_lines.position(edit.span.end)
    return first <= start and end <= last + 1


def _is_plain(statement: ast.stmt | None, text: str, lines: LineIndex, style: Style) -> bool:
    """Whether a statement is one line with plain spacing, which no formatter has anything to say to.

    That is so if printing its syntax tree gives the line again, quotes aside.
    """
    if statement is None or hasattr(statement, "body") or statement.end_lineno != statement.lineno:
        return False
    assert statement.end_col_offset is not None
    start = lines.offset(statement.lineno, statement.col_offset)
    if text[lines.line_start(statement.lineno) : start].replace(style.indent, ""):
        return False
    source = text[start : lines.offset(statement.lineno, statement.end_col_offset)]
    if len(lines.line_text(statement.lineno)) > style.width:
        return False
    return ast.unparse(statement).replace("'", '"') == source.replace("'", '"')


def _lines(span: Span, lines: LineIndex) -> Lines:
    return Lines(*lines.position(span.start), *lines.position(span.end))


def _difference(before: str, after: str) -> Edit | None:
    """The one edit that turns `before` into `after`."""
    if before == after:
        return None
    limit = min(len(before), len(after))
    start = next((i for i in range(limit) if before[i] != after[i]), limit)
    rest = limit - start
    back = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    return Edit(Span(start, len(before) - back), after[start : len(after) - back])


def _fitted(
    text: str, place: _Place, old_lines: LineIndex, new_lines: LineIndex, style: Style
) -> Edit | None:
    """The rewritten call laid out by itself, in the file's own manner."""
    first, column = new_lines.position(place.new.start)
    last, _ = new_lines.position(place.new.end)
    line = new_lines.line_text(first)
    last_line = new_lines.line_start(last) + len(new_lines.line_text(last))
    source = text[place.new.start : place.new.end]
    new = fitted_call(
        source,
        column=column - 1,
        indent=line[: len(line) - len(line.lstrip())],
        tail=last_line - place.new.end,
        width=max(style.width, _longest(place.old, old_lines)),
        style=style,
    )
    return None if new is None or new == source else Edit(place.new, new)


def _longest(span: Span, lines: LineIndex) -> int:
    first, _ = lines.position(span.start)
    last, _ = lines.position(span.end)
    return max(len(lines.line_text(number)) for number in range(first, last + 1))
