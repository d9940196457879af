"""`# jaxmigrate: skip` comments: which sites of a file the user wants left alone."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MARK: Final = "jaxmigrate:"
"""What a source without a skip comment does not hold."""

_COMMENT: Final = re.compile(
    r"#\s*jaxmigrate:\s*(?P<what>skip-file|skip)\b(?:\s*=\s*(?P<names>[\w-]+(?:\s*,\s*[\w-]+)*))?"
)


@dataclass(frozen=True, slots=True)
class Skip:
    """One comment: its line and column (from 1), whether it stands alone there, and what it names.

    `names` are codemods, empty for all of them; `whole_file` marks `skip-file`.
    """

    line: int
    column: int
    alone: bool
    names: frozenset[str]
    whole_file: bool
    text: str

    def covers(self, codemod: str, first: int, last: int) -> bool:
        """Whether a site of `codemod` on lines `first` to `last` is to be left alone."""
        if self.names and codemod not in self.names:
            return False
        return self.whole_file or first <= self.line <= last or self._is_above(first)

    def _is_above(self, first: int) -> bool:
        return self.alone and self.line == first - 1


def skips(text: str) -> tuple[Skip, ...]:
    """The skip comments of a source; strings that look like one are none."""
    return tuple(_found(text)) if MARK in text else ()


def _found(text: str) -> Iterator[Skip]:
    reader = io.StringIO(text, newline=None).readline
    try:
        for token in tokenize.generate_tokens(reader):
            if token.type == tokenize.COMMENT and (match := _COMMENT.search(token.string)):
                yield _skip(token, match)
    except (tokenize.TokenError, SyntaxError):
        return


def _skip(token: tokenize.TokenInfo, match: re.Match[str]) -> Skip:
    names = match["names"]
    line, column = token.start
    return Skip(
        line=line,
        column=column + 1,
        alone=not token.line[:column].strip(),
        names=frozenset(re.split(r"\s*,\s*", names)) if names else frozenset(),
        whole_file=match["what"] == "skip-file",
        text=match[0],
    )
