"""The codemods there are: the built-in ones and those that other packages bring, in their order."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Sequence
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType

from jaxmigrate.codemod import Codemod
from jaxmigrate.errors import UsageError

ENTRY_POINTS = "jaxmigrate.codemods"
"""The entry point group through which other packages bring codemods: a module or a class each."""

_REQUIRED = ("name", "summary", "needed_from", "mentions", "examples")


@lru_cache(maxsize=1)
def all_codemods() -> tuple[Codemod, ...]:
    """Every codemod, each behind those it must run after, else by name.

    Raises UsageError if one cannot be loaded, two share a name, or one waits for another that is not
    there or waits for it.
    """
    found = [_made(cls) for cls in (*_built_in(), *_from_entry_points())]
    by_name = {codemod.name: codemod for codemod in found}
    if len(by_name) < len(found):
        names = [codemod.name for codemod in found]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise UsageError(f"two codemods are called {', '.join(twice)}")
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for name in sorted(by_name):
        sorter.add(name, *_known(by_name[name], by_name))
    try:
        return tuple(by_name[name] for name in sorter.static_order())
    except CycleError as error:
        circle = " after ".join(reversed(error.args[1]))
        raise UsageError(f"codemods wait for each other: {circle}") from error


def choose(select: Sequence[str] = (), ignore: Sequence[str] = ()) -> tuple[Codemod, ...]:
    """The codemods to run: those selected (all, if none is), less those ignored.

    Raises UsageError for a name that no codemod has, or if none is left.
    """
    codemods = all_codemods()
    known = [codemod.name for codemod in codemods]
    for name in (*select, *ignore):
        if name not in known:
            raise UsageError(f"no codemod is called {name!r}; there are {', '.join(sorted(known))}")
    chosen = tuple(c for c in codemods if (not select or c.name in select) and c.name not in ignore)
    if not chosen:
        raise UsageError("every codemod that is selected is ignored as well")
    return chosen


def module_of(codemod: Codemod) -> ModuleType:
    """The module that a codemod is defined in; its docstring is the codemod's description."""
    return importlib.import_module(type(codemod).__module__)


def _built_in() -> Iterable[type[Codemod]]:
    package = importlib.import_module("jaxmigrate_codemods")
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        yield from _classes(importlib.import_module(info.name))


def _from_entry_points() -> Iterable[type[Codemod]]:
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda e: e.name):
        loaded = _loaded(entry)
        if isinstance(loaded, ModuleType):
            yield from _classes(loaded)
        elif inspect.isclass(loaded) and issubclass(loaded, Codemod):
            yield loaded
        else:
            raise UsageError(f"entry point {entry.name!r} is no codemod: {entry.value}")


def _loaded(entry: EntryPoint) -> object:
    try:
        return entry.load()
    except (Exception, SystemExit) as error:  # another package's code: whatever is wrong with it
        why = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"entry point {entry.name!r} ({entry.value}) does not load: {why}"
        ) from error


def _made(cls: type[Codemod]) -> Codemod:
    missing = [name for name in _REQUIRED if not hasattr(cls, name)]
    if missing:
        raise UsageError(f"codemod {cls.__module__}.{cls.__name__} lacks {', '.join(missing)}")
    try:
        return cls()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"codemod {cls.__module__}.{cls.__name__} cannot be made: {why}"
        ) from error


def _classes(module: ModuleType) -> Iterable[type[Codemod]]:
    for _, cls in sorted(inspect.getmembers(module, inspect.isclass)):
        is_own = cls.__module__ == module.__name__
        if is_own and issubclass(cls, Codemod) and not inspect.isabstract(cls):
            yield cls


def _known(codemod: Codemod, by_name: dict[str, Codemod]) -> tuple[str, ...]:
    for name in codemod.after:
        if name not in by_name:
            raise UsageError(f"codemod {codemod.name!r} waits for {name!r}, which is not there")
    return codemod.after
