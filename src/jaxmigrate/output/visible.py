"""Makes text safe to look at: what would steer a terminal or hide from the eye is spelled out."""

from __future__ import annotations

import unicodedata

TAB = 4

# Joiners hold emoji and letters together; spelled out they would tear apart what people do read.
_JOINERS = frozenset("\u200c\u200d")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str) -> str:
    """`text` with control, format and separator characters as pictures: ESC as `␛`, CR as `␍`."""
    if text.isprintable():
        return text
    return "".join(map(_picture, text))


def words(text: str) -> str:
    """`text` on one line, for a message: tabs as blanks, everything else as `visible` has it."""
    return visible(text.expandtabs(TAB))


def _picture(char: str) -> str:
    if char.isprintable() or char in _JOINERS or unicodedata.category(char) not in _HIDDEN:
        return char
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if 0xD800 <= code <= 0xDFFF:
        return f"\\u{code:04x}"
    return f"<U+{code:04X}>"
