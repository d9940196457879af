"""Facts about Python source, from `ast` alone: what a name means, which calls map trees, what a tree may hold."""
