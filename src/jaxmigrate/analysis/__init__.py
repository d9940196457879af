"""Facts about Python source, from `ast` alone: names, tree-map calls, what a tree may hold."""
