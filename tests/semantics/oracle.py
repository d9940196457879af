"""JAX 0.4.28 itself, in an environment of its own: made once, asked about many programs.

`python -m tests.semantics.oracle` makes the environment ahead of the tests.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

REQUIREMENTS = ("jax==0.4.28", "jaxlib==0.4.28", "numpy<2", "scipy<1.14")
# jaxlib 0.4.28 has wheels for these; see its files on PyPI.
SUPPORTED = ((3, 9), (3, 12))
# Names that 0.4.28 lacks and that programs for other versions use; they follow its rule.
RUNNER = r"""
import itertools, json, sys, types, warnings
warnings.simplefilter("ignore")
import jax, jax.tree, jax.tree_util
util = jax.tree_util
for name in ("tree_map", "tree_leaves", "tree_flatten", "tree_unflatten", "tree_structure"):
    setattr(jax, name, getattr(util, name))
jax.tree_multimap = util.tree_multimap = util.tree_map
jax.tree.map_with_path = util.tree_map_with_path
numbers = itertools.count()

def run(source):
    name = f"semantics_program_{next(numbers)}"
    module = sys.modules[name] = types.ModuleType(name)
    try:
        exec(compile(source, f"<{name}>", "exec"), module.__dict__)
        return [repr(module.main()), "", ""]
    except Exception as error:
        return ["", type(error).__name__, str(error)[:300]]
    finally:
        del sys.modules[name]

with open(sys.argv[1], encoding="utf-8") as file:
    sources = json.load(file)
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump([run(source) for source in sources], file)
"""


def unsupported() -> str:
    """Why this interpreter cannot run JAX 0.4.28; empty if it can."""
    low, high = SUPPORTED
    if low <= sys.version_info[:2] <= high:
        return ""
    running = ".".join(map(str, sys.version_info[:2]))
    return f"jaxlib 0.4.28 has wheels for Python 3.9 to 3.12, this is {running}"


def home() -> Path:
    """Where the environment is kept: `$JAXMIGRATE_ORACLES/old`, or in the temporary folder."""
    base = os.environ.get("JAXMIGRATE_ORACLES")
    return (Path(base) if base else Path(tempfile.gettempdir()) / "jax-oracles") / "old"


def _works(python: Path) -> bool:
    if not python.exists():
        return False
    asked = "import importlib.metadata as m; print(m.version('jax'), m.version('jaxlib'))"
    answer = subprocess.run([str(python), "-c", asked], capture_output=True, text=True, check=False)
    versions: list[str] = answer.stdout.split()
    return versions == ["0.4.28", "0.4.28"]


def old_python() -> Path:
    """The Python of an environment with JAX 0.4.28, made now if it is not there yet.

    Processes that ask at the same time wait for the first of them.
    """
    if reason := unsupported():
        raise RuntimeError(reason)
    folder = home()
    python = folder / "bin" / "python"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "old.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _works(python):
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "install", *REQUIREMENTS], check=True)
    return python


def run_all(sources: Sequence[str]) -> list[tuple[str, str, str]]:
    """What each program gives on JAX 0.4.28: result, class and words of the exception."""
    python = old_python()
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "asked.json", Path(folder) / "answered.json"
        asked.write_text(json.dumps(list(sources)), encoding="utf-8")
        environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
        for variable in ("PYTHONPATH", "PYTHONHOME"):
            environment.pop(variable, None)
        subprocess.run([python, "-c", RUNNER, asked, answered], check=True, env=environment)
        found = json.loads(answered.read_text(encoding="utf-8"))
    return [(text, raised, detail) for text, raised, detail in found]


if __name__ == "__main__":
    print(old_python())
