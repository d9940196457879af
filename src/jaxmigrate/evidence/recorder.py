"""The recorder: what `starter` loads into a process of a traced command as soon as that imports JAX.

It imports nothing but the standard library and runs on Python 3.9 and newer, since those processes are of
another environment than jaxmigrate. `PyTreeDef.flatten_up_to` is replaced: that is the one place, in every
JAX, where a None in the first of several trees meets what stands opposite. JAX's functions stay the objects
that they are.
"""

# Everything is as it comes from frames, in texts:
# ruff: noqa: PTH100, PTH110, PTH118, PTH120
from __future__ import annotations

import itertools
import os
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType
    from typing import Any

    _Key = tuple[tuple[str, object], ...]


STRICT = "strict"
"""The file that, where it is, leaves JAX's own rule in force."""

LOST = "lost"
"""The file that says that something could not be recorded."""

SPOOL_ENDING = ".spool"
"""How the names of the files end that the processes write, each its own."""

COUNT_WIDTH = 10
"""Digits of a count, blanks in front: it can grow in place, and is valid JSON at any moment."""

MOST_PLACES = 1000
"""How many places in the trees are recorded of one call in one process; keys may be new at every step."""

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_DIRECT = "PyTreeDef.flatten_up_to"
# Functions of JAX's tree module that a program calls, by what they are called there.
_MAPS = {
    "tree_map": "jax.tree_util.tree_map",
    "tree_map_with_path": "jax.tree_util.tree_map_with_path",
    "tree_broadcast": "jax.tree_util.tree_broadcast",
    "broadcast_prefix": "jax._src.tree_util.broadcast_prefix",
}
# Functions that came after the old rule had gone: there is no old result to give.
_WITHOUT_OLD_RULE = ("jax.tree_util.tree_broadcast", "jax.tree.broadcast")
_INNER_SCOPES = ("<listcomp>", "<genexpr>", "<lambda>")
_ARRAY_PACKAGES = ("jax", "jaxlib", "numpy", "ml_dtypes")
_NEW = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)


def patch(tree_util: Any, folder: str) -> None:
    """Replace `PyTreeDef.flatten_up_to`, or say in the spool why that cannot be done.

    `folder` is where the process began, which the names of its files may be relative to.
    """
    spool = _Spool(folder)
    try:
        recorder = _Recorder(tree_util, spool)
        recorder.install()
        why = ""
    except Exception as error:  # a JAX that nobody has seen yet: its program must run all the same
        why = f"{type(error).__name__}: {error}"
    spool.begin(why)


class _Recorder:
    """Gives `flatten_up_to` the old rule, and notes who used it."""

    def __init__(self, tree_util: Any, spool: _Spool) -> None:
        self._tree_util = tree_util
        self._spool = spool
        self._treedefs = _Treedefs(tree_util)
        self._strict = os.path.exists(os.path.join(_FOLDER, STRICT))
        self._calls: dict[tuple[CodeType, int, str], _Call] = {}
        self._numbers = itertools.count()
        self._file = tree_util.tree_map.__code__.co_filename
        source = os.path.dirname(self._file)
        self._aliases = os.path.join(source, "tree.py")
        self._jax = os.path.dirname(source) + os.sep

    def install(self) -> None:
        """Put the replacement in place of the original."""
        treedefs, original = self._treedefs, self._treedefs.original
        meet = self._meet

        def accepting(self: Any, tree: Any) -> Any:
            # This JAX has the old rule itself: only the Nones are to be seen.
            if treedefs.holds_none(self):
                leaves = meet(self, tree)
                if leaves is not None:
                    return leaves
            return original(self, tree)

        def refusing(self: Any, tree: Any) -> Any:
            try:
                return original(self, tree)
            except Exception:
                leaves = meet(self, tree) if treedefs.holds_none(self) else None
                if leaves is None:
                    raise
                return leaves

        replacement = accepting if treedefs.accepts_none else refusing
        for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
            value = getattr(original, attribute, getattr(replacement, attribute))
            setattr(replacement, attribute, value)
        self._tree_util.PyTreeDef.flatten_up_to = replacement

    def _meet(self, treedef: Any, tree: Any) -> list[Any] | None:
        """The leaves by the old rule; None if JAX itself is to answer."""
        found = self._caller(sys._getframe(2))
        if found is None:
            return None
        frame, name = found
        call = self._call(frame, name)
        try:
            prefix = call.prefix_of(treedef, self._treedefs)
            leaves: list[Any] = self._treedefs.original(prefix.guarded, tree)
        except Exception:  # they differ in something else too: for JAX to say
            if not self._strict:
                self._treedefs.refuse(treedef, tree)
            return None
        met = [n for n, place in enumerate(prefix.places) if leaves[place] is not None]
        if not met:
            return None
        self._note(call, frame, prefix, tree, leaves, met)
        if self._strict or name in _WITHOUT_OLD_RULE:
            return None
        return [leaves[place] for place in prefix.kept]

    def _caller(self, frame: FrameType | None) -> tuple[FrameType, str] | None:
        """The frame that called the map, and the map; None if JAX called it for itself."""
        name = _DIRECT
        while frame is not None:
            code = frame.f_code
            if code.co_filename == self._file:
                if code.co_name in _MAPS:
                    name = _MAPS[code.co_name]
                elif code.co_name not in _INNER_SCOPES:
                    return None
            elif code.co_filename == self._aliases:
                name = f"jax.tree.{code.co_name}"
            elif code.co_filename.startswith(self._jax):
                return None
            else:
                return frame, name
            frame = frame.f_back
        return None

    def _call(self, frame: FrameType, name: str) -> _Call:
        key = (frame.f_code, frame.f_lasti, name)
        call = self._calls.get(key)
        if call is None:
            call = self._calls.setdefault(key, _Call(next(self._numbers), name))
        return call

    def _note(
        self,
        call: _Call,
        frame: FrameType,
        prefix: _Prefix,
        tree: Any,
        leaves: list[Any],
        met: list[int],
    ) -> None:
        try:
            key_paths = prefix.key_paths(tree, self._tree_util)
            places = [(key_paths[n], _in_words(leaves[prefix.places[n]])) for n in met]
            test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
            self._spool.note(call, frame, places, test)
        except Exception:  # a full disk, an interpreter that shuts down: the program runs on
            _tell_of_loss()


class _Call:
    """A place in the program that calls a map, with the first tree's structure as last seen there."""

    __slots__ = ("_last", "map", "number")

    def __init__(self, number: int, map_: str) -> None:
        self.number = number
        self.map = map_
        self._last: _Prefix | None = None

    def prefix_of(self, treedef: Any, treedefs: _Treedefs) -> _Prefix:
        """What is to be known of `treedef`, known already if it is equal to the last one."""
        last = self._last
        if last is None or not _equal(last.treedef, treedef):
            last = self._last = treedefs.prefix(treedef)
        return last


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # metadata of a node that cannot be compared, such as arrays
        return False


class _Prefix:
    """The structure of a first tree that holds Nones.

    `guarded` is the same with a leaf for each None, `places` where those stand among its leaves, and
    `kept` where the others do.
    """

    __slots__ = ("_key_paths", "guarded", "kept", "places", "treedef")

    def __init__(self, treedef: Any, guarded: Any, places: list[int]) -> None:
        self.treedef = treedef
        self.guarded = guarded
        self.places = places
        nones = set(places)
        self.kept = [place for place in range(guarded.num_leaves) if place not in nones]
        self._key_paths: list[str] | None = None

    def key_paths(self, tree: Any, tree_util: Any) -> list[str]:
        """The key paths of the Nones in order, empty texts if they cannot be told.

        `tree` is one that the structure is a prefix of.
        """
        if self._key_paths is None:
            try:
                self._key_paths = [*_none_paths(self.treedef, tree, (), tree_util)]
            except Exception:  # keys of a node class of the program: its code, its errors
                self._key_paths = [""] * len(self.places)
        return self._key_paths


def _none_paths(treedef: Any, tree: Any, path: tuple[Any, ...], tree_util: Any) -> Iterator[str]:
    data = treedef.node_data()
    if data is None:
        return
    if data[0] is type(None):
        yield tree_util.keystr(path)
        return
    below = treedef.children()
    if below:
        keys, (subtrees, _) = tree_util._child_keys(tree), tree_util.flatten_one_level(tree)
        for key, child, subtree in zip(keys, below, subtrees):  # noqa: B905 (3.9)
            yield from _none_paths(child, subtree, (*path, key), tree_util)


class _Treedefs:
    """What this JAX's structures are made of, as they say when they are pickled.

    That is a list of nodes, children first: kind, arity, data, class, leaves below, nodes below. It
    has been so from JAX 0.4.20 to 0.10.2. Raises if it is not.
    """

    def __init__(self, tree_util: Any) -> None:
        self._class = tree_util.PyTreeDef
        self.original: Callable[[Any, Any], Any] = self._class.flatten_up_to
        self._none = self._only_node(tree_util.tree_structure(None))
        self._leaf = self._only_node(tree_util.tree_structure(0))
        self._prove(tree_util)
        self.accepts_none = self._accepts_none(tree_util.tree_structure(None))

    def holds_none(self, treedef: Any) -> bool:
        """Whether there is a None in the structure."""
        try:
            # Nodes of other kinds differ in the first number: nothing else of them is compared.
            return self._none in treedef.__getstate__()[1]
        except Exception:  # the program must run all the same
            _tell_of_loss()
            return False

    def prefix(self, treedef: Any) -> _Prefix:
        """The structure with a leaf for each None, and where those are."""
        registry, nodes = treedef.__getstate__()
        rebuilt: list[Any] = []
        places: list[int] = []
        below: list[int] = []  # leaves below the nodes that still want a parent
        leaves = 0
        for node in nodes:
            kind, arity, data, class_, own, size = node
            is_none = kind == self._none[0]
            if is_none or kind == self._leaf[0]:
                places += [leaves] if is_none else []
                leaves += 1
                rebuilt.append(self._leaf)
                below.append(1)
                continue
            count = sum(below[len(below) - arity :]) if arity else own
            del below[len(below) - arity :]
            below.append(count)
            rebuilt.append((kind, arity, data, class_, count, size))
        guarded = self._class.__new__(self._class)
        guarded.__setstate__((registry, rebuilt))
        return _Prefix(treedef, guarded, places)

    def refuse(self, treedef: Any, tree: Any) -> None:
        """Raise what a JAX that has the old rule raises, without its warnings of the new one."""
        if self.accepts_none:
            self._quietly(treedef, tree)

    def _only_node(self, treedef: Any) -> tuple[Any, ...]:
        (node,) = treedef.__getstate__()[1]
        kind, arity, _, _, _, size = node
        if not isinstance(kind, int) or (arity, size) != (0, 1):
            raise TypeError(f"structures are made of {node!r}")
        return tuple(node)

    def _prove(self, tree_util: Any) -> None:
        tree = {"a": None, "b": [1, (None, {"c": None})], "d": ()}
        prefix = self.prefix(tree_util.tree_structure(tree))
        wanted = tree_util.tree_structure(tree, is_leaf=lambda x: x is None)
        if prefix.guarded != wanted or prefix.places != [0, 2, 3]:
            raise TypeError(f"structures are put together otherwise: {prefix.guarded}")

    def _accepts_none(self, none: Any) -> bool:
        try:
            self._quietly(none, 0)
        except ValueError:
            return False
        return True

    def _quietly(self, treedef: Any, tree: Any) -> None:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what 0.4.29 to 0.4.33 say
            self.original(treedef, tree)


class _Spool:
    """This process's own file of records: one a line, each ending in a count that grows in place.

    Nothing is kept open: a descriptor could be closed by the program and given to another file.
    """

    def __init__(self, folder: str) -> None:
        import threading

        self._folder = folder
        self._new_lock: Callable[[], Any] = threading.RLock
        self._header: dict[str, object] = {}
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        # A child has a file of its own, and no thread that could release the parent's lock.
        self._lock = self._new_lock()
        self._path = ""
        self._size = 0
        self._counts: dict[_Key, list[int]] = {}
        self._places: dict[int, int] = {}

    def begin(self, why_not: str) -> None:
        """Write that this process imported JAX; `why_not` says why it cannot be followed, if so."""
        version = getattr(sys.modules.get("jax.version"), "__version__", "")
        folders = [p for p in map(str, sys.path) if p.endswith(("site-packages", "dist-packages"))]
        self._header = {"jax": version, "why_not": why_not, "packages": folders}
        try:
            with self._lock:
                os.close(self._open())
        except Exception:
            _tell_of_loss()

    def note(self, call: _Call, frame: FrameType, places: list[tuple[str, str]], test: str) -> None:
        """Count one use of the old rule by `call`: itself, the places in the trees, the test.

        Raises OSError if that cannot be written.
        """
        number = ("call", call.number)
        keys: list[_Key] = [
            (number, ("key_path", path), ("opposite", words)) for path, words in places
        ]
        tests: list[_Key] = [(number, ("test", test))] if test else []
        with self._lock:
            descriptor = self._open()
            try:
                if not self._counted(descriptor, (number,)):
                    described = {
                        "call": call.number,
                        "map": call.map,
                        **_described(frame, self._folder),
                    }
                    self._begin_count(descriptor, (number,), described)
                for key in (*keys, *tests):
                    if not self._counted(descriptor, key) and (key in tests or self._room(call)):
                        self._begin_count(descriptor, key, dict(key))
            finally:
                os.close(descriptor)

    def _room(self, call: _Call) -> bool:
        """Whether one more place is to be recorded of `call`."""
        places = self._places.get(call.number, 0)
        self._places[call.number] = places + 1
        return places < MOST_PLACES

    def _open(self) -> int:
        if self._path:
            return os.open(self._path, _NEW, 0o600)
        name = f"{os.getpid()}-{os.urandom(8).hex()}{SPOOL_ENDING}"
        path = os.path.join(_FOLDER, name)
        descriptor = os.open(path, _NEW | os.O_EXCL, 0o600)
        self._path = path
        self._append(descriptor, self._header)
        return descriptor

    def _counted(self, descriptor: int, key: _Key) -> bool:
        """Count one more, if there is a record of it already."""
        count = self._counts.get(key)
        if count is None:
            return False
        count[1] += 1
        os.lseek(descriptor, count[0], os.SEEK_SET)
        os.write(descriptor, f"{count[1]:>{COUNT_WIDTH}}".encode())
        return True

    def _begin_count(self, descriptor: int, key: _Key, record: dict[str, object]) -> None:
        self._counts[key] = [self._append(descriptor, {**record, "count": 1}), 1]

    def _append(self, descriptor: int, record: dict[str, object]) -> int:
        """Write one line; gives where its count, its last field, begins."""
        import json

        line = json.dumps(record)
        if "count" in record:
            line = f"{line[:-2]}{1:>{COUNT_WIDTH}}}}"
        data = f"{line}\n".encode()
        os.lseek(descriptor, self._size, os.SEEK_SET)
        if os.write(descriptor, data) < len(data):
            raise OSError("short write")
        self._size += len(data)
        return self._size - COUNT_WIDTH - 2


def _tell_of_loss() -> None:
    with suppress(OSError):  # the folder is gone: the trace is over
        os.close(os.open(os.path.join(_FOLDER, LOST), _NEW, 0o600))


def _described(frame: FrameType, folder: str) -> dict[str, object]:
    """What a record says of the call that `frame` is in."""
    import linecache

    code = frame.f_code
    file = code.co_filename
    if not file.startswith("<"):
        file = os.path.normpath(os.path.join(folder, file))

    def text(line: int) -> str:
        return linecache.getline(file, line, frame.f_globals)

    line, end_line, column, end_column = _position(frame)
    return {
        "path": file,
        "line": line,
        "end_line": end_line,
        "column": _character(text(line), column),
        "end_column": None if end_line is None else _character(text(end_line), end_column),
        "function": code.co_name,
        "text": text(line).strip(),
    }


def _position(frame: FrameType) -> tuple[int, int | None, int | None, int | None]:
    """Line, last line, and the columns in bytes; only the line is known before Python 3.11."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is not None:
        line, end_line, column, end_column = next(
            itertools.islice(positions(), frame.f_lasti // 2, None)
        )
        if line is not None:
            return line, end_line, column, end_column
    return frame.f_lineno or 0, None, None, None


def _character(line: str, column: int | None) -> int | None:
    """A column in bytes from 0 as one in characters from 1."""
    if column is None:
        return None
    return len(line.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace")) + 1


def _in_words(value: Any) -> str:
    """What stood opposite, by its kind: `float32 array`, `dict`, `optax.EmptyState`."""
    class_ = type(value)
    module = getattr(class_, "__module__", "")
    if isinstance(module, str) and module.partition(".")[0] in _ARRAY_PACKAGES:
        # Only of these it is known that asking has no effect.
        dtype = getattr(value, "dtype", None)
        if dtype is not None:
            return f"{dtype} array"
    if module == "builtins":
        return class_.__qualname__
    return f"{module}.{class_.__qualname__}"
