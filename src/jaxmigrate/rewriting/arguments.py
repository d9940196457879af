"""Arguments of a call: replaced in place, or added the way the call is written already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import libcst as cst


@overload
def argument_index(call: cst.Call, keyword: str, position: int) -> int: ...
@overload
def argument_index(call: cst.Call, keyword: str, position: None) -> int | None: ...
def argument_index(call: cst.Call, keyword: str, position: int | None) -> int | None:
    """Where an argument stands, from 0: by its keyword, else at `position`."""
    for index, argument in enumerate(call.args):
        if argument.keyword is not None and argument.keyword.value == keyword:
            return index
    return position


def replace_argument(call: cst.Call, index: int, value: cst.BaseExpression) -> cst.Call:
    """The call with another value for argument `index`; comments and line breaks stay."""
    args = list(call.args)
    args[index] = args[index].with_changes(value=value)
    return call.with_changes(args=args)


def append_argument(call: cst.Call, keyword: str, value: cst.BaseExpression) -> cst.Call:
    """The call with `keyword=value` behind its last argument.

    Where the arguments stand on lines of their own, so does the new one; a trailing comma stays a
    trailing comma, and a comment behind the last argument stays with it.
    """
    *before, last = call.args
    added = cst.Arg(
        value,
        keyword=cst.Name(keyword),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )
    if isinstance(last.comma, cst.Comma):
        separated, closing = _behind_comma(last, last.comma, before)
        added = added.with_changes(comma=closing)
    else:
        separated = _behind_bare(last, before)
        added = added.with_changes(whitespace_after_arg=_without_comment(last.whitespace_after_arg))
    return call.with_changes(args=[*before, separated, added])


def _behind_comma(
    last: cst.Arg, comma: cst.Comma, before: Sequence[cst.Arg]
) -> tuple[cst.Arg, cst.Comma]:
    space = comma.whitespace_after
    between = _between(space, before)
    closing = comma.with_changes(whitespace_after=_without_comment(space))
    return last.with_changes(comma=comma.with_changes(whitespace_after=between)), closing


def _behind_bare(last: cst.Arg, before: Sequence[cst.Arg]) -> cst.Arg:
    between = _between(last.whitespace_after_arg, before)
    return last.with_changes(
        comma=cst.Comma(whitespace_after=between), whitespace_after_arg=cst.SimpleWhitespace("")
    )


def _between(
    space: cst.BaseParenthesizableWhitespace, before: Sequence[cst.Arg]
) -> cst.BaseParenthesizableWhitespace:
    """What stands between the last argument and the added one, `space` being what stood behind it."""
    model = _separator(before)
    if isinstance(space, cst.ParenthesizedWhitespace) and isinstance(
        model, cst.ParenthesizedWhitespace
    ):
        return space.with_changes(last_line=model.last_line, indent=model.indent)
    if isinstance(space, cst.ParenthesizedWhitespace) and (
        space.first_line.comment is not None or space.empty_lines
    ):
        return space
    return model


def _separator(before: Sequence[cst.Arg]) -> cst.BaseParenthesizableWhitespace:
    """The white space behind the comma before the last argument, its comments left out."""
    if before and isinstance(before[-1].comma, cst.Comma):
        return _without_comment(before[-1].comma.whitespace_after)
    return cst.SimpleWhitespace(" ")


def _without_comment(
    space: cst.BaseParenthesizableWhitespace,
) -> cst.BaseParenthesizableWhitespace:
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    first = space.first_line.with_changes(whitespace=cst.SimpleWhitespace(""), comment=None)
    return space.with_changes(first_line=first, empty_lines=[])
