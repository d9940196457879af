"""What programs give before on JAX 0.4.28 and after on the newest, the placeholder read back as None."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from tests.semantics import oracle
from tests.unit.project_cases import ProjectCase, project_cases

READER = r"""
import json, os, sys, warnings
warnings.simplefilter("ignore")

def plain(x):
    if x is None or type(x).__name__ in ("MaskedNode", "Skip"):
        return "None"
    if isinstance(x, (tuple, list, dict)) and not x:
        return "None"
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in sorted(x.items())}
    if hasattr(x, "_fields"):
        return [type(x).__name__, *map(plain, x)]
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *map(plain, x)]
    if hasattr(x, "__dataclass_fields__"):
        return [type(x).__name__, *(plain(getattr(x, n)) for n in x.__dataclass_fields__)]
    return x.tolist() if hasattr(x, "tolist") else repr(x)

found = {}
for folder in json.load(sys.stdin):
    before = set(sys.modules)
    sys.path.insert(0, folder)
    try:
        import main
        found[folder] = {"result": plain(main.RESULT)}
    except Exception as error:
        found[folder] = {"error": f"{type(error).__name__}: {error}"[:300]}
    sys.path.remove(folder)
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
            del sys.modules[name]
print(json.dumps(found))
"""

CASES = [case for case in project_cases("sentinel-placeholders") if case.facts.get("runs", True)]


def readings(python: str, folders: list[Path]) -> dict[str, object]:
    """What the programs in some folders come to, each run by `main.py`."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [python, "-c", READER],
        input=json.dumps([str(folder) for folder in folders]),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(found, dict)
    return found


def old_readings(folders: list[Path]) -> dict[str, object]:
    """What programs come to on JAX 0.4.28."""
    return readings(str(oracle.old_python()), folders)


def newest_readings(folders: list[Path]) -> dict[str, object]:
    """What programs come to on the JAX of this Python."""
    return readings(sys.executable, folders)


@lru_cache(maxsize=1)
def old() -> dict[str, object]:
    """What every program gives before, on JAX 0.4.28."""
    return old_readings([case.folder / "before" for case in CASES])


@lru_cache(maxsize=1)
def new(place: Path) -> dict[str, object]:
    """What every program gives after, on the JAX of this Python."""
    folders = []
    for case in CASES:
        folder = place / case.name
        folder.mkdir(parents=True)
        for name, text in case.after.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        folders.append(folder)
    return newest_readings(folders)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the programs."""
    return tmp_path_factory.mktemp("after")


@pytest.mark.skipif(bool(oracle.unsupported()), reason=oracle.unsupported())
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_result_is_what_it_was(case: ProjectCase, place: Path) -> None:
    if "optax" in (case.sentinel or "") and importlib.util.find_spec("optax") is None:
        pytest.skip("needs optax")
    before = old()[str(case.folder / "before")]
    assert isinstance(before, dict)
    assert "result" in before, before
    assert new(place)[str(place / case.name)] == before


def test_other_tree_libraries_leave_the_masked_parts_alone(tmp_path: Path) -> None:
    if not all(map(importlib.util.find_spec, ("optax", "tree"))):
        pytest.skip("needs optax and dm-tree")
    case = next(case for case in CASES if case.name == "a_masking_module")
    for name, text in case.after.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    program = (
        "import optax, tree\n"
        "from masking import mask_pytree\n"
        "masked = mask_pytree({'w': 2.0, 'b': 1.0}, {'w': True, 'b': False})\n"
        "print(tree.map_structure(lambda x: 2 * x, masked))\n"
        "assert tree.flatten(masked) == [2.0]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{'b': MaskedNode(), 'w': 4.0}"
