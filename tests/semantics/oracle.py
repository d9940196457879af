"""JAX 0.4.28 itself, in an environment of its own, asked about many programs."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.environments import Unavailable, interpreter_for, jax_python

VERSION = "0.4.28"
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
    try:
        interpreter_for(VERSION)
    except Unavailable as error:
        return error.reason
    return ""


def old_python() -> Path:
    """The Python of an environment with JAX 0.4.28. Raises Unavailable as `jax_python` does."""
    return jax_python(VERSION)


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
