"""Where placeholders in trees come from, where they go, and who asks for them."""
