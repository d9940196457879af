"""LibCST on one node at a time: parse it, rewrite it, splice it back, prove that nothing else moved."""
