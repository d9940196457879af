"""Waits for JAX in the Python processes of a traced command, as their `sitecustomize`.

`tracing` copies this file and `recorder` into a private folder that it puts first on PYTHONPATH. Nothing is
imported that a starting Python has not imported itself, so that a process without JAX pays next to nothing.
A Python that is too old for the recorder begins as it would without all this.
"""

# Importing pathlib would be the dearest part of the start of a process:
# ruff: noqa: PTH100, PTH109, PTH118, PTH120
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RAN = "ran"
"""The file that says that some process waited for JAX."""

RECORDER = "recorder.py"
"""The file that the recorder is in, beside this one."""

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_TARGET = "jax._src.tree_util"
_OLDEST = (3, 9)
try:
    _BEGUN_IN = os.getcwd()
except OSError:
    _BEGUN_IN = ""  # it was removed


def start() -> None:
    """Wait for JAX, and let the process begin as it would without the recorder.

    Raises what the import of the user's own `sitecustomize` raises; if there is none that is a
    ModuleNotFoundError, which `site` expects and passes over.
    """
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _FOLDER]
    sys.path_importer_cache.pop(_FOLDER, None)
    if sys.version_info >= _OLDEST and _marked():
        sys.meta_path.insert(0, _Finder())
    del sys.modules["sitecustomize"]
    __import__("sitecustomize")


def _marked() -> bool:
    """Leave word that this process waits; not so if the trace is over and its folder gone."""
    try:
        os.close(os.open(os.path.join(_FOLDER, RAN), os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError:
        return False
    return True


class _Finder:
    """Finds nothing itself; when JAX's tree module is asked for, it sees to it that it gets patched."""

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        """The module's own spec, its loader watched; None for every other module."""
        if name != _TARGET:
            return None
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                _watch(spec.loader)
                return spec
        return None


def _watch(loader: "Any") -> None:
    """Patch the tree module as soon as `loader` has executed it, before anything else sees it."""
    execute = loader.exec_module
    own = vars(loader)  # a loader is made for one module, or (that of a zip file) shared

    def exec_module(module: "Any") -> None:
        execute(module)
        if module.__name__ == _TARGET:
            own.pop("exec_module", None)
            _patch(module)

    own["exec_module"] = exec_module


def _patch(tree_util: "Any") -> None:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("jaxmigrate_recorder", os.path.join(_FOLDER, RECORDER))
    assert spec is not None
    assert spec.loader is not None
    recorder = module_from_spec(spec)
    try:
        spec.loader.exec_module(recorder)
    except OSError:
        return  # the trace is over and its folder gone
    recorder.patch(tree_util, _BEGUN_IN)


if __name__ == "sitecustomize":
    start()
