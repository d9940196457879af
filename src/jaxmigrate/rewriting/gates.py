"""The checks that stand between a rewritten text and the file: always on, each says what failed."""

from __future__ import annotations

import ast
import io
import tokenize
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from jaxmigrate.lines import LineIndex, newline_of
from jaxmigrate.model import Span
from jaxmigrate.rewriting.splice import Edit, moved_spans

_MARK = "<edited>"
_LIST = "<list>"
_END = "<end>"


class GateFailure(Exception):
    """A rewritten text that is not to be written: the message says which promise it breaks."""


def check_syntax(text: str, path: str) -> ast.Module:
    """The syntax tree of a result. Raises GateFailure if it does not parse."""
    try:
        return ast.parse(text, filename=path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise GateFailure(f"the result does not parse: {error}") from error


def check_only_edited(
    old: ast.Module, new: ast.Module, edits: Sequence[Edit], old_text: str, new_text: str
) -> None:
    """Raises GateFailure unless both trees are the same wherever no edit was made.

    `edits` are those that turned `old_text` into `new_text`, in order, their spans in `old_text`.
    """
    before = _Side(old, old_text, [edit.span for edit in edits])
    after = _Side(new, new_text, moved_spans(edits))
    if before.untouched() != after.untouched():
        raise GateFailure("the result differs from the original outside the edited places")
    kept = [n for n, edit in enumerate(edits) if edit.text and edit.span.start < edit.span.end]
    ours = before.shape(kept, [n for n, edit in enumerate(edits) if not edit.text])
    theirs = after.shape(kept, [n for n, e in enumerate(edits) if e.span.start == e.span.end])
    if not _same(ours, theirs):
        raise GateFailure("the result differs from the original outside the edited places")


def check_same(
    old: ast.Module, new: ast.Module, edits: Sequence[Edit], old_text: str, new_text: str
) -> None:
    """Raises GateFailure unless both trees are the same, positions aside.

    `edits` are those that turned `old_text` into `new_text`: elsewhere the texts are equal.
    """
    before = _Side(old, old_text, [edit.span for edit in edits])
    after = _Side(new, new_text, moved_spans(edits))
    same_texts = before.untouched() == after.untouched()
    if not same_texts or not _same(before.shape([], []), after.shape([], [])):
        raise GateFailure("laying out the result changed what it says")


class _Side:
    """A module before or after some edits: the statements that they touch, and the others.

    A statement whose own head is untouched counts by the statements in its body.
    """

    def __init__(self, tree: ast.Module, text: str, spans: Sequence[Span]) -> None:
        self._text = text
        self._lines = LineIndex(text)
        self._spans = spans
        self._touched: list[ast.stmt] = []
        self._others: list[tuple[int, Span]] = []
        for statement in tree.body:
            self._sort(statement, 0)

    def untouched(self) -> list[tuple[int, str]]:
        """The source of everything that no edit touches, with how deep in other statements it is."""
        return [(depth, self._text[span.start : span.end]) for depth, span in self._others]

    def shape(self, kept: Sequence[int], gone: Sequence[int]) -> Iterator[object]:
        """The touched statements as `_shape` gives them, `kept` and `gone` numbering the spans."""
        return _shape(
            self._touched,
            [self._spans[n] for n in kept],
            self._lines,
            [self._spans[n] for n in gone],
        )

    def _sort(self, statement: ast.stmt, depth: int) -> None:
        span = self._span(statement)
        if not self._is_touched(span):
            self._others.append((depth, span))
            return
        if not isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            self._touched.append(statement)
            return
        head = Span(span.start, self._span(statement.body[0]).start)
        if self._is_touched(head):
            self._touched.append(statement)
            return
        self._others.append((depth, head))
        for inner in statement.body:
            self._sort(inner, depth + 1)

    def _span(self, statement: ast.stmt) -> Span:
        first = min([statement, *getattr(statement, "decorator_list", ())], key=_line)
        assert statement.end_lineno is not None
        assert statement.end_col_offset is not None
        return Span(
            self._lines.offset(first.lineno, first.col_offset),
            self._lines.offset(statement.end_lineno, statement.end_col_offset),
        )

    def _is_touched(self, span: Span) -> bool:
        """Whether an edit overlaps the span or adjoins it."""
        index = bisect_right(self._spans, span.end, key=_start_of)
        return index > 0 and self._spans[index - 1].end >= span.start


def _start_of(span: Span) -> int:
    return span.start


def _line(node: ast.stmt | ast.expr) -> int:
    return node.lineno


def check_comments(old_text: str, new_text: str) -> None:
    """Raises GateFailure if a comment of the old text is not in the new one."""
    gone = Counter(old_text.splitlines()) - Counter(new_text.splitlines())
    if not any("#" in line for line in gone):
        return
    lost = Counter(comments(old_text)) - Counter(comments(new_text))
    if lost:
        raise GateFailure(f"a comment would be lost: {next(iter(lost))}")


def check_style(old_text: str, new_text: str) -> None:
    """Raises GateFailure if newline style or the newline at the end of the file changed.

    A text of one line has no style yet: it may get lines that end as `newline_of` says.
    """
    if _newlines(new_text) - (_newlines(old_text) or {newline_of(old_text)}):
        raise GateFailure("the result has another newline style")
    if _final_newline(old_text) != _final_newline(new_text):
        raise GateFailure("the newline at the end of the file changed")


def comments(text: str) -> Iterator[str]:
    """The comments of a source, in order; those before a place that cannot be tokenized."""
    reader = io.StringIO(text, newline=None).readline
    try:
        for token in tokenize.generate_tokens(reader):
            if token.type == tokenize.COMMENT:
                yield token.string
    except (tokenize.TokenError, SyntaxError):
        return


def _newlines(text: str) -> set[str]:
    bare = text.replace("\r\n", "")
    return {n for n in ("\n", "\r") if n in bare} | ({"\r\n"} if "\r\n" in text else set())


def _final_newline(text: str) -> str:
    if not text.endswith(("\n", "\r")):
        return ""
    return newline_of(text[-2:] if text.endswith("\r\n") else text[-1:])


def _same(before: Iterator[object], after: Iterator[object]) -> bool:
    return all(ours == theirs for ours, theirs in zip_longest(before, after))


class _Edited:
    """Tells which nodes of a tree lie in an edited span."""

    def __init__(self, spans: Sequence[Span], lines: LineIndex) -> None:
        self._spans = spans
        self._starts = [span.start for span in spans]
        self._lines = lines

    def holding(self, node: ast.AST) -> Span | None:
        """The span that the node lies in; for an f-string also one that lies in the node.

        Positions inside an f-string are not exact before Python 3.12, so it counts as a whole.
        """
        if not self._spans or not isinstance(node, ast.expr | ast.stmt):
            return None
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._lines.offset(node.lineno, node.col_offset)
        end = self._lines.offset(node.end_lineno, node.end_col_offset)
        index = bisect_right(self._starts, start) - 1
        if index >= 0 and end <= self._spans[index].end:
            return self._spans[index]
        if isinstance(node, ast.JoinedStr) and index + 1 < len(self._spans):
            following = self._spans[index + 1]
            return following if following.end <= end else None
        return None


def _shape(
    statements: Sequence[ast.stmt], spans: Sequence[Span], lines: LineIndex, gone: Sequence[Span]
) -> Iterator[object]:
    """Statements as a stream of classes and values, with one mark for all in an edited span.

    What lies in a span that is gone is left out.
    """
    edited, deleted = _Edited(spans, lines), _Edited(gone, lines)
    marked: set[Span] = set()
    stack: list[object] = [list(statements)]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            yield _LIST
            stack.append(_END)
            stack.extend(reversed(item))
        elif not isinstance(item, ast.AST):
            yield (type(item), repr(item))
        elif deleted.holding(item) is not None:
            continue
        elif (span := edited.holding(item)) is not None:
            if span not in marked:
                marked.add(span)
                yield _MARK
        elif isinstance(item, ast.JoinedStr):
            yield ast.dump(item)
        else:
            yield type(item)
            stack.extend(getattr(item, name, None) for name in reversed(item._fields))
