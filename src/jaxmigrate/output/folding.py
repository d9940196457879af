"""Folds styled text to a width in terminal cells without losing a character."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import get_character_cell_size

# Asks for an emoji picture, which is two cells wide where its character alone is one.
_EMOJI_SELECTOR = "\ufe0f"


@dataclass(frozen=True, slots=True)
class Piece:
    """Text in one style, by its rich name."""

    text: str
    style: str = ""


Row = tuple[Piece, ...]


def fold(pieces: Sequence[Piece], first: int, rest: int, breaks: str) -> Iterator[Row]:
    """Rows of at most `first`, then `rest` cells each.

    A row ends behind a character of `breaks` where one stands in its last two thirds, so that
    words and names stay whole.
    """
    text = "".join(piece.text for piece in pieces)
    start = 0
    for stop in _stops(text, max(first, 2), max(rest, 2), breaks):
        yield _slice(pieces, start, stop)
        start = stop


def width(text: str) -> int:
    """How many cells `text` takes; never less than a terminal gives it."""
    return len(text) if text.isascii() else sum(map(_size, text))


def _size(char: str) -> int:
    if char.isascii() or char == _EMOJI_SELECTOR:
        return 1
    return get_character_cell_size(char)


def _stops(text: str, first: int, rest: int, breaks: str) -> Iterator[int]:
    start, room = 0, first
    while (stop := _fitting(text, start, room)) < len(text):
        start, room = _break(text, start, stop, breaks), rest
        yield start
    yield stop


def _fitting(text: str, start: int, room: int) -> int:
    """Where the text from `start` that fits into `room` cells ends."""
    for index in range(start, len(text)):
        room -= _size(text[index])
        if room < 0:
            return index
    return len(text)


def _break(text: str, start: int, stop: int, breaks: str) -> int:
    lowest = start + (stop - start) // 3
    for index in range(stop, lowest, -1):
        if text[index - 1] in breaks:
            return index
    return stop


def _slice(pieces: Sequence[Piece], start: int, stop: int) -> Row:
    row: list[Piece] = []
    at = 0
    for piece in pieces:
        text = piece.text[max(start - at, 0) : max(stop - at, 0)]
        if text:
            row.append(Piece(text, piece.style))
        at += len(piece.text)
    return tuple(row)
