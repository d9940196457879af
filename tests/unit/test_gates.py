"""Every gate is seen to fire on a pair that breaks its promise, and to let a sound pair through."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import libcst as cst
import pytest
from packaging.version import Version

from jaxmigrate.analysis.facts import Facts
from jaxmigrate.analysis.project import Project
from jaxmigrate.codemod import Codemod, Example, NodeKind, Site
from jaxmigrate.model import Action, Confidence, FailureKind, FileResult, Span
from jaxmigrate.pipeline import Settings, migrate_file
from jaxmigrate.rewriting.gates import (
    GateFailure,
    check_comments,
    check_only_edited,
    check_same,
    check_style,
    check_syntax,
    comments,
)
from jaxmigrate.rewriting.splice import Edit
from jaxmigrate.sources.text import decode

if TYPE_CHECKING:
    from jaxmigrate.codemod import Replacement


@pytest.mark.parametrize(
    "text",
    [
        "f(\n",
        "x = = 1\n",
        "if x:\npass\n",
        "x = '\n",
        "\tx\n  y\n",
        "(" * 3000,
        "x = 1\0\n",
        "a := 1\n",
    ],
)
def test_a_result_that_does_not_parse_is_refused(text: str) -> None:
    with pytest.raises(GateFailure, match="does not parse"):
        check_syntax(text, "a.py")


def test_a_result_that_parses_gives_its_tree() -> None:
    assert ast.dump(check_syntax("x = 1\n", "a.py")) == ast.dump(ast.parse("x = 1\n"))


def only_edited(old: str, new: str, *edits: Edit) -> None:
    """Ask the gate, with real trees of both texts."""
    check_only_edited(ast.parse(old), ast.parse(new), edits, old, new)


def same(old: str, new: str, *edits: Edit) -> None:
    """Ask the gate for layout, with real trees of both texts."""
    check_same(ast.parse(old), ast.parse(new), edits, old, new)


@pytest.mark.parametrize(
    ("old", "new", "edits"),
    [
        ("a\nb\n", "a\nc\n", []),
        ("a\nb\n", "x\nc\n", [Edit(Span(0, 1), "x")]),
        ("a\n", "a\nb\n", []),
        ("a\nb\n", "a\n", []),
        ("f(a) * b\n", "f(a + c) * d\n", [Edit(Span(2, 3), "a + c")]),
        # an edit that binds its neighbours otherwise
        ("a * b\n", "x + y * b\n", [Edit(Span(0, 1), "x + y")]),
        ("a.b\n", "x or y.b\n", [Edit(Span(0, 1), "x or y")]),
        ("a, b\n", "lambda: x, b\n", [Edit(Span(3, 4), "b")]),
        # an edit that swallows what is behind it
        ("[a, b]\n", "[x]\n", [Edit(Span(1, 2), "x")]),
        ("a; b\n", "a #; b\n", [Edit(Span(0, 1), "a #")]),
        ("x = 1\n", "x = 1.0\n", []),
        ("x = 0.0\n", "x = -0.0\n", []),
        ("x = True\n", "x = 1\n", []),
        ("f(a, True)\n", "f(b, 1)\n", [Edit(Span(2, 3), "b")]),
        ("f(a, 1)\n", "f(b, 1.0)\n", [Edit(Span(2, 3), "b")]),
        ("x = 'a'\n", "x = b'a'\n", []),
        ("x = 1\n", "x: int = 1\n", []),
        ("def f(a, b): pass\n", "def f(b, a): pass\n", []),
        ("def f(): pass\n", "async def f(): pass\n", []),
        ("x = f'{a}'\n", "x = f'{b}'\n", []),
        ("x = f'{a!r}'\n", "x = f'{a!s}'\n", []),
        ("import a\n", "import b\n", []),
        ("from a import b\n", "from .a import b\n", []),
        ("if a:\n    b\nc\n", "if a:\n    b\n    c\n", []),
        ("global x\n", "global y\n", []),
        ("del x\n", "x\n", []),
    ],
)
def test_a_change_outside_the_edits_is_refused(old: str, new: str, edits: list[Edit]) -> None:
    with pytest.raises(GateFailure, match="outside"):
        only_edited(old, new, *edits)


@pytest.mark.parametrize(
    ("old", "new", "edits"),
    [
        ("a\nb\n", "a\nc\n", [Edit(Span(2, 3), "c")]),
        ("a\nb\n", "f(x)\nc\n", [Edit(Span(0, 1), "f(x)"), Edit(Span(2, 3), "c")]),
        ("'é', a, b\n", "'é', (x), b\n", [Edit(Span(5, 6), "(x)")]),
        ("a\r\nb\r\n", "a\r\ncc\r\n", [Edit(Span(3, 4), "cc")]),
        ("x = f'é{a}'\n", "x = f'é{b}'\n", [Edit(Span(8, 9), "b")]),
        ("a\nb\n", "b\n", [Edit(Span(0, 2), "", 0)]),
        ("import a\nb\n", "import c\nimport d\nb\n", [Edit(Span(0, 8), "import c\nimport d", 2)]),
        ("f(a,b)\n", "f( a,\n  b )\n", [Edit(Span(2, 5), " a,\n  b ")]),
        ("(a)\n", "a\n", [Edit(Span(0, 3), "a")]),
        ("a\nb\n", "x = 1\na\nb\n", [Edit(Span(0, 0), "x = 1\n", 1)]),
        ("a\nb\n", "a\nx = 1\nb\n", [Edit(Span(2, 2), "x = 1\n", 1)]),
    ],
)
def test_a_change_inside_the_edits_is_let_through(old: str, new: str, edits: list[Edit]) -> None:
    only_edited(old, new, *edits)


def test_two_statements_in_the_place_of_one_may_not_hide_a_third() -> None:
    with pytest.raises(GateFailure, match="outside"):
        only_edited("a\nb\n", "x\nb\nc\n", Edit(Span(0, 1), "x", 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("f(a,b)\n", "f( a,\n  b )\n"),
        ("(a)\n", "a\n"),
        ("x = 'a'\n", 'x = "a"\n'),
        ("def f():\n    a\n    (b)\n", "def f():\n    a\n    b\n"),
    ],
)
def test_other_text_of_the_same_meaning_is_refused_where_nothing_was_edited(
    old: str, new: str
) -> None:
    with pytest.raises(GateFailure, match="outside"):
        only_edited(old, new)
    with pytest.raises(GateFailure, match="changed what it says"):
        same(old, new)


NESTED = """\
import a


class C(B):
    '''Words.'''

    x = 1

    @wraps(old)
    def f(self, n=old):
        y = 2
        return old(y)

    async def g(self):
        def h():
            z = 3
            return old

        return h


if a:
    b = 4
else:
    old
"""


def replaced(text: str, old: str, new: str, nth: int = 0) -> tuple[str, Edit]:
    """The text with the `nth` `old` replaced, and the edit that does it."""
    start = -1
    for _ in range(nth + 1):
        start = text.index(old, start + 1)
    end = start + len(old)
    return text[:start] + new + text[end:], Edit(Span(start, end), new)


@pytest.mark.parametrize("nth", range(NESTED.count("old")))
def test_an_edit_in_a_nested_body_is_let_through(nth: int) -> None:
    new, edit = replaced(NESTED, "old", "new.er", nth)
    only_edited(NESTED, new, edit)


@pytest.mark.parametrize("nth", range(NESTED.count("old")))
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import a", "import b"),
        ("class C(B)", "class C(D)"),
        ("Words", "Worse"),
        ("x = 1", "x = 2"),
        ("@wraps", "@wrops"),
        ("def f", "def F"),
        ("async def", "def"),
        ("y = 2", "y = 2.0"),
        ("(y)", "(z)"),
        ("z = 3", "z = True"),
        ("        return h", "    return h"),
        ("        return h\n", ""),
        ("if a", "if b"),
        ("b = 4", "c = 4"),
        ("import a\n", "import a\nimport a\n"),
    ],
)
def test_a_change_elsewhere_is_caught_wherever_the_edit_is(
    before: str, after: str, nth: int
) -> None:
    edited, edit = replaced(NESTED, "old", "new", nth)
    new, _ = replaced(edited, before, after)
    try:
        ast.parse(new)
    except SyntaxError:
        pytest.skip("no Python")
    with pytest.raises(GateFailure, match="outside"):
        only_edited(NESTED, new, edit)


@pytest.mark.parametrize(
    "text", ["pass\n    def g():\n        pass", "def g():\n        pass", "class D:\n        a"]
)
def test_an_edit_that_takes_in_what_follows_it_is_refused(text: str) -> None:
    old = "def f():\n    old\n    a\n    b\n"
    new, edit = replaced(old, "    old\n", f"    {text}\n    ")
    with pytest.raises(GateFailure, match="outside"):
        only_edited(old, new, edit)


@pytest.mark.parametrize(
    ("old", "before", "after"),
    [
        ("a + b\n", "+", "-"),
        ("f(a)\n", "(a)", "(a, b)"),
        ("a\n", "a\n", "a\na\n"),
        ("x = True\n", "True", "1"),
        ("def f():\n    x = 1\n    y\n", "1\n", "1.0\n"),
        ("def f():\n    x\n    y\n", "x\n    ", "x\n"),
    ],
)
def test_layout_that_changes_the_meaning_is_refused(old: str, before: str, after: str) -> None:
    new, edit = replaced(old, before, after)
    with pytest.raises(GateFailure, match="changed what it says"):
        same(old, new, edit)


@pytest.mark.parametrize(
    ("old", "before", "after"),
    [
        ("f(a,b)\n", "f(a,b)", "f(\n    a,\n    b,\n)  # c"),
        ("class C:\n    def f():\n        g(a)\n", "(a)", "(\n            a\n        )"),
        ("x\nif a:\n    g(a)\n", "g(a)", "(g(a))"),
    ],
)
def test_layout_that_changes_layout_only_is_let_through(old: str, before: str, after: str) -> None:
    new, edit = replaced(old, before, after)
    same(old, new, edit)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a  # c\n", "a\n"),
        ("a  # c\n", "a  # d\n"),
        ("# c\na\n# c\n", "# c\na\n"),
        ("f(a,  # why\n  b)\n", "f(a, b)\n"),
        ("a  # c\n", "a; '# c'\n"),
        ("a  # c\r\nb\r\n", "a\r\nb\r\n"),
        ("a  # c\rb\r", "a\rb\r"),
        ("if a:  # c\n    b\n", "if a:\n    b\n"),
    ],
)
def test_a_comment_that_is_lost_is_named(old: str, new: str) -> None:
    with pytest.raises(GateFailure, match="comment would be lost: # "):
        check_comments(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a  # c\n", "b  # c\n"),
        ("a  # c\n", "# c\na\n"),
        ("a  # c\n", "a  # c\n# more\n"),
        ("'# c'\n", "'c'\n"),
        ("a\n", "a  # new\n"),
    ],
)
def test_a_comment_that_is_kept_somewhere_is_let_through(old: str, new: str) -> None:
    check_comments(old, new)


def test_comments_are_those_of_the_source_and_not_of_its_strings() -> None:
    text = "# a\nx = '# b'  # c\ry = '''\n# d\n'''\r\n    # e\n"
    assert list(comments(text)) == ["# a", "# c", "# e"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("a\r\nb\r\n", "a\r\nb\n", "newline style"),
        ("a\r\n", "a\n", "newline style"),
        ("a\nb\n", "a\r\nb\n", "newline style"),
        ("a\rb\r", "a\rb\n", "newline style"),
        ("a\n", "a", "end of the file"),
        ("a", "a\n", "newline"),
        ("a\nb", "a\nb\n", "end of the file"),
        ("a", "a\r\nb", "newline style"),
        ("a", "a\rb", "newline style"),
        ("a", "a\nb\r\nc", "newline style"),
    ],
)
def test_another_newline_style_is_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(GateFailure, match=words):
        check_style(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\n", "c\n"),
        ("a\r\nb", "a\r\nc\r\nb"),
        ("a\r\nb\n", "a\r\nb\n"),
        ("", ""),
        ("a", "a\nb"),
    ],
)
def test_the_same_newline_style_is_let_through(old: str, new: str) -> None:
    check_style(old, new)


class Faulty(Codemod):
    """Renames `old`, and breaks one promise as told."""

    name = "faulty"
    summary = "for tests"
    needed_from = "0.1"
    mentions = ("old", "f", "wide", "half")
    examples = (Example("old\n", None),)

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def find(self, module: Facts) -> Iterator[Site]:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name) and node.id == "old":
                yield self.site(module.span(node))
            if isinstance(node, ast.Call) and self.fault == "comment":
                yield self.site(module.span(node))
            if isinstance(node, ast.Name) and node.id == "wide" and self.fault == "overlap":
                span = module.span(node)
                yield self.site(Span(span.start, span.end - 1))
                yield self.site(Span(span.start + 1, span.end))
            if isinstance(node, ast.Name) and node.id == "half" and self.fault == "half a name":
                yield self.site(Span(module.span(node).start, module.span(node).end + 2))

    @staticmethod
    def site(span: Span, kind: NodeKind = NodeKind.EXPRESSION) -> Site:
        return Site(span, Action.EDIT, Confidence.PROVEN, "for tests", kind=kind)

    def rewrite(self, site: Site, node: cst.CSTNode) -> Replacement:
        del site, node
        match self.fault:
            case "syntax":
                return cst.NamedExpr(cst.Name("a"), cst.Name("b"))
            case "outside":
                return cst.BinaryOperation(cst.Name("a"), cst.Add(), cst.Name("b"))
            case "encoding":
                return cst.SimpleString("'線'")
            case "again":
                return cst.Name("old")
            case "newline":
                line = cst.TrailingWhitespace(newline=cst.Newline("\r\n"))
                space = cst.ParenthesizedWhitespace(first_line=line)
                return cst.Name("new", [cst.LeftParen(space)], [cst.RightParen()])
            case "raise":
                raise LookupError("lost")
        return cst.Name("new")


def migrated(fault: str, source: bytes) -> FileResult:
    """What becomes of a file under a codemod with a fault."""
    file = decode(source, "a.py", Path("a.py"))
    project = Project(["a.py"], {"a.py": file.text}.get)
    settings = Settings((Faulty(fault),), Confidence.LIKELY, Version("0.10.2"))
    return migrate_file(file, project, settings)


@pytest.mark.parametrize(
    ("fault", "source", "words"),
    [
        ("syntax", b"old\n", "does not parse"),
        ("outside", b"old * c\n", "outside"),
        ("comment", b"f(a,  # why\n  b)\n", "comment would be lost: # why"),
        ("encoding", b"# coding: latin-1\nold\n", "no bytes for"),
        ("again", b"(old)\n", "edit its own result again"),
        ("newline", b"x = old\n", "newline style"),
        ("raise", b"old\n", "LookupError: lost"),
        ("overlap", b"wide\n", "overlap"),
        ("half a name", b"half + b\n", ""),
    ],
)
def test_a_codemod_that_breaks_a_promise_leaves_the_file_untouched(
    fault: str, source: bytes, words: str
) -> None:
    result = migrated(fault, source)
    assert result.failure is not None
    assert result.failure.kind is FailureKind.CODEMOD
    assert words in result.failure.message
    assert "\n" not in result.failure.message
    assert result.after == result.before == source


def test_a_codemod_without_a_fault_is_let_through() -> None:
    assert migrated("none", b"\xef\xbb\xbfx = old * c\r\n").after == b"\xef\xbb\xbfx = new * c\r\n"
