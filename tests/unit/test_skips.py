"""Skip comments as they are read off the source."""

from __future__ import annotations

import pytest

from jaxmigrate.sources.skips import skips


def read(text: str) -> list[tuple[int, int, bool, frozenset[str], bool]]:
    return [(s.line, s.column, s.alone, s.names, s.whole_file) for s in skips(text)]


NONE: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x  # jaxmigrate: skip\n", [(1, 4, False, NONE, False)]),
        ("# jaxmigrate: skip\nx\n", [(1, 1, True, NONE, False)]),
        ("if x:\n    # jaxmigrate: skip\n    y\n", [(2, 5, True, NONE, False)]),
        ("x  # jaxmigrate: skip=a\n", [(1, 4, False, frozenset({"a"}), False)]),
        ("x  # jaxmigrate: skip=a,b-c\n", [(1, 4, False, frozenset({"a", "b-c"}), False)]),
        ("x  # jaxmigrate: skip = a , b\n", [(1, 4, False, frozenset({"a", "b"}), False)]),
        ("x  #jaxmigrate:skip\n", [(1, 4, False, NONE, False)]),
        ("# jaxmigrate: skip-file\n", [(1, 1, True, NONE, True)]),
        ("# jaxmigrate: skip-file=a\n", [(1, 1, True, frozenset({"a"}), True)]),
        ("x  # noqa # jaxmigrate: skip\n", [(1, 4, False, NONE, False)]),
        ("'é'  # jaxmigrate: skip\n", [(1, 6, False, NONE, False)]),
        ("f(\n  a,  # jaxmigrate: skip\n)\n", [(2, 7, False, NONE, False)]),
        ("a\r# jaxmigrate: skip\rb\r", [(2, 1, True, NONE, False)]),
        ("a\r\n# jaxmigrate: skip\r\nb\r\n", [(2, 1, True, NONE, False)]),
        ("\x0c# jaxmigrate: skip\n", [(1, 2, True, NONE, False)]),
        ("x  # jaxmigrate: skip", [(1, 4, False, NONE, False)]),
        ("'# jaxmigrate: skip'\n", []),
        ('"""\n# jaxmigrate: skip\n"""\n', []),
        ("f'# jaxmigrate: skip'\n", []),
        ("x  # jaxmigrate: skipped\n", []),
        ("x  # jaxmigrate skip\n", []),
        ("x  # jaxmigrate: keep\n", []),
        ("", []),
    ],
)
def test_comments_are_read(
    text: str, expected: list[tuple[int, int, bool, frozenset[str], bool]]
) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "first", "last", "covered"),
    [
        ("x  # jaxmigrate: skip\n", 1, 1, True),
        ("x  # jaxmigrate: skip\n", 2, 2, False),
        ("# jaxmigrate: skip\n", 2, 4, True),
        ("# jaxmigrate: skip\n", 3, 4, False),
        ("x # jaxmigrate: skip\n", 2, 2, False),
        ("a\nb\nc # jaxmigrate: skip\n", 1, 5, True),
        ("# jaxmigrate: skip-file\n", 90, 99, True),
        ("# jaxmigrate: skip=m\n", 2, 2, True),
        ("# jaxmigrate: skip=n\n", 2, 2, False),
        ("# jaxmigrate: skip-file=n\n", 2, 2, False),
    ],
)
def test_a_comment_covers_its_line_and_alone_the_next(
    text: str, first: int, last: int, covered: bool
) -> None:
    (skip,) = skips(text)
    assert skip.covers("m", first, last) is covered
