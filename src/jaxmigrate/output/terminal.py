"""Prints to a terminal: numbered, coloured diffs with the reason for each edit above its hunk.

Source goes out as bare segments, so rich never reads it as markup or emoji codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console as RichConsole
from rich.segment import Segment, Segments

from jaxmigrate.output.decoding import shown
from jaxmigrate.output.document import Block, Closing, Failures, FileDiff, Remark, Remarks, Unplaced
from jaxmigrate.output.emphasis import Line, Stretch, emphasised
from jaxmigrate.output.folding import Piece, Row, fold, width
from jaxmigrate.output.hunks import Change, Hunk, structured_hunks
from jaxmigrate.output.patch import split_lines
from jaxmigrate.output.visible import TAB, visible, words

_STYLES = {" ": "", "-": "red", "+": "green"}
_CHANGED = {" ": "", "-": "reverse red", "+": "reverse green"}
_CODE_BREAKS = " ,("
_WORD_BREAKS = " "
_HANG = 4
_RULE = "─"
_NO_NEWLINE = "\\ No newline at end of file"


class TerminalConsole:
    """Shows blocks through a rich console, folded to its width."""

    def __init__(self, console: RichConsole) -> None:
        self._console = console

    def show(self, blocks: Iterable[Block]) -> None:
        """Print `blocks`, an empty line between two."""
        for number, block in enumerate(blocks):
            rows = [(), *self._rows(block)] if number else [*self._rows(block)]
            self._console.print(Segments(list(self._segments(rows))), end="")

    def _rows(self, block: Block) -> Iterator[Row]:
        match block:
            case FileDiff():
                yield from _diff_rows(block, self._console.width)
            case Remarks(remarks):
                yield from _remarks_rows(remarks, self._console.width)
            case Failures(files):
                for failed in files:
                    error = (Piece("error:", "bold red"), Piece(f" {failed.path}: ", "bold"))
                    yield from _words_rows((*error, Piece(failed.message)), self._console.width)
            case Unplaced(lines):
                for line in lines:
                    yield from _words_rows((Piece(line, "yellow"),), self._console.width)
            case Closing(lines):
                for number, line in enumerate(lines):
                    style = "" if number else "bold"
                    yield from _words_rows((Piece(line, style),), self._console.width)

    def _segments(self, rows: Iterable[Row]) -> Iterator[Segment]:
        for row in rows:
            for piece in row:
                style = self._console.get_style(piece.style) if piece.style else None
                yield Segment(self._encodable(piece.text), style)
            yield Segment.line()

    def _encodable(self, text: str) -> str:
        if text.isascii():
            return text
        encoding = self._console.encoding
        if not encoding.startswith("utf"):
            text = text.replace(_RULE, "-")
        return text.encode(encoding, "backslashreplace").decode(encoding)


def rich_terminal(color: bool | None, stream: TextIO) -> TerminalConsole:
    """Shows blocks on `stream` as on a terminal; `color` as in `make_console`."""
    return TerminalConsole(rich_console(color, stream))


def rich_console(color: bool | None, stream: TextIO) -> RichConsole:
    """rich's console that takes `stream` for a terminal; `color` as in `make_console`."""
    console = RichConsole(
        file=stream,
        force_terminal=True,
        color_system=None if color is False else "auto",
        no_color=False if color else None,
    )
    if color and console.color_system is None:
        # TERM=dumb says no colour; --color was asked for by name.
        console = RichConsole(
            file=stream, force_terminal=True, color_system="standard", no_color=False
        )
    return console


def _diff_rows(block: FileDiff, columns: int) -> Iterator[Row]:
    yield _heading(words(block.file.path), columns)
    file = block.file
    before, after = split_lines(file.before), split_lines(file.after)
    hunks = list(structured_hunks(before, after))
    numbers = len(str(max(len(before), len(after))))
    painter = _Painter(
        _texts(before, file.encoding), _texts(after, file.encoding), numbers, columns
    )
    for hunk, remarks in zip(hunks, _remarks_by_hunk(block.remarks, hunks), strict=True):
        yield ()
        yield from _remarks_rows(remarks, columns)
        yield from painter.rows(hunk)


def _heading(path: str, columns: int) -> Row:
    rule = _RULE * max(columns - width(path) - 4, 2)
    return (Piece(f"{_RULE * 2} ", "dim"), Piece(path, "bold"), Piece(f" {rule}", "dim"))


def _texts(lines: Sequence[bytes], encoding: str) -> list[str]:
    texts = [shown(line, encoding) for line in lines]
    # A byte order mark is no code, and a gate sees to it that both sides have it.
    return [text.removeprefix("\ufeff") for text in texts[:1]] + texts[1:]


def _remarks_by_hunk(remarks: Iterable[Remark], hunks: Sequence[Hunk]) -> list[list[Remark]]:
    """The remarks for each hunk: the first that has changed lines of the site, else the nearest."""
    shares: list[list[Remark]] = [[] for _ in hunks]
    for remark in remarks:
        distances = [_distance(remark.lines, hunk) for hunk in hunks]
        shares[distances.index(min(distances))].append(remark)
    return shares


def _distance(lines: range, hunk: Hunk) -> int:
    first, last = hunk.changes[0].old.start + 1, max(hunk.changes[-1].old.stop, 1)
    return max(first - lines.stop + 1, lines.start - last, 0)


def _remarks_rows(remarks: Iterable[Remark], columns: int) -> Iterator[Row]:
    for remark in remarks:
        place = Piece(remark.where, "bold")
        pieces = (place, Piece(f" {remark.title}: ", "cyan"), Piece(remark.reason))
        yield from _words_rows(pieces, columns)
        for evidence in remark.evidence:
            yield from _words_rows((Piece(evidence, "dim"),), columns, _HANG)


def _words_rows(pieces: Sequence[Piece], columns: int, indent: int = 0) -> Iterator[Row]:
    hang = indent + _HANG
    rows = fold(pieces, columns - indent, columns - hang, _WORD_BREAKS)
    for number, row in enumerate(rows):
        margin = hang if number else indent
        yield _stripped((Piece(" " * margin), *row) if margin else row)


def _stripped(row: Row) -> Row:
    """`row` without the blanks at which it was folded."""
    if not row:
        return row
    *others, last = row
    return (*others, Piece(last.text.rstrip(" "), last.style))


@dataclass(frozen=True, slots=True)
class _Painter:
    """Paints the hunks of one file; `numbers` is how many digits its line numbers have."""

    before: Sequence[str]
    after: Sequence[str]
    numbers: int
    columns: int

    def rows(self, hunk: Hunk) -> Iterator[Row]:
        """The rows of `hunk`: numbers, sign, code."""
        ended = self._line_end(hunk)
        at_old, at_new = hunk.old.start, hunk.new.start
        for change in hunk.changes:
            yield from self._context(range(at_old, change.old.start), at_new - at_old, ended)
            yield from self._change(change, ended)
            at_old, at_new = change.old.stop, change.new.stop
        yield from self._context(range(at_old, hunk.old.stop), at_new - at_old, ended)

    def _line_end(self, hunk: Hunk) -> str:
        r"""What ends every line of the hunk, and need not be seen: `\r\n` or `\n`."""
        lines = [
            *(self.before[each] for each in hunk.old),
            *(self.after[each] for each in hunk.new),
        ]
        whole = [line for line in lines if line.endswith("\n")]
        return "\r\n" if whole and all(line.endswith("\r\n") for line in whole) else "\n"

    def _context(self, lines: range, shift: int, ended: str) -> Iterator[Row]:
        for index in lines:
            text = self.before[index]
            line = (Stretch(text.removesuffix(ended), False),)
            yield from self._line(" ", index, index + shift, line, text)

    def _change(self, change: Change, ended: str) -> Iterator[Row]:
        old = [self.before[index] for index in change.old]
        new = [self.after[index] for index in change.new]
        old_lines, new_lines = emphasised(
            [text.removesuffix(ended) for text in old],
            [text.removesuffix(ended) for text in new],
        )
        for index, line, text in zip(change.old, old_lines, old, strict=True):
            yield from self._line("-", index, None, line, text)
        for index, line, text in zip(change.new, new_lines, new, strict=True):
            yield from self._line("+", None, index, line, text)

    def _line(
        self, sign: str, old: int | None, new: int | None, line: Line, text: str
    ) -> Iterator[Row]:
        gutter = f"{self._number(old)} {self._number(new)} "
        room = max(self.columns - len(gutter) - 2, 2)
        hang = min(_indent(text) + TAB, room // 2)
        rows = fold(_code(line, sign), room, room - hang, _CODE_BREAKS)
        for number, row in enumerate(rows):
            margin = " " * len(gutter) if number else gutter
            yield _code_row(margin, sign, hang if number else 0, row)
        if not text.endswith("\n"):
            yield (Piece(" " * len(gutter)), Piece(_NO_NEWLINE, "dim"))

    def _number(self, index: int | None) -> str:
        return f"{'' if index is None else index + 1:>{self.numbers}}"


def _code_row(margin: str, sign: str, hang: int, row: Row) -> Row:
    if row:
        blank = Piece(" " * (1 + hang))
        return (Piece(margin, "dim"), Piece(sign, _STYLES[sign]), blank, *row)
    if sign == " ":
        return (Piece(margin.rstrip(), "dim"),)
    return (Piece(margin, "dim"), Piece(sign, _STYLES[sign]))


def _indent(text: str) -> int:
    expanded = text.expandtabs(TAB)
    return len(expanded) - len(expanded.lstrip(" "))


def _code(line: Line, sign: str) -> list[Piece]:
    styles = {True: _CHANGED[sign], False: _STYLES[sign]}
    pieces: list[Piece] = []
    column = 0
    for stretch in line:
        text = _expanded(stretch.text, column)
        column += width(text)
        pieces.append(Piece(text, styles[stretch.changed]))
    return pieces


def _expanded(text: str, column: int) -> str:
    """`text`, which begins in `column`, made visible and with blanks for its tabs."""
    first, *others = text.split("\t")
    expanded = visible(first)
    for part in others:
        blanks = TAB - (column + width(expanded)) % TAB
        expanded += " " * blanks + visible(part)
    return expanded
