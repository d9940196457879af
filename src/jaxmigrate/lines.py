"""Lines as Python counts them, and offsets in between."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from itertools import accumulate

_NEWLINE = re.compile(r"\r\n|\n|\r")


def newline_of(text: str) -> str:
    r"""The newline that ends most lines of `text`: `\n`, `\r\n` or `\r`; `\n` if there is none."""
    crlf = text.count("\r\n")
    counts = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    return max(counts, key=lambda newline: counts[newline])


def searchable(text: str) -> str:
    """The text with its identifiers spelled as Python reads them (NFKC), to look for words in."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


class LineIndex:
    r"""The lines of a text as Python counts them: ended by `\n`, `\r\n` or a lone `\r` only.

    Lines count from 1 and offsets are in characters from 0. A text that ends in a newline has one
    more, empty line behind it, as in an editor. Every method raises ValueError for a place outside
    the text.
    """

    __slots__ = ("_ascii", "_ends", "_starts", "_text")

    def __init__(self, text: str) -> None:
        """Index `text`, once for any number of look-ups."""
        self._text = text
        self._ascii = text.isascii()
        if "\r" not in text:
            lengths = [len(line) for line in text.split("\n")]
            self._starts = [0, *accumulate(length + 1 for length in lengths)][:-1]
            self._ends = [s + n for s, n in zip(self._starts, lengths, strict=True)]
            return
        self._starts = [0]
        self._ends = []
        for newline in _NEWLINE.finditer(text):
            self._ends.append(newline.start())
            self._starts.append(newline.end())
        self._ends.append(len(text))

    @property
    def line_count(self) -> int:
        """How many lines there are; at least 1."""
        return len(self._starts)

    def line_start(self, line: int) -> int:
        """The offset of the line's first character."""
        return self._starts[self._checked(line)]

    def line_text(self, line: int) -> str:
        """The line without its newline."""
        place = self._checked(line)
        return self._text[self._starts[place] : self._ends[place]]

    def offset(self, line: int, utf8_column: int) -> int:
        """The offset of a position of `ast`: a line, and a column in UTF-8 bytes from 0."""
        place = self._checked(line)
        start, end = self._starts[place], self._ends[place]
        column = utf8_column if self._ascii else _characters(self._text[start:end], utf8_column)
        if not 0 <= column <= end - start:
            raise ValueError(f"line {line} has no column {utf8_column}")
        return start + column

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column of an offset, both from 1, the column in characters."""
        if not 0 <= offset <= len(self._text):
            raise ValueError(f"the text has no offset {offset}")
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def _checked(self, line: int) -> int:
        if not 1 <= line <= len(self._starts):
            raise ValueError(f"the text has no line {line}")
        return line - 1


def _characters(line: str, utf8_column: int) -> int:
    """How many characters the first `utf8_column` bytes hold; any number outside, if they do."""
    if line.isascii() or utf8_column <= 0:
        return utf8_column
    data = line.encode("utf-8", "surrogatepass")
    if utf8_column > len(data):
        return utf8_column
    return len(data[:utf8_column].decode("utf-8", "surrogatepass"))
