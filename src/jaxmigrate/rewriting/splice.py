"""Sites to edits to text: LibCST sees one node at a time, and nothing outside its span can change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, cast

from jaxmigrate.codemod import Codemod, NodeKind, Site
from jaxmigrate.lines import LineIndex
from jaxmigrate.model import Span
from jaxmigrate.rewriting import nodes

if TYPE_CHECKING:
    import libcst as cst


@dataclass(frozen=True, slots=True)
class Edit:
    """A span of the old text and what stands there in the new one.

    `statements` is how many statements stand there now, None for an expression.
    """

    span: Span
    text: str
    statements: int | None = None


class Overlap(Exception):
    """Two sites of a codemod overlap without one containing the other: a bug in the codemod."""


def rewrite(
    codemod: Codemod,
    text: str,
    sites: Iterable[Site],
    newline: str,
    lines: LineIndex,
    indent: str = "    ",
) -> tuple[list[Edit], dict[Span, str]]:
    """The edits that `codemod` makes at `sites`, outermost spans only, and each site's new source.

    Nested sites are rewritten innermost first. Raises `nodes.Unparsable`, `Overlap`, and whatever the
    codemod raises.
    """
    top = _Open(None)
    stack = [top]
    done: dict[Span, str] = {}

    def close() -> None:
        closed = stack.pop()
        site = closed.site
        assert site is not None
        source = splice(text, site.span, closed.inner)
        edit = _edit(codemod, site, source, text, newline, lines)
        if site.kind is NodeKind.INSERTION:
            edit = Edit(edit.span, edit.text.replace("    ", indent), edit.statements)
        stack[-1].add(edit, codemod)
        done[site.span] = edit.text

    for site in _outermost_first(sites):
        while stack[-1].ends_by(site.span.start):
            close()
        if not stack[-1].holds(site.span):
            raise _overlap(codemod, site.span)
        stack.append(_Open(site))
    while len(stack) > 1:
        close()
    return _closed_up(top.inner, lines), done


@dataclass(slots=True)
class _Open:
    """A site whose end is not reached yet, and the edits within it so far; no site: the whole text."""

    site: Site | None
    inner: list[Edit] = field(default_factory=list)

    def ends_by(self, offset: int) -> bool:
        return self.site is not None and self.site.span.end <= offset

    def holds(self, span: Span) -> bool:
        return self.site is None or self.site.span.contains(span)

    def add(self, edit: Edit, codemod: Codemod) -> None:
        behind = not self.inner or self.inner[-1].span.end <= edit.span.start
        if not behind or not self.holds(edit.span):
            raise _overlap(codemod, edit.span)
        self.inner.append(edit)


def _outermost_first(sites: Iterable[Site]) -> list[Site]:
    """The sites by place, each before those within it; of two at one span the later is the outer.

    What is inserted where a site starts stands before it.
    """

    def place(numbered: tuple[int, Site]) -> tuple[int, bool, int, int]:
        number, site = numbered
        start, end = site.span.start, site.span.end
        return start, end > start, -end, -number if end > start else number

    return [site for _, site in sorted(enumerate(sites), key=place)]


def splice(text: str, span: Span, edits: Sequence[Edit]) -> str:
    """The text of `span` with the edits, which lie within it, made."""
    pieces: list[str] = []
    end = span.start
    for edit in sorted(edits, key=lambda edit: edit.span):
        pieces += [text[end : edit.span.start], edit.text]
        end = edit.span.end
    return "".join([*pieces, text[end : span.end]])


def moved_spans(edits: Sequence[Edit]) -> list[Span]:
    """Where the new text of each edit stands once all of them, in order, are made."""
    spans: list[Span] = []
    shift = 0
    for edit in edits:
        start = edit.span.start + shift
        spans.append(Span(start, start + len(edit.text)))
        shift += len(edit.text) - (edit.span.end - edit.span.start)
    return spans


def _edit(
    codemod: Codemod, site: Site, source: str, text: str, newline: str, lines: LineIndex
) -> Edit:
    if site.kind in (NodeKind.COMPOUND, NodeKind.INSERTION):
        return _whole_statements(codemod, site, source, text, newline, lines)
    if site.kind is NodeKind.STATEMENT:
        bare = _dedent(source, _before(site.span, text, lines), newline)
        node: cst.CSTNode = nodes.parse_small_statement(bare or source, newline)
        new = codemod.rewrite(site, node)
        assert isinstance(new, Sequence)
        small = cast("Sequence[cst.BaseSmallStatement]", new)
        return _statements(site.span, small, text, newline, lines, dedented=bare is not None)
    new = codemod.rewrite(site, nodes.parse_expression(source, newline))
    assert not isinstance(new, Sequence)
    return Edit(site.span, nodes.code(new, newline))


def _statements(
    span: Span,
    new: Sequence[cst.BaseSmallStatement],
    text: str,
    newline: str,
    lines: LineIndex,
    *,
    dedented: bool,
) -> Edit:
    before = _before(span, text, lines)
    if not new:
        return Edit(_whole_lines(span, lines), "", 0)
    sources = [nodes.code(node, newline) for node in new]
    if before.strip():
        return Edit(span, "; ".join(sources), len(sources))
    first, *others = sources
    if dedented:
        first = _indent(first, before, newline)
    indented = [newline + before + _indent(other, before, newline) for other in others]
    return Edit(span, first + "".join(indented), len(sources))


def _whole_statements(
    codemod: Codemod, site: Site, source: str, text: str, newline: str, lines: LineIndex
) -> Edit:
    import libcst as cst

    indent = _before(site.span, text, lines)
    node: cst.CSTNode = cst.Module([])
    if site.kind is NodeKind.COMPOUND:
        node = nodes.parse_compound(source.replace(newline + indent, newline), newline)
    new = codemod.rewrite(site, node)
    assert isinstance(new, Sequence)
    written = "".join(nodes.code(statement, newline) for statement in new)
    if site.kind is NodeKind.INSERTION:
        if any(isinstance(statement, cst.BaseCompoundStatement) for statement in new):
            written = _set_apart(written, site.span.end, newline, lines)
        else:
            written = _spaced(written, site.span.end, newline, lines)
        return Edit(site.span, written, len(new))
    return Edit(site.span, _indent(written.removesuffix(newline), indent, newline), len(new))


def _set_apart(written: str, offset: int, newline: str, lines: LineIndex) -> str:
    """Definitions at the top of a module with two blank lines before and behind them."""
    line, _ = lines.position(offset)
    blank = 0
    while line + blank <= lines.line_count and not lines.line_text(line + blank).strip():
        blank += 1
    return 2 * newline + written + max(0, 2 - blank) * newline


def _spaced(written: str, offset: int, newline: str, lines: LineIndex) -> str:
    """Simple statements with blank lines around them, unless they go below an import."""
    line, _ = lines.position(offset)
    above = lines.line_text(line - 1) if line > 1 else ""
    if "import" in above or above.rstrip().endswith(")"):
        return written
    below = lines.line_text(line) if line <= lines.line_count else ""
    before = newline if above.strip() else ""
    blank = 2 if below.startswith(("def ", "class ", "async ", "@")) else int(bool(below.strip()))
    return before + written + blank * newline


def _before(span: Span, text: str, lines: LineIndex) -> str:
    """What stands before a span on its line."""
    line, _ = lines.position(span.start)
    return text[lines.line_start(line) : span.start]


def _indent(source: str, indent: str, newline: str) -> str:
    """The source with all lines but the first and blank ones indented."""
    first, *others = source.split(newline)
    return newline.join([first, *(indent + line if line else line for line in others)])


def _dedent(source: str, indent: str, newline: str) -> str | None:
    """The source that `_indent` makes into this one, None if there is none."""
    bare = source.replace(newline + indent, newline)
    return bare if not indent.strip() and _indent(bare, indent, newline) == source else None


def _whole_lines(span: Span, lines: LineIndex) -> Span:
    first, _ = lines.position(span.start)
    last, _ = lines.position(span.end)
    end = lines.line_start(last + 1) if last < lines.line_count else span.end
    return Span(lines.line_start(first), end)


def _closed_up(edits: Sequence[Edit], lines: LineIndex) -> list[Edit]:
    """The edits, statements that go taking along the blank lines that only set them apart.

    Where a block begins that is all below them, elsewhere as many as stand on both sides.
    """
    found: list[Edit] = []
    run_begins = False
    for edit, following in zip_longest(edits, edits[1:]):
        before = found[-1].span.end if found else 0
        joins = bool(found) and before == edit.span.start
        first, _ = lines.position(edit.span.start)
        last, column = lines.position(edit.span.end)
        gone = edit.statements == 0 and not edit.text and column == 1
        run_begins = gone and (_begins(first, lines) or (joins and run_begins))
        if gone:
            highest, _ = lines.position(before)
            lowest = lines.line_count
            if following is not None:
                lowest, _ = lines.position(following.span.start)
            above, below = _blank_above(first, highest, lines), _blank_below(last, lowest, lines)
            up = 0 if run_begins else min(above, below)
            down = below if run_begins else 0
            span = Span(lines.line_start(first - up), lines.line_start(last + down))
            edit = Edit(span, "", 0)
        found.append(edit)
    return found


def _begins(line: int, lines: LineIndex) -> bool:
    """Whether a line is the first of the file, or of an indented block."""
    if line == 1:
        return True
    above = lines.line_text(line - 1).strip()
    return above.endswith(":") and not above.startswith("#")


def _blank_above(line: int, highest: int, lines: LineIndex) -> int:
    """How many blank lines stand right above a line, `highest` the first that may count."""
    count = 0
    while line - count > highest and not lines.line_text(line - count - 1).strip():
        count += 1
    return count


def _blank_below(line: int, lowest: int, lines: LineIndex) -> int:
    """How many blank lines stand from a line on, before `lowest`."""
    count = 0
    while line + count < lowest and not lines.line_text(line + count).strip():
        count += 1
    return count


def _overlap(codemod: Codemod, span: Span) -> Overlap:
    return Overlap(f"sites of {codemod.name} overlap at offset {span.start}")
