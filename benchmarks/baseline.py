"""The least that any such tool must do: read every .py file, parse those that mention a tree name.

Run as a script, with the folder to look through.
"""

import ast
import re
import sys
import warnings
from pathlib import Path

MENTIONS_A_TREE = re.compile(rb"tree_|\btree\.|\.tree\b")


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    for path in sorted(folder.rglob("*.py")):
        source = path.read_bytes()
        if MENTIONS_A_TREE.search(source):
            ast.parse(source)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
