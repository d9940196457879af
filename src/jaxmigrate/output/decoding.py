"""Turns a file's bytes into text to show, whatever the bytes are."""

from __future__ import annotations


def shown(data: bytes, encoding: str) -> str:
    """`data` as text; a byte that does not decode is kept as a surrogate escape where that can be.

    A byte order mark stays in the text, since it stays in the file.
    """
    name = "utf-8" if encoding.lower().replace("_", "-") == "utf-8-sig" else encoding
    try:
        return data.decode(name, "surrogateescape")
    except UnicodeDecodeError:
        return data.decode(name, "backslashreplace")


def utf8(text: str) -> bytes:
    """`text` as UTF-8: surrogate escapes as their bytes, other surrogates spelled out."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")
