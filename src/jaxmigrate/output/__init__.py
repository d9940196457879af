"""What the user is given: a diff on the terminal, plain text in a pipe, a patch, a report."""
