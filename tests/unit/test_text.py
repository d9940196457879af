"""Files are decoded as Python decodes them and come back byte-true; their lines are Python's."""

from __future__ import annotations

import ast
import codecs
import io
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxmigrate.errors import SourceError
from jaxmigrate.lines import LineIndex, newline_of
from jaxmigrate.sources.text import SourceFile, decode, encode

WHERE = Path("pkg/a.py")
NOT_LINE_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


def decoded(data: bytes) -> SourceFile:
    return decode(data, "pkg/a.py", WHERE)


def refusal(data: bytes) -> str:
    with pytest.raises(SourceError) as caught:
        decoded(data)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_plain_text_is_utf_8() -> None:
    source = decoded("é = 1\n".encode())
    assert source == SourceFile("pkg/a.py", WHERE, b"\xc3\xa9 = 1\n", "é = 1\n", "utf-8")


def test_a_byte_order_mark_is_not_part_of_the_text_and_comes_back() -> None:
    source = decoded(codecs.BOM_UTF8 + b"x = 1\n")
    assert (source.text, source.encoding) == ("x = 1\n", "utf-8-sig")
    assert encode("y = 1\n", source) == codecs.BOM_UTF8 + b"y = 1\n"


def test_only_one_byte_order_mark_is_taken_off() -> None:
    assert decoded(codecs.BOM_UTF8 * 2).text == "\ufeff"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "head",
    [
        "# -*- coding: latin-1 -*-",
        "#!/usr/bin/env python@# vim: set fileencoding=latin-1 :",
        "@# coding=iso-8859-1",
        "\x0c  @# coding: ISO_8859_1",
        "# coding: latin-1-unix",
    ],
)
def test_a_cookie_on_the_first_two_lines_counts(head: str, newline: str) -> None:
    data = (head + "@x = 'é'@").replace("@", newline).encode("latin-1")
    assert decoded(data).encoding == "iso8859-1"
    assert "é" in decoded(data).text


@pytest.mark.parametrize(
    "head", ["\n\n# coding: latin-1\n", "x = 1\n# coding: latin-1\n", "'''\n# coding: latin-1\n'''"]
)
def test_a_cookie_elsewhere_does_not_count(head: str) -> None:
    assert decoded(head.encode()).encoding == "utf-8"
    assert "declares no other encoding" in refusal((head + "\xe9").encode("latin-1"))


def test_a_comment_in_the_declared_encoding_may_stand_above_the_cookie() -> None:
    assert decoded("# é\n# coding: latin-1\n".encode("latin-1")).text.startswith("# é")


@pytest.mark.parametrize("spelling", ["utf-8", "UTF8", "utf_8", "utf-8-unix", "U8"])
def test_every_spelling_of_utf_8_is_utf_8(spelling: str) -> None:
    assert decoded(f"# coding: {spelling}\n".encode()).encoding == "utf-8"
    assert decoded(codecs.BOM_UTF8 + f"# coding: {spelling}\n".encode()).encoding == "utf-8-sig"


@pytest.mark.parametrize(
    "codec", ["shift_jis", "euc_jp", "iso2022_jp", "gb18030", "big5", "cp1252", "koi8_r", "utf_7"]
)
def test_other_codecs_go_round(codec: str) -> None:
    word = "пример" if codec == "koi8_r" else "x" if codec == "cp1252" else "日本"
    data = f"# coding: {codec}\nx = '{word}'\n".encode(codec)
    source = decoded(data)
    assert word in source.text
    assert encode(source.text, source) == data


def test_a_byte_that_is_not_utf_8_is_named_with_its_place() -> None:
    assert refusal(b"x = 1\r\ny = '\xe9'\n") == (
        "is not valid utf-8 and declares no other encoding: byte 0xe9 at offset 12, line 2"
    )


def test_the_place_counts_a_byte_order_mark() -> None:
    assert "byte 0xff at offset 5, line 2" in refusal(codecs.BOM_UTF8 + b"#\n\xff")


def test_bytes_outside_the_declared_encoding_are_named_with_it() -> None:
    assert refusal(b"# coding: ascii\n\xe9") == "is not valid ascii: byte 0xe9 at offset 16, line 2"


def test_an_unknown_encoding_is_named() -> None:
    assert "Python does not know: klingon" in refusal(b"# coding: klingon\n")


@pytest.mark.parametrize("codec", ["hex", "rot13", "zlib", "undefined", "idna", "punycode"])
def test_a_codec_that_is_not_for_source_is_refused(codec: str) -> None:
    refusal(f"# coding: {codec}\n\n\nx = '...'\n".encode())


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16", "utf-32", "cp037", "unicode_escape"])
def test_a_codec_in_which_the_declaration_does_not_read_is_refused(codec: str) -> None:
    refusal(f"# coding: {codec}\nx = 12\n\n".encode())


def test_a_byte_order_mark_against_the_cookie_is_refused() -> None:
    assert "byte order mark, but declares" in refusal(codecs.BOM_UTF8 + b"# coding: latin-1\n")


@pytest.mark.parametrize("data", [b"a\rb\r\n\0\n", "ab\ncd\ne\n".encode("utf-16")])
def test_nul_bytes_are_named_with_their_line(data: bytes) -> None:
    line = 3 if data.startswith(b"a") else 1
    assert refusal(data) == f"contains NUL bytes, line {line}"


def test_bytes_that_would_not_come_back_are_refused() -> None:
    # 0x8790 and 0x81e0 are the same character in cp932; only one of them is ever written.
    assert "written back" in refusal(b"# coding: cp932\nx = '\x87\x90'\n")


def test_a_character_that_the_encoding_lacks_is_refused() -> None:
    source = decoded(b"# coding: ascii\n")
    with pytest.raises(SourceError, match="ascii has no bytes for the character '\\\\u03bb'"):
        encode("λ", source)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), st.booleans())
def test_any_utf_8_comes_back_as_it_was(text: str, mark: bool) -> None:
    data = (codecs.BOM_UTF8 if mark else b"") + ("x\n\n" + text).encode()
    source = decoded(data)
    assert encode(source.text, source) == data


@given(st.binary())
def test_any_bytes_come_back_or_are_refused(data: bytes) -> None:
    try:
        source = decoded(data)
    except SourceError:
        return
    assert encode(source.text, source) == data


@given(
    st.lists(
        st.sampled_from(
            [
                "#",
                "# coding: latin-1",
                "# -*- coding=utf-8 -*-",
                "",
                " ",
                "\x0c",
                "x",
                "coding: ascii",
            ]
        ),
        max_size=4,
    ).map("\n".join)
)
def test_the_encoding_is_the_one_that_tokenize_detects(text: str) -> None:
    expected, _ = tokenize.detect_encoding(io.BytesIO(text.encode()).readline)
    assert codecs.lookup(decoded(text.encode()).encoding) == codecs.lookup(expected)


@pytest.mark.parametrize(
    ("text", "newline"),
    [
        ("", "\n"),
        ("x", "\n"),
        ("a\nb\n", "\n"),
        ("a\r\nb\r\nc\n", "\r\n"),
        ("a\rb\rc\n", "\r"),
        ("a\r\nb\n", "\n"),
        ("a\x0cb\u2028c\r\n", "\r\n"),
    ],
)
def test_the_newline_of_a_file_is_the_one_that_most_lines_have(text: str, newline: str) -> None:
    assert newline_of(text) == newline


def test_only_what_ends_a_line_in_python_ends_a_line() -> None:
    index = LineIndex(f"a{NOT_LINE_ENDS}b\nc\r\nd\re")
    assert [index.line_text(line) for line in range(1, index.line_count + 1)] == [
        f"a{NOT_LINE_ENDS}b",
        "c",
        "d",
        "e",
    ]


def test_a_column_of_ast_is_in_bytes_and_an_offset_in_characters() -> None:
    index = LineIndex("x = 1\ns = 'é𝒳' + y\n")
    assert index.offset(2, 15) == "x = 1\ns = 'é𝒳' + y\n".index("y")
    assert index.position(6) == (2, 1)
    assert index.position(15) == (2, 10)
    assert index.line_start(2) == 6


def test_the_end_of_the_text_is_a_place_in_it() -> None:
    assert LineIndex("").position(0) == (1, 1)
    assert LineIndex("a\n").position(2) == (2, 1)
    assert LineIndex("a\n").offset(2, 0) == 2


@pytest.mark.parametrize(("line", "column"), [(0, 0), (4, 0), (1, -1), (1, 2), (2, 4), (2, 1)])
def test_a_place_outside_the_text_is_an_error(line: int, column: int) -> None:
    with pytest.raises(ValueError, match=r"has no|decode"):
        LineIndex("a\né\n").offset(line, column)


SOURCES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "x = f(a, 'é')",
                "λ = '日本𝒳' + y",
                "\x0cz = 1",
                "s = 'a\x0bb\x1cc\x85d\u2028e' + t",
                "# é\x0c\u2029",
                "t = '''é",
                "𝒳''' + (u",
                ")",
                "",
            ]
        ),
        st.sampled_from(["\n", "\r\n", "\r"]),
    ),
    max_size=12,
).map(lambda lines: "".join(line + newline for line, newline in lines))


@given(SOURCES)
def test_names_stand_where_ast_says(text: str) -> None:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    index = LineIndex(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            start = index.offset(node.lineno, node.col_offset)
            end = index.offset(node.end_lineno, node.end_col_offset)
            assert text[start:end] == node.id


@given(st.text(st.sampled_from("aé𝒳\n\r" + NOT_LINE_ENDS)), st.data())
def test_positions_and_offsets_agree(text: str, data: st.DataObject) -> None:
    index = LineIndex(text)
    offset = data.draw(st.integers(0, len(text)))
    line, column = index.position(offset)
    assert index.line_start(line) + column - 1 == offset
    before = text[index.line_start(line) : offset]
    if len(before) <= len(index.line_text(line)):
        assert index.offset(line, len(before.encode())) == offset
