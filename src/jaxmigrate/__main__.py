"""`python -m jaxmigrate`: the same as the `jaxmigrate` command.

`-m` puts the current folder first on the search path: the code being migrated, which is never imported.
"""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]
    from jaxmigrate.cli import main

    main()
