"""Pairs of trees that are near each other, with the places at which a map of one over the other fails.

Runs on any JAX: `python near_pairs.py COUNT FILE` writes what JAX and `jaxmigrate.trees` say of them.
"""

from __future__ import annotations

import json
import random
import sys
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jax import tree_util
from jax.tree_util import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, keystr

from jaxmigrate.trees import explain_mismatch, is_none_safe_pair, none_positions_match

SEED = 20240610
PREFIX, SENTINELS = "none-prefix", "sentinel-placeholders"
KEYS = ("a", "b'c", "d", "e f")

Empty = namedtuple("Empty", "")
Point = namedtuple("Point", "x y")


@dataclass(frozen=True)
class Box:
    """A registered node without keys; `label` is its auxiliary data."""

    children: tuple[Any, ...]
    label: str = "box"


@dataclass(frozen=True)
class Keyed:
    """A registered node with keys; `label` is its auxiliary data."""

    children: tuple[Any, ...]
    label: str = "keyed"

    def with_keys(self) -> tuple[list[tuple[Any, Any]], str]:
        return [(GetAttrKey(f"_{n}"), child) for n, child in enumerate(self.children)], self.label


@dataclass
class State:
    """A dataclass that is a node; `label` is no child of it."""

    weight: Any
    bias: Any
    label: str = "state"


tree_util.register_pytree_node(Box, lambda b: (b.children, b.label), lambda aux, c: Box((*c,), aux))
tree_util.register_pytree_with_keys(
    Keyed, Keyed.with_keys, lambda aux, children: Keyed((*children,), aux)
)
if hasattr(tree_util, "register_dataclass"):
    tree_util.register_dataclass(State, ["weight", "bias"], ["label"])
else:  # JAX 0.4.20
    tree_util.register_pytree_with_keys(
        State,
        lambda s: ([(GetAttrKey("weight"), s.weight), (GetAttrKey("bias"), s.bias)], s.label),
        lambda label, children: State(*children, label),
    )

EMPTY: tuple[Callable[[], Any], ...] = (tuple, list, dict, Empty, OrderedDict, lambda: Box(()))


@dataclass
class Pair:
    """Two trees, and where the map of one over the other fails: key path as written, and the cure."""

    first: Any
    second: Any
    places: list[tuple[str, str | None]]


@dataclass
class Maker:
    """Makes pairs; `rate` is how often one of them is made to differ at a place."""

    random: random.Random
    rate: float

    def pair(self, depth: int, path: tuple[Any, ...] = ()) -> Pair:
        """Two trees that are alike but for the places that they name."""
        if self.differs():
            return self.unlike(path)
        if depth == 0 or self.random.random() < 0.25:
            return self.alike()
        make = self.random.choice(
            [self.mapping, self.sequence, self.record, self.box, self.ordered, self.by_default]
        )
        return make(depth, path)

    def differs(self) -> bool:
        return self.random.random() < self.rate

    def value(self) -> Any:
        return self.random.choice([1, 2.5, "word", deque([1, 2])])

    def tree(self) -> Any:
        """A container with something in it."""
        inner = self.random.choice([1, None, [2, None], ()])
        return self.random.choice([{"a": inner}, [inner, 1], (inner,), Point(1, inner)])

    def alike(self) -> Pair:
        """What matches: leaves with anything opposite, or nothing on either side."""
        empty = self.random.choice(EMPTY)
        anything = [self.value(), None, self.tree(), empty()]
        return self.random.choice(
            [
                Pair(None, None, []),
                Pair(empty(), empty(), []),
                Pair(self.value(), self.value(), []),
                Pair(self.value(), self.random.choice(anything), []),
            ]
        )

    def unlike(self, path: tuple[Any, ...]) -> Pair:
        """What does not match, whatever is inside."""
        one, other = self.random.sample(EMPTY, 2)
        sequence = [1, None, self.value()]
        first, second, codemod = self.random.choice(
            [
                (None, self.value(), PREFIX),
                (None, self.tree(), PREFIX),
                (None, one(), SENTINELS),
                (one(), None, SENTINELS),
                (one(), other(), None),
                (one(), self.value(), None),
                (self.tree(), None, None),
                (self.tree(), self.value(), None),
                (sequence, (*sequence,), None),
                ((*sequence[:2],), Point(*sequence[:2]), None),
                (Point(1, None), (1, None), None),
                ({"a": 1}, OrderedDict(a=1), None),
                (Box((1,)), Keyed((1,)), None),
            ]
        )
        return Pair(first, second, [(keystr(path), codemod)])

    def children(self, keys: list[Any], depth: int, path: tuple[Any, ...]) -> list[Pair]:
        return [self.pair(depth - 1, (*path, key)) for key in keys]

    def mapping(self, depth: int, path: tuple[Any, ...]) -> Pair:
        """Two dicts; keys may be in another order, which is no difference, or missing, which is one."""
        names = self.random.sample(KEYS, self.random.randint(1, 3))
        pairs = dict(zip(names, self.children(list(map(DictKey, names)), depth, path), strict=True))
        first = {name: pair.first for name, pair in pairs.items()}
        second = {name: pairs[name].second for name in self.random.sample(names, len(names))}
        places = [place for pair in pairs.values() for place in pair.places]
        if self.differs():
            gone = self.random.choice(names)
            holder = self.random.choice([first, second])
            del holder[gone]
            places = [place for name in names if name != gone for place in pairs[name].places]
            places.append((keystr((*path, DictKey(gone))), None))
        return Pair(first, second, places)

    def ordered(self, depth: int, path: tuple[Any, ...]) -> Pair:
        """Two ordered dicts, whose order counts."""
        pair = self.mapping(depth, path)
        shared = [name for name in pair.first if name in pair.second]
        second = OrderedDict((name, pair.second[name]) for name in shared)
        second.update(pair.second)
        if len(shared) > 1 and self.differs():
            second.move_to_end(shared[0])
            pair.places.append((keystr(path), None))
        return Pair(OrderedDict(pair.first), second, pair.places)

    def by_default(self, depth: int, path: tuple[Any, ...]) -> Pair:
        """Two dicts with a default, which counts."""
        pair = self.mapping(depth, path)
        other = self.differs()
        if other:
            pair.places.append((keystr(path), None))
        second = defaultdict(int if other else list, pair.second)
        return Pair(defaultdict(list, pair.first), second, pair.places)

    def sequence(self, depth: int, path: tuple[Any, ...]) -> Pair:
        """Two lists or tuples, the second longer at times."""
        kind = self.random.choice([list, tuple])
        keys = [SequenceKey(n) for n in range(self.random.randint(1, 3))]
        pairs = self.children(keys, depth, path)
        second = [pair.second for pair in pairs]
        places = [place for pair in pairs for place in pair.places]
        if self.differs():
            second.append(self.random.choice([None, 1]))
            places.append((keystr((*path, SequenceKey(len(keys)))), None))
        return Pair(kind(pair.first for pair in pairs), kind(second), places)

    def record(self, depth: int, path: tuple[Any, ...]) -> Pair:
        """Two namedtuples, or two dataclasses of which the label counts."""
        if self.random.random() < 0.5:
            pairs = self.children([GetAttrKey("x"), GetAttrKey("y")], depth, path)
            first, second = Point(*(p.first for p in pairs)), Point(*(p.second for p in pairs))
            return Pair(first, second, [place for pair in pairs for place in pair.places])
        return self.labelled([GetAttrKey("weight"), GetAttrKey("bias")], State, depth, path)

    def box(self, depth: int, path: tuple[Any, ...]) -> Pair:
        """Two nodes of registered classes, with keys and without, of which the label counts."""
        count = range(self.random.randint(1, 2))
        if self.random.random() < 0.5:
            keys: list[Any] = [FlattenedIndexKey(n) for n in count]
            return self.labelled(keys, lambda *c: Box(c[:-1], c[-1]), depth, path)
        keys = [GetAttrKey(f"_{n}") for n in count]
        return self.labelled(keys, lambda *c: Keyed(c[:-1], c[-1]), depth, path)

    def labelled(
        self, keys: list[Any], make: Callable[..., Any], depth: int, path: tuple[Any, ...]
    ) -> Pair:
        pairs = self.children(keys, depth, path)
        places = [place for pair in pairs for place in pair.places]
        other = self.differs()
        if other:
            places.append((keystr(path), None))
        first = make(*(pair.first for pair in pairs), "one")
        return Pair(
            first, make(*(pair.second for pair in pairs), "two" if other else "one"), places
        )


def pairs(count: int) -> list[Pair]:
    """So many pairs, the same ones at every call."""
    maker = Maker(random.Random(SEED), rate=0.11)
    return [maker.pair(maker.random.randint(0, 3)) for _ in range(count)]


def maps(pair: Pair) -> bool:
    """Whether JAX maps one tree over the other."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree_util.tree_map(lambda *_: 0, pair.first, pair.second)
    except (ValueError, TypeError):
        return False
    return True


def nones(tree: Any) -> set[str]:
    """Where the Nones of a tree are, as written."""
    found, _ = tree_util.tree_flatten_with_path(tree, is_leaf=lambda x: x is None)
    return {keystr(path) for path, leaf in found if leaf is None}


def answers(count: int) -> list[dict[str, Any]]:
    """What JAX and `jaxmigrate.trees` say of each pair, and what was to be found."""
    return [
        {
            "pair": f"{pair.first!r} over {pair.second!r}",
            "maps": maps(pair),
            "safe": is_none_safe_pair(pair.first, pair.second),
            "places": sorted(map(repr, pair.places)),
            "explained": sorted(
                repr((m.key_path, m.codemod)) for m in explain_mismatch(pair.first, pair.second)
            ),
            "same_nones": nones(pair.first) == nones(pair.second),
            "match": none_positions_match(pair.first, pair.second),
        }
        for pair in pairs(count)
    ]


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(answers(int(sys.argv[1]))), encoding="utf-8")
