"""Environments that hold one JAX each: made once under a lock, and kept for later runs.

`python tests/environments.py` makes those of VERSIONS ahead of the tests; others are named as
`0.4.20` or `0.4.20@3.9`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxmigrate.versions import NEWEST_KNOWN

VERSIONS = ("0.4.20", "0.4.28", "0.4.30", "0.4.34", "0.6.0", NEWEST_KNOWN)
"""What is tested on: the oldest that a trace is for, and both sides of each change of the rule."""

# Pythons that jaxlib has wheels for, by JAX version; see its files on PyPI.
_WHEELS = (
    ("0.4.34", (3, 9), (3, 12)),
    ("0.5", (3, 10), (3, 13)),
    ("0.7", (3, 10), (3, 13)),
    ("1", (3, 11), (3, 14)),
)
"""Versions below the first column, and the oldest and newest Python they have wheels for."""

_TRAINING = {
    "0.4.28": ("equinox==0.11.4", "chex<0.1.87"),
    NEWEST_KNOWN: ("equinox", "chex"),
}
"""What the example of a training needs besides: equinox, and what optax imports."""

# The first JAX that runs on NumPy 2 and without scipy names that 1.14 dropped.
_NEW_NUMPY = "0.4.31"


@dataclass(frozen=True, slots=True)
class Unavailable(Exception):
    """This machine cannot have that environment; `reason` says why."""

    reason: str


def jax_python(version: str, python: str = "") -> Path:
    """The Python of an environment with that JAX and pytest, made now if it is not there yet.

    `python` asks for another Python than the running one, such as "3.9". Processes that ask at the
    same time wait for the first of them. Raises Unavailable if there is no such Python here, or if
    JAX has no wheels for it.
    """
    interpreter = interpreter_for(version, python)
    name = f"jax-{version}-python-{python}" if python else f"jax-{version}"
    return _made(name, interpreter, version, _requirements(version))


def training_python(version: str) -> Path:
    """The Python of an environment with that JAX, equinox and what optax imports, but no optax.

    `version` is 0.4.28 or the newest. Raises Unavailable as `jax_python` does.
    """
    requirements = (*_requirements(version), *_TRAINING[version])
    return _made(f"training-{version}", interpreter_for(version), version, requirements)


def _made(name: str, interpreter: str, version: str, requirements: Sequence[str]) -> Path:
    folder = home() / name
    made = folder / "bin" / "python"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _works(made, version):
            subprocess.run([interpreter, "-m", "venv", "--clear", str(folder)], check=True)
            pip = [str(made), "-m", "pip", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "install", *requirements], check=True)
    return made


def home() -> Path:
    """Where the environments are kept: `$JAXMIGRATE_ORACLES`, or in the temporary folder."""
    base = os.environ.get("JAXMIGRATE_ORACLES")
    return Path(base) if base else Path(tempfile.gettempdir()) / "jax-oracles"


def parts(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare by."""
    return tuple(int(part) for part in version.split("."))


def interpreter_for(version: str, python: str = "") -> str:
    """The Python to make an environment with that JAX from; raises Unavailable if there is none."""
    found = shutil.which(f"python{python}") if python else sys.executable
    if found is None:
        raise Unavailable(f"there is no python{python} on the search path")
    number = parts(python) if python else sys.version_info[:2]
    low, high = next(range_ for below, *range_ in _WHEELS if parts(version) < parts(below))
    if not low <= number <= high:
        running = ".".join(map(str, number))
        raise Unavailable(f"jaxlib {version} has no wheels for Python {running}")
    return found


def _requirements(version: str) -> Sequence[str]:
    named = (f"jax=={version}", f"jaxlib=={version}", "pytest", "pytest-xdist")
    return named if parts(version) >= parts(_NEW_NUMPY) else (*named, "numpy<2", "scipy<1.14")


def _works(python: Path, version: str) -> bool:
    if not python.exists():
        return False
    asked = "import importlib.metadata as m, xdist; print(m.version('jax'), m.version('jaxlib'))"
    answer = subprocess.run([str(python), "-c", asked], capture_output=True, text=True, check=False)
    return answer.stdout.split() == [version, version]


if __name__ == "__main__":
    for each in sys.argv[1:] or VERSIONS:
        try:
            print(jax_python(*each.split("@")), flush=True)
        except Unavailable as error:
            print(f"{each}: {error.reason}", flush=True)
    for each in _TRAINING if len(sys.argv) == 1 else ():
        print(training_python(each), flush=True)
