"""Turns a file's bytes into text and back without losing any, and counts lines as Python does."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from jaxmigrate.errors import SourceError

_NEWLINE_BYTES = re.compile(rb"\r\n|\n|\r")
# The two patterns of PEP 263, as tokenize.detect_encoding has them.
_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK_OR_COMMENT = re.compile(rb"[ \t\f]*(?:#|$)")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was read.

    `path` is the path to show, with `/`; `real_path` is where the file lies, symbolic links
    resolved. `text` is `data` decoded, without its byte order mark, newlines as they stand.
    `encoding` is the codec's name, `utf-8-sig` where there is a byte order mark.
    """

    path: str
    real_path: Path
    data: bytes
    text: str
    encoding: str


def decode(data: bytes, path: str, real_path: Path) -> SourceFile:
    """The file that holds `data`, decoded as Python would: byte order mark, PEP 263 cookie, UTF-8.

    Raises SourceError if Python could not read it, or if encoding the text would not give `data`
    back.
    """
    nul = data.find(b"\0")
    if nul >= 0:
        raise SourceError(f"contains NUL bytes, line {_line_of(data, nul)}")
    encoding = _encoding_of(data)
    text = _decoded(data, encoding)
    source = SourceFile(path, real_path, data, text, encoding)
    if encode(text, source) != data:
        raise SourceError(f"cannot be read as {encoding} and written back with the same bytes")
    return source


def encode(text: str, source: SourceFile) -> bytes:
    """`text` in the encoding of `source`, with a byte order mark if that has one.

    Raises SourceError if the encoding has no bytes for some character of `text`.
    """
    try:
        return text.encode(source.encoding)
    except UnicodeEncodeError as error:
        character = text[error.start]
        raise SourceError(
            f"{source.encoding} has no bytes for the character {character!a}"
        ) from None
    except UnicodeError:
        raise SourceError(f"cannot be encoded as {source.encoding}") from None


def _line_of(data: bytes, offset: int) -> int:
    return 1 + sum(1 for _ in _NEWLINE_BYTES.finditer(data, 0, offset))


def _encoding_of(data: bytes) -> str:
    cookie = _cookie_of(data)
    encoding = "utf-8" if cookie is None else _codec_name(cookie)
    if not data.startswith(codecs.BOM_UTF8):
        return encoding
    if encoding != "utf-8":
        raise SourceError(f"has a UTF-8 byte order mark, but declares its encoding as {cookie}")
    return "utf-8-sig"


def _cookie_of(data: bytes) -> str | None:
    """The encoding that the first line declares, or the second behind a blank or a comment.

    Not tokenize.detect_encoding: that takes lines from a readline, and those do not end at a lone
    carriage return, where Python's own tokenizer ends them.
    """
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    for _ in range(2):
        newline = _NEWLINE_BYTES.search(data, start)
        line = data[start : newline.start() if newline else len(data)]
        if cookie := _COOKIE.match(line):
            return cookie[1].decode("ascii")
        if newline is None or not _BLANK_OR_COMMENT.match(line):
            return None
        start = newline.end()
    return None


def _codec_name(cookie: str) -> str:
    # Editors append their newline style (`utf-8-unix`), and Python minds only the beginning.
    short = cookie[:12].lower().replace("_", "-")
    if short == "utf-8" or short.startswith("utf-8-"):
        return "utf-8"
    if re.match(r"(?:latin-1|iso-8859-1|iso-latin-1)(?:-|$)", short):
        return "iso8859-1"
    try:
        return codecs.lookup(cookie).name
    except LookupError:
        raise SourceError(f"declares an encoding that Python does not know: {cookie}") from None


def _decoded(data: bytes, encoding: str) -> str:
    # utf-8-sig would count error offsets from behind the mark.
    mark = len(codecs.BOM_UTF8) if encoding == "utf-8-sig" else 0
    try:
        text = data[mark:].decode("utf-8" if mark else encoding)
        text.encode("utf-8")
    except LookupError:
        raise SourceError(f"declares an encoding that is not one of text: {encoding}") from None
    except UnicodeDecodeError as error:
        raise SourceError(_undecodable(data, encoding, error.start + mark)) from None
    except UnicodeError:
        raise SourceError(f"cannot be decoded as {encoding}") from None
    if encoding not in ("utf-8", "utf-8-sig") and _cookie_of(text.encode("utf-8")) is None:
        raise SourceError(f"declares its encoding as {encoding}, in which the declaration is gone")
    return text


def _undecodable(data: bytes, encoding: str, offset: int) -> str:
    byte = data[offset : offset + 1].hex()
    where = f"byte 0x{byte} at offset {offset}, line {_line_of(data, offset)}"
    if encoding == "utf-8" and _cookie_of(data) is None:
        return f"is not valid utf-8 and declares no other encoding: {where}"
    return f"is not valid {encoding.removesuffix('-sig')}: {where}"
