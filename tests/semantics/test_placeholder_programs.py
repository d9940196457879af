"""Small programs of every kind, for every kind of placeholder: edited or held, they give what they gave."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

import pytest
from packaging.version import Version

from jaxmigrate.model import Action
from jaxmigrate.runner import Request, run
from jaxmigrate.versions import NEWEST_KNOWN
from tests.semantics import oracle
from tests.semantics.test_named_placeholders import newest_readings, old_readings
from tests.unit.project_cases import results, write

SKIP = """import dataclasses
import jax


@jax.tree_util.register_pytree_node_class
@dataclasses.dataclass
class Skip:
    def tree_flatten(self):
        return (), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls()
"""
SENTINELS = ("", "()", "{}", "Skip()", "optax.MaskedNode()")
"""Every kind; the empty one is none: trees are made to agree where they meet."""


def _programs() -> dict[str, str]:
    text = (Path(__file__).parent / "placeholder_programs.txt").read_text(encoding="utf-8")
    found = {}
    for part in text.split("=== ")[1:]:
        title, _, program = part.partition("\n")
        found[title] = program.rstrip() + "\n\n\nRESULT = main()\n"
    return found


PROGRAMS = _programs()


@lru_cache(maxsize=1)
def before(place: Path) -> dict[str, object]:
    """What every program gives on JAX 0.4.28, by title."""
    folders = {title: place / "before" / str(n) for n, title in enumerate(PROGRAMS)}
    for title, folder in folders.items():
        write({"main.py": PROGRAMS[title]}, folder)
    found = old_readings(list(folders.values()))
    return {title: found[str(folder)] for title, folder in folders.items()}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the programs."""
    return tmp_path_factory.mktemp("programs")


@pytest.mark.skipif(bool(oracle.unsupported()), reason=oracle.unsupported())
@pytest.mark.parametrize("sentinel", SENTINELS)
def test_programs_give_what_they_gave(sentinel: str, place: Path) -> None:
    if "optax" in sentinel and importlib.util.find_spec("optax") is None:
        pytest.skip("needs optax")
    folders = {}
    edited = 0
    for number, (title, program) in enumerate(PROGRAMS.items()):
        folder = folders[title] = place / f"after{SENTINELS.index(sentinel)}" / str(number)
        files = {"main.py": program, **({"nothing.py": SKIP} if sentinel == "Skip()" else {})}
        write(files, folder)
        result = run(
            Request((folder,), folder, Version(NEWEST_KNOWN), sentinel=sentinel or None, jobs=1)
        )
        sites = [site for file in result.files for site in file.sites]
        named = [site for site in sites if site.codemod == "sentinel-placeholders"]
        edited += any(site.action is Action.EDIT for site in named)
        write(results(result), folder)
    found = newest_readings(list(folders.values()))
    was = before(place)
    differing = {
        title: (was[title], found[str(folder)])
        for title, folder in folders.items()
        if found[str(folder)] != was[title]
    }
    assert differing == {}
    assert all("result" in reading for reading in was.values())  # type: ignore[operator]
    assert edited > (len(PROGRAMS) // 2 if sentinel else 3)
