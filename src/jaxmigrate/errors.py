"""The two kinds of errors that are the user's; everything else that is raised is a bug of ours."""


class UsageError(Exception):
    """A bad option, name or configuration: one line that says what, and what is allowed (exit 2)."""


class SourceError(Exception):
    """A file that cannot be processed: one line that says why (exit 3 for that file)."""
