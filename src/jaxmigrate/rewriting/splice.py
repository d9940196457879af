"""Sites to edits to text: LibCST sees one node at a time, and nothing outside its span can change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    codemod: Codemod, text: str, sites: Iterable[Site], newline: str, lines: LineIndex
) -> tuple[list[Edit], dict[Span, str]]:
    """The edits that `codemod` makes at `sites`, outermost spans only, and each site's new source.

    Nested sites are rewritten innermost first. Raises `nodes.Unparsable`, `Overlap`, and whatever the
    codemod raises.
    """
    edits: list[Edit] = []
    done: dict[Span, str] = {}
    for site in sorted(sites, key=lambda s: (s.span.end - s.span.start, s.span.start)):
        inner = [edit for edit in edits if site.span.contains(edit.span)]
        outer = [edit for edit in edits if edit not in inner]
        if any(_overlap(edit.span, site.span) for edit in outer):
            raise Overlap(f"sites of {codemod.name} overlap at offset {site.span.start}")
        edit = _edit(codemod, site, splice(text, site.span, inner), text, newline, lines)
        edits = [*outer, edit]
        done[site.span] = edit.text
    return sorted(edits, key=lambda edit: edit.span), done


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
        node: cst.CSTNode = nodes.parse_small_statement(source, newline)
        new = codemod.rewrite(site, node)
        assert isinstance(new, Sequence)
        return _statements(site.span, new, text, newline, lines)
    new = codemod.rewrite(site, nodes.parse_expression(source, newline))
    assert not isinstance(new, Sequence)
    return Edit(site.span, nodes.code(new, newline))


def _statements(
    span: Span,
    new: Sequence[cst.BaseSmallStatement],
    text: str,
    newline: str,
    lines: LineIndex,
) -> Edit:
    line, _ = lines.position(span.start)
    start = lines.line_start(line)
    before = text[start : span.start]
    if not new:
        return Edit(_whole_lines(span, lines), "", 0)
    sources = [nodes.code(node, newline) for node in new]
    if before.strip():
        return Edit(span, "; ".join(sources), len(sources))
    first, *others = sources
    indented = [newline + before + _indent(other, before, newline) for other in others]
    return Edit(span, first + "".join(indented), len(sources))


def _whole_statements(
    codemod: Codemod, site: Site, source: str, text: str, newline: str, lines: LineIndex
) -> Edit:
    import libcst as cst

    line, _ = lines.position(site.span.start)
    indent = text[lines.line_start(line) : site.span.start]
    node: cst.CSTNode = cst.Module([])
    if site.kind is NodeKind.COMPOUND:
        node = nodes.parse_compound(source.replace(newline + indent, newline), newline)
    new = codemod.rewrite(site, node)
    assert isinstance(new, Sequence)
    written = "".join(nodes.code(statement, newline) for statement in new)
    if site.kind is NodeKind.COMPOUND:
        written = written.removesuffix(newline)
    return Edit(site.span, _indent(written, indent, newline), len(new))


def _indent(source: str, indent: str, newline: str) -> str:
    return source.replace(newline, newline + indent)


def _whole_lines(span: Span, lines: LineIndex) -> Span:
    first, _ = lines.position(span.start)
    last, _ = lines.position(span.end)
    end = lines.line_start(last + 1) if last < lines.line_count else span.end
    return Span(lines.line_start(first), end)


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end
