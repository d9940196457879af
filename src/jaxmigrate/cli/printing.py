"""Printing to standard output, the last thing that a command does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from jaxmigrate.errors import UsageError


@contextmanager
def printing() -> Iterator[None]:
    """Let a reader that goes away change nothing of what was done; the exit code stands.

    Raises UsageError if the output cannot be written for another reason, such as a full disk.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        raise UsageError(f"the output cannot be written: {error.strerror}") from error
