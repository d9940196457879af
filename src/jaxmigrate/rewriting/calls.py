"""Lays out one call whose lines have become too long, in the manner of the file it stands in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import libcst as cst

from jaxmigrate.lines import newline_of
from jaxmigrate.rewriting.nodes import Unparsable, code, parse_expression
from jaxmigrate.sources.style import Style


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where a call stands: its column, its line's indentation, what follows it, how wide it may be."""

    column: int
    indent: str
    tail: int
    width: int
    newline: str
    style: Style

    @property
    def inner(self) -> str:
        """The indentation of an argument on a line of its own."""
        return self.indent + self.style.continuation


def fitted_call(
    source: str, *, column: int, indent: str, tail: int, width: int, style: Style
) -> str | None:
    """The call `source` laid out to fit; None if it is no call or no manner makes it any narrower.

    `column` (from 0) is where it starts, `indent` the white space its line starts with, `tail` how many
    characters follow it on its last line, `width` how many a line may have.
    """
    newline = newline_of(source) if "\n" in source or "\r" in source else "\n"
    try:
        call = parse_expression(source, newline)
    except Unparsable:
        return None
    if not isinstance(call, cst.Call) or not call.args:
        return None
    frame = _Frame(column, indent, tail, width, newline, _as_it_is(source, newline, style))
    candidates = [source, *(manner(call, source, frame) for manner in _manners(call))]
    return min(candidates, key=lambda text: _overflow(text, frame))


def _as_it_is(source: str, newline: str, style: Style) -> Style:
    """The style, with the closing bracket where a call of several lines has it already."""
    if newline not in source:
        return style
    return replace(style, closes_alone=not source.rpartition(newline)[2].strip(" \t)"))


def _manners(call: cst.Call) -> Iterator[Callable[[cst.Call, str, _Frame], str]]:
    yield _last_below
    yield _body_below_guard
    if "#" not in cst.Module([]).code_for_node(call):
        yield _hanging
        yield _packed
        yield _one_a_line
        yield _one_a_line_with_split_lambda


def _overflow(text: str, frame: _Frame) -> int:
    """How many characters of a layout lie beyond the width."""
    lines = text.split(frame.newline)
    lengths = [len(line) for line in lines]
    lengths[0] += frame.column
    lengths[-1] += frame.tail
    return sum(max(0, length - frame.width) for length in lengths)


def _last_below(call: cst.Call, source: str, frame: _Frame) -> str:
    """The last argument on a line of its own, below the one before it."""
    if len(call.args) < 2 or not source.endswith(")"):
        return source
    last = code(call.args[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT), frame.newline)
    head, separator, behind = source.rpartition(", " + last.strip())
    if not separator:
        return source
    lines = head.split(frame.newline)
    if len(lines) == 1:
        opening = frame.column + len(code(call.func, frame.newline)) + 1
        space = " " * opening
    else:
        space = lines[-1][: len(lines[-1]) - len(lines[-1].lstrip())]
    return f"{head},{frame.newline}{space}{last.strip()}{behind}"


def _body_below_guard(call: cst.Call, source: str, frame: _Frame) -> str:
    """A guarded body that starts on a line of its own below `lambda …:` goes below its guard too."""
    del source
    args = [argument.with_changes(value=_lowered(argument.value)) for argument in call.args]
    return _last_below_of(call.with_changes(args=args), frame)


def _lowered(value: cst.BaseExpression) -> cst.BaseExpression:
    if not isinstance(value, cst.Lambda) or not isinstance(value.body, cst.IfExp):
        return value
    space = value.colon.whitespace_after
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return value
    below = cst.ParenthesizedWhitespace(last_line=space.last_line)
    return value.with_changes(body=value.body.with_changes(whitespace_after_else=below))


def _last_below_of(call: cst.Call, frame: _Frame) -> str:
    source = code(call, frame.newline)
    return min((source, _last_below(call, source, frame)), key=lambda text: _overflow(text, frame))


def _packed(call: cst.Call, source: str, frame: _Frame) -> str:
    """The callback on its own line, the other arguments below it, as many on a line as fit."""
    if frame.style.closes_alone:
        return source
    first, *others = _arguments(call, frame)
    lines = [first]
    room = frame.width - len(frame.inner) - 1 - frame.tail
    for argument in others:
        joined = f"{lines[-1]}, {argument}"
        if len(lines) > 1 and frame.newline not in joined and len(joined) <= room:
            lines[-1] = joined
        else:
            lines.append(argument)
    return _function(call, frame) + "".join(
        f"{frame.newline}{frame.inner}{line}{',' if n < len(lines) else ')'}"
        for n, line in enumerate(lines, start=1)
    )


def _hanging(call: cst.Call, source: str, frame: _Frame) -> str:
    """All arguments on one line below the function, the added predicate on the next if need be."""
    if frame.newline in source:
        return source
    arguments = _arguments(call, frame)
    one = ", ".join(arguments)
    if len(frame.inner) + len(one) + 1 + frame.tail > frame.width:
        if frame.style.closes_alone:
            return source
        one = f"{', '.join(arguments[:-1])},{frame.newline}{frame.inner}{arguments[-1]}"
    return f"{_function(call, frame)}{frame.newline}{frame.inner}{one}{_closing(frame, '')}"


def _one_a_line(call: cst.Call, source: str, frame: _Frame) -> str:
    del source
    return _exploded(call, _arguments(call, frame), frame)


def _one_a_line_with_split_lambda(call: cst.Call, source: str, frame: _Frame) -> str:
    del source
    arguments = [
        _split_lambda(argument, text, frame)
        for argument, text in zip(call.args, _arguments(call, frame), strict=True)
    ]
    return _exploded(call, arguments, frame)


def _exploded(call: cst.Call, arguments: list[str], frame: _Frame) -> str:
    joined = f",{frame.newline}{frame.inner}".join(arguments)
    return f"{_function(call, frame)}{frame.newline}{frame.inner}{joined}{_closing(frame, ',')}"


def _closing(frame: _Frame, comma: str) -> str:
    return f"{comma}{frame.newline}{frame.indent})" if frame.style.closes_alone else ")"


def _function(call: cst.Call, frame: _Frame) -> str:
    return code(call.func, frame.newline) + "("


def _arguments(call: cst.Call, frame: _Frame) -> list[str]:
    """The source of each argument, nested calls that are too long laid out one deeper."""
    return [_argument(argument, frame) for argument in call.args]


def _argument(argument: cst.Arg, frame: _Frame) -> str:
    bare = argument.with_changes(
        comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=cst.SimpleWhitespace("")
    )
    text = code(bare, frame.newline).strip()
    value = argument.value
    if isinstance(value, cst.Call) and frame.newline not in text:
        start = text[: len(text) - len(code(value, frame.newline))]
        inner = fitted_call(
            text[len(start) :],
            column=len(frame.inner) + len(start),
            indent=frame.inner,
            tail=1,
            width=frame.width,
            style=frame.style,
        )
        return text if inner is None else start + inner
    return text


def _split_lambda(argument: cst.Arg, text: str, frame: _Frame) -> str:
    """A lambda that is still too long, its body in parentheses on lines of its own."""
    value = argument.value
    too_long = len(frame.inner) + len(text) + 1 > frame.width
    if not too_long or not isinstance(value, cst.Lambda) or frame.newline in text:
        return text
    body = code(value.body, frame.newline)
    if not text.endswith(body):
        return text
    deeper = frame.inner + frame.style.continuation
    lines = [body]
    if len(deeper) + len(body) > frame.width and isinstance(value.body, cst.IfExp):
        conditional = value.body
        parts = (conditional.body, conditional.test, conditional.orelse)
        yes, test, no = (code(part, frame.newline) for part in parts)
        lines = [yes, f"if {test}", f"else {no}"]
    inside = "".join(f"{frame.newline}{deeper}{line}" for line in lines)
    return f"{text[: -len(body)].rstrip()} ({inside}{frame.newline}{frame.inner})"
