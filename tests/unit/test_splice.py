"""Edits go into the text, and offsets come back out, with nothing else moved."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxmigrate.analysis.facts import Facts
from jaxmigrate.codemod import Codemod, NodeKind, Site
from jaxmigrate.lines import LineIndex
from jaxmigrate.model import Action, Confidence, Span
from jaxmigrate.rewriting.nodes import Unparsable, code, parse_expression, parse_small_statement
from jaxmigrate.rewriting.offsets import OffsetMap
from jaxmigrate.rewriting.splice import Edit, Overlap, rewrite, splice

if TYPE_CHECKING:
    from jaxmigrate.codemod import Replacement


class Wrap(Codemod):
    """Puts every site into a call of `w`, and a statement twice or not at all."""

    name = "wrap"
    summary = "for tests"
    needed_from = "0.1"
    mentions = ()
    examples = ()

    def __init__(self, times: int = 2) -> None:
        self.times = times

    def find(self, module: Facts) -> Iterator[Site]:
        raise NotImplementedError

    def rewrite(self, site: Site, node: cst.CSTNode) -> Replacement:
        del site
        if isinstance(node, cst.BaseExpression):
            return cst.Call(cst.Name("w"), [cst.Arg(node)])
        assert isinstance(node, cst.BaseSmallStatement)
        return [node] * self.times


def site(span: Span, kind: NodeKind = NodeKind.EXPRESSION) -> Site:
    return Site(span, Action.EDIT, Confidence.PROVEN, "for tests", kind=kind)


def edited(text: str, *parts: str, kind: NodeKind = NodeKind.EXPRESSION, times: int = 2) -> str:
    """The text with the first place of every part edited."""
    sites = [site(Span(text.index(p), text.index(p) + len(p)), kind) for p in parts]
    newline = "\r\n" if "\r\n" in text else "\n"
    edits, _ = rewrite(Wrap(times), text, sites, newline, LineIndex(text))
    return splice(text, Span(0, len(text)), edits)


@pytest.mark.parametrize(
    ("text", "parts", "expected"),
    [
        ("a + b\n", ["a"], "w(a) + b\n"),
        ("a + b\n", ["a", "b"], "w(a) + w(b)\n"),
        ("f(g(a))\n", ["g(a)", "a"], "f(w(g(w(a))))\n"),
        ("f(g(a), b)\n", ["f(g(a), b)", "g(a)", "a", "b"], "w(f(w(g(w(a))), w(b)))\n"),
        ("f(\n  a,  # c\n  b)\n", ["b", "f(\n  a,  # c\n  b)"], "w(f(\n  a,  # c\n  w(b)))\n"),
        ("'é線', a\r\n", ["a"], "'é線', w(a)\r\n"),
        ("f(\r\n  a)\r\n", ["f(\r\n  a)"], "w(f(\r\n  a))\r\n"),
    ],
)
def test_nested_sites_are_all_rewritten_innermost_first(
    text: str, parts: list[str], expected: str
) -> None:
    assert edited(text, *parts) == expected
    assert edited(text, *reversed(parts)) == expected


@pytest.mark.parametrize(
    ("text", "part", "times", "expected"),
    [
        ("import a\n", "import a", 2, "import a\nimport a\n"),
        ("import a\n", "import a", 1, "import a\n"),
        ("import a\nb\n", "import a", 0, "b\n"),
        ("if x:\n    import a\n    b\n", "import a", 0, "if x:\n    b\n"),
        ("if x:\n\timport a\n", "import a", 2, "if x:\n\timport a\n\timport a\n"),
        ("if x: import a\n", "import a", 2, "if x: import a; import a\n"),
        ("x; import a\n", "import a", 2, "x; import a; import a\n"),
        ("import a; x\n", "import a", 2, "import a; import a; x\n"),
        ("import a;\n", "import a", 2, "import a; import a;\n"),
        ("import a  # c\n", "import a", 2, "import a\nimport a  # c\n"),
        ("import a\r\n", "import a", 2, "import a\r\nimport a\r\n"),
        ("if x:\n  x = (\n    a)\n", "x = (\n    a)", 2, "if x:\n  x = (a)\n  x = (a)\n"),
        ("if x:\n  x = 'a\\\nb'\n", "x = 'a\\\nb'", 1, "if x:\n  x = 'a\\\nb'\n"),
    ],
)
def test_a_statement_becomes_several_or_none(
    text: str, part: str, times: int, expected: str
) -> None:
    after = edited(text, part, kind=NodeKind.STATEMENT, times=times)
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(expected))
    assert ("\r" in after) == ("\r" in text)


def test_the_lines_of_a_statement_that_is_doubled_keep_their_indentation() -> None:
    text = "if x:\n    f(\n        a,\n\n        b,\n    )\n"
    statement = text[10:-1]
    after = edited(text, statement, kind=NodeKind.STATEMENT)
    assert after == f"if x:\n    {statement}\n    {statement}\n"


def test_sites_that_overlap_are_a_bug_and_said_to_be() -> None:
    with pytest.raises(Overlap, match="wrap"):
        rewrite(Wrap(), "abc\n", [site(Span(0, 2)), site(Span(1, 3))], "\n", LineIndex("abc\n"))


def test_sites_that_overlap_within_another_are_a_bug_too() -> None:
    sites = [site(Span(0, 7)), site(Span(2, 5)), site(Span(4, 6))]
    with pytest.raises(Overlap, match="wrap"):
        rewrite(Wrap(), "f(a, b)\n", sites, "\n", LineIndex("f(a, b)\n"))


def test_of_two_sites_at_one_span_the_later_is_the_outer() -> None:
    class Numbered(Wrap):
        def rewrite(self, site: Site, node: cst.CSTNode) -> Replacement:
            assert isinstance(node, cst.BaseExpression)
            return cst.Call(cst.Name(site.reason), [cst.Arg(node)])

    sites = [Site(Span(0, 1), Action.EDIT, Confidence.PROVEN, name) for name in "pqr"]
    edits, new = rewrite(Numbered(), "a\n", sites, "\n", LineIndex("a\n"))
    assert edits == [Edit(Span(0, 1), "r(q(p(a)))")]
    assert new == {Span(0, 1): "r(q(p(a)))"}


@st.composite
def nested_sites(draw: st.DrawFn) -> tuple[str, list[Site]]:
    """Lists within lists, and sites at some of them in any order."""
    tree = st.recursive(
        st.sampled_from(["a", "bb"]),
        lambda inner: st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        max_leaves=12,
    )
    text = draw(tree)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.expr)]
    spans = [Span(node.col_offset, node.end_col_offset or 0) for node in nodes]
    return text, [site(span) for span in draw(st.lists(st.sampled_from(spans), unique=True))]


@given(nested_sites())
def test_every_site_is_wrapped_where_it_stands(pair: tuple[str, list[Site]]) -> None:
    text, sites = pair
    edits, new = rewrite(Wrap(), text, sites, "\n", LineIndex(text))
    expected = ""
    for offset in range(len(text) + 1):
        expected += ")" * sum(s.span.end == offset for s in sites)
        expected += "w(" * sum(s.span.start == offset for s in sites)
        expected += text[offset : offset + 1]
    assert splice(text, Span(0, len(text)), edits) == expected
    assert new.keys() == {s.span for s in sites}
    assert [edit.span for edit in edits] == sorted(edit.span for edit in edits)


def test_many_sites_are_put_in_order_without_comparing_each_with_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0

    class Counted(Span):
        def contains(self, other: Span) -> bool:
            nonlocal compared
            compared += 1
            return super().contains(other)

    def no_work(_codemod: Codemod, site: Site, *_: object) -> Edit:
        return Edit(site.span, "w")

    monkeypatch.setattr("jaxmigrate.rewriting.splice._edit", no_work)
    count = 2000
    sites = [site(Counted(3 * n, 3 * n + width)) for n in range(count) for width in (1, 2)]
    text = "ab\n" * count
    edits, _ = rewrite(Wrap(), text, sites, "\n", LineIndex(text))
    assert len(edits) == count
    assert compared < 10 * len(sites)


@pytest.mark.parametrize(
    "source",
    [
        "a",
        "(a)",
        "f(\n  a,  # c\n)",
        "a if b else c",
        "lambda x: x",
        "jax . tree_map",
        "a\\\n  .b",
        "f'{a}'",
        "(yield)",
        "await a",
        "'a' 'b'",
        "a  # c\n.b",
        "[*a, b]",
        "x[1:2, ::3]",
        "not a",
        "線",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_an_expression_is_printed_back_as_it_is(source: str, newline: str) -> None:
    text = source.replace("\n", newline)
    assert code(parse_expression(text, newline), newline) == text


@pytest.mark.parametrize("source", ["a b", "x = 1", "(", "pass", "a)(b"])
def test_what_is_no_expression_is_refused(source: str) -> None:
    with pytest.raises(Unparsable):
        parse_expression(source, "\n")


@pytest.mark.parametrize("source", ["if a: pass", "a; b", "a\nb", "def f(): pass", "x = ("])
def test_what_is_no_simple_statement_is_refused(source: str) -> None:
    with pytest.raises(Unparsable):
        parse_small_statement(source, "\n")


@pytest.mark.parametrize(
    "source",
    [
        "import a",
        "from a import (\n  b,  # c\n)",
        "x = 1",
        "del a",
        "return",
        "from a import \\\n b",
    ],
)
def test_a_simple_statement_is_printed_back_as_it_is(source: str) -> None:
    assert code(parse_small_statement(source, "\n"), "\n") == source


@st.composite
def texts_with_edits(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    """A text and edits in it that do not overlap."""
    text = draw(st.text("abc\n", max_size=30))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8, unique=True)))
    spans = [Span(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    return text, [Edit(span, draw(st.text("xyz", max_size=4))) for span in spans]


@given(texts_with_edits())
def test_splicing_changes_the_spans_and_nothing_else(pair: tuple[str, list[Edit]]) -> None:
    text, edits = pair
    result, end = "", 0
    for edit in edits:
        result += text[end : edit.span.start] + edit.text
        end = edit.span.end
    assert splice(text, Span(0, len(text)), list(reversed(edits))) == result + text[end:]


@given(texts_with_edits())
def test_an_offset_outside_the_edits_is_found_again(pair: tuple[str, list[Edit]]) -> None:
    text, edits = pair
    there = OffsetMap().after(edits)
    new = splice(text, Span(0, len(text)), edits)
    for offset in range(len(new)):
        old = there.offset(offset)
        assert 0 <= old <= len(text)
        if new[offset] not in "xyz":
            assert text[old] == new[offset]


def test_a_place_within_an_edit_is_the_start_of_what_it_replaced() -> None:
    there = OffsetMap().after([Edit(Span(2, 5), "wxyz")])
    assert [there.offset(offset) for offset in range(8)] == [0, 1, 2, 2, 2, 2, 5, 6]
    assert there.offset(6, end=True) == 5
    assert there.span(Span(3, 5)) == Span(2, 5)


def test_offsets_go_back_through_two_rounds_of_edits() -> None:
    there = OffsetMap().after([Edit(Span(0, 1), "abcd")]).after([Edit(Span(4, 5), "")])
    assert there.offset(4) == 2
