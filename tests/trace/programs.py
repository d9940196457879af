"""Programs that are traced."""

from __future__ import annotations

CALLS = """\
import functools
import jax
import jax.numpy as jnp
from jax.tree_util import tree_map, tree_map_with_path as with_path


def step(params, grads):
    é = "é"; return tree_map(lambda p, g: p - g, params, grads)


def wrapper(f, *trees):
    return jax.tree_util.tree_map(f, *trees)


ones = jnp.ones(2)
step({"w": 1.0, "b": None}, {"w": 0.5, "b": 2.0})
jax.jit(step)({"w": ones, "b": None}, {"w": ones, "b": ones})
with_path(
    lambda path, a, b: a,
    [None, 1, (None, 2)],
    [3, 4, (5, {"x": 6})],
)
wrapper(lambda a, b: a, None, 3)
functools.partial(tree_map, lambda a, b: a)([None], ["x"])
jax.tree_util.tree_structure([0, None]).flatten_up_to([1, 2])
tree_map(lambda a, b: a, [1, None], [1, None])
tree_map(lambda a: a, [1, None])
tree_map(lambda a, b: a, [1, None], [1, 2], is_leaf=lambda x: x is None)
tree_map(lambda a, b: a, [1, 2], [None, 3])
"""
"""Hits on lines 8 (twice), 12, 18, 24, 25; the last four calls are none."""

OLD_RULE = """\
import collections
import warnings
import jax
from jax.tree_util import register_pytree_node, tree_map, tree_map_with_path

warnings.simplefilter("error", DeprecationWarning)
Point = collections.namedtuple("Point", "x y")


class Box:
    def __init__(self, a, b, label):
        self.a, self.b, self.label = a, b, label

    def __repr__(self):
        return f"Box({self.a!r}, {self.b!r}, {self.label!r})"


class Dict(dict):
    pass


register_pytree_node(Box, lambda b: ((b.a, b.b), b.label), lambda label, ab: Box(*ab, label))

ordered = collections.OrderedDict
counted = collections.defaultdict


def show(name, *trees, **options):
    log = []

    def f(*args):
        log.append(args)
        return (len(log), *args)

    try:
        print(name, repr(tree_map(f, *trees, **options)), log)
    except Exception as error:
        print(name, type(error).__name__, log)
    log.clear()
    try:
        print(name, repr(tree_map_with_path(f, *trees, **options)), log)
    except Exception as error:
        print(name, type(error).__name__, log)


class Sentinel:
    def __repr__(self):
        return "sentinel"


S = Sentinel()
FIRST = {
    "root": None,
    "leaf": 1,
    "list": [1, None, [None]],
    "tuple": (None,),
    "point": Point(None, 2),
    "box": Box(None, {"k": 1}, ("label",)),
    "box of None": Box(None, None, None),
    "ordered": ordered(z=None, a=1),
    "counted": counted(list, a=None, b=2),
    "subclass": Dict(a=None),
    "empty": [(), {}, None],
    "nested": {"b": None, "a": [None, {"c": (None, 5)}]},
    "many": [None] * 3 + [0] + [None] * 2,
}
OPPOSITE = {
    "root": {"any": S},
    "leaf": {"deeper": [1, None]},
    "list": [[], (1, 2), [None]],
    "tuple": ((),),
    "point": Point({}, None),
    "box": Box([1], {"k": [2]}, ("label",)),
    "box of None": Box(0, "", None),
    "ordered": ordered(z=3, a=4),
    "counted": counted(list, a=S, b=(3,)),
    "subclass": 4,
    "empty": [(), {}, 0],
    "nested": {"b": Point(1, 2), "a": [Box(1, 2, 3), {"c": (S, 6)}]},
    "many": [1, None, 3, 4, [5], {}],
}
for name in FIRST:
    show(name, FIRST[name], OPPOSITE[name])
    show(name + ", three trees", FIRST[name], OPPOSITE[name], FIRST[name])
    show(name + ", is_leaf of tuples", FIRST[name], OPPOSITE[name],
         is_leaf=lambda x: isinstance(x, tuple))
    show(name + ", is_leaf of None", FIRST[name], OPPOSITE[name], is_leaf=lambda x: x is None)
    show(name + ", the other way round", OPPOSITE[name], FIRST[name])
show("all", FIRST, OPPOSITE, OPPOSITE)
show("wrong key", {"a": None, "b": 1}, {"a": 1, "c": 1})
show("wrong length", [None, 1], [1, 2, 3])
show("wrong label", Box(None, 1, "x"), Box(1, 1, "y"))
show("wrong order", ordered(a=None, b=1), ordered(b=1, a=1))
treedef = jax.tree_util.tree_structure(FIRST)
print(treedef.flatten_up_to(OPPOSITE))
"""
"""Prints what maps give, whatever they are called on."""

AT_RANDOM = '''\
import collections
import random
import jax
from jax.tree_util import tree_map, tree_map_with_path

Point = collections.namedtuple("Point", "x y")
dice = random.Random(20240601)


def tree(depth):
    kind = dice.choice(["none", "leaf", "leaf", "dict", "list", "tuple", "point", "ordered"])
    if depth == 0 and kind not in ("none", "leaf"):
        kind = dice.choice(["none", "leaf"])
    below = [tree(depth - 1) for _ in range(dice.randrange(4))] if depth else []
    if kind == "none":
        return None
    if kind == "leaf":
        return dice.randrange(100)
    if kind == "dict":
        return dict(zip("cab", below))
    if kind == "ordered":
        return collections.OrderedDict(zip("cab", below))
    if kind == "point":
        return Point(tree(depth - 1), tree(depth - 1))
    return tuple(below) if kind == "tuple" else below


def alike(first):
    """A tree that `first` is a prefix of by the old rule, most of the time."""
    if dice.random() < 0.03 or first is None or isinstance(first, int):
        return tree(2)
    if isinstance(first, Point):
        return Point(*map(alike, first))
    if isinstance(first, dict):
        return type(first)((key, alike(value)) for key, value in first.items())
    return type(first)(map(alike, first))


def given(map_, *trees, **options):
    log = []

    def f(*args):
        log.append(args)
        return args

    try:
        return repr((map_(f, *trees, **options), log))
    except Exception as error:
        return type(error).__name__, log


LEAVES = [
    None,
    lambda x: isinstance(x, tuple),
    lambda x: x is None or isinstance(x, list),
    lambda x: isinstance(x, dict) and len(x) < 2,
]
for _ in range(1500):
    first = tree(4)
    others = [alike(first) for _ in range(dice.randrange(1, 3))]
    options = {"is_leaf": dice.choice(LEAVES)}
    print(given(tree_map, first, *others, **options))
    print(given(tree_map_with_path, first, *others, **options))
    treedef = jax.tree_util.tree_structure(first)
    print(given(lambda f, t: treedef.flatten_up_to(t), others[0]))
'''
"""Prints what maps give on trees at random, the same ones each time."""

REAL_ERRORS = """\
import traceback
import jax
from jax.tree_util import tree_map, tree_map_with_path

PAIRS = [
    ({"a": None, "b": 1}, {"a": 1, "c": 1}),
    ({"a": 1, "b": 1}, {"a": 1, "c": 1}),
    ([None, 1], [1, 2, 3]),
    ([None, [1]], [1, 2]),
    ([(1, None)], [[1, None]]),
    (None, 1),
]
for first, other in PAIRS[: -1 if {old} else None]:
    for map_ in (tree_map, tree_map_with_path):
        try:
            print(map_(lambda *args: args, first, other))
        except Exception as error:
            print(type(error), error, error.__cause__, error.__suppress_context__)
"""
"""Prints what JAX says of trees that differ."""

STATE = """\
import sys
import json
import os
{imports}
import threading
import warnings
state = {{
    "argv": sys.argv,
    "orig_argv": [a for a in sys.orig_argv if a.endswith(".py")],
    "path": sys.path,
    "modules": sorted(sys.modules),
    "meta_path": [str(getattr(f, "__name__", type(f))) for f in sys.meta_path],
    "cache": sorted(sys.path_importer_cache),
    "filters": [str(f) for f in warnings.filters],
    "main": sorted(globals()),
    "flags": str(sys.flags),
    "environ": {{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}},
    "threads": threading.active_count(),
    "files": sorted(os.listdir("/proc/self/fd")) if os.path.exists("/proc") else [],
    "cwd": sorted(os.listdir()),
}}
print(json.dumps(state, indent=1))
"""
"""Prints what a program can see of its process."""
