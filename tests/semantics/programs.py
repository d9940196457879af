"""Complete small programs around a many-tree call or a few, in the ways such calls are written.

A program has a `main()` that returns what the call gave and a log of everything evaluated on the
way: the calls of the callback with their arguments, and the parts of the call wrapped in `_e`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.semantics import callbacks, predicates
from tests.semantics.choosing import Chooser, DrawChooser, SeededChooser
from tests.semantics.draft import FUNCTIONS, LOCALS, SCOPES, Draft, Forms
from tests.semantics.trees import Tree, broken, first_tree, opposite


@dataclass(frozen=True, slots=True)
class Program:
    """A program and the names of the forms it is made of."""

    source: str
    features: frozenset[str]

    @property
    def may_raise_other(self) -> bool:
        """Whether anything but a structure mismatch may be raised on purpose."""
        traps = {"may_raise", "callback:def_minds_none", "callback:imported"}
        return bool(self.features & traps)


# --- how the function is spelled

SPELLINGS: Forms[str] = Forms("spelling")


@SPELLINGS.add(20)
def tree_dot_map(d: Draft, path: bool) -> str:
    d.import_line("import jax")
    return "jax.tree.map_with_path" if path else "jax.tree.map"


@SPELLINGS.add(24)
def tree_util_tree_map(d: Draft, path: bool) -> str:
    d.import_line("import jax")
    return "jax.tree_util.tree_map" + "_with_path" * path


@SPELLINGS.add(12)
def removed(d: Draft, path: bool) -> str:
    d.import_line("import jax")
    if path:
        return "jax.tree_util.tree_map_with_path"
    return d.pick(
        "jax.tree_map", "jax.tree_map", "jax.tree_multimap", "jax.tree_util.tree_multimap"
    )


@SPELLINGS.add(18)
def imported_function(d: Draft, path: bool) -> str:
    where, function = "jax.tree_util", "tree_map" + "_with_path" * path
    if not path:
        choices = (("jax.tree_util", "tree_map"), ("jax", "tree_map"))
        multi = (("jax.tree_util", "tree_multimap"), ("jax", "tree_multimap"))
        where, function = d.pick(*choices, *choices, *multi)
    name = d.name(function) if d.chance(50) else d.name("tm", "tmap")
    alias = "" if name == function else f" as {name}"
    line = f"from {where} import {function}{alias}"
    if d.scope in FUNCTIONS and d.chance(15):
        d.setup.append(line)
    else:
        d.import_line(line)
    return name


@SPELLINGS.add(18)
def imported_module(d: Draft, path: bool) -> str:
    function = "tree_map" + "_with_path" * path
    how = d.pick("jtu", "tu", "tree_util", "tree", "jt")
    if how in ("tree", "jt"):
        name = d.name("tree" if how == "tree" else "jt")
        d.import_line("from jax import tree" if name == "tree" else f"import jax.tree as {name}")
        return f"{name}.map" + "_with_path" * path
    name = d.name(how)
    if how == "tree_util":
        d.import_line("from jax import tree_util")
    else:
        line = "import jax.tree_util as " if d.chance(60) else "from jax import tree_util as "
        d.import_line(line + name)
    return f"{name}.{function}"


@SPELLINGS.add(8)
def alias(d: Draft, path: bool) -> str:
    d.import_line("import jax")
    name = d.name("tmap", "treemap", "tree_map")
    function = (
        "jax.tree_util.tree_map_with_path"
        if path
        else d.pick("jax.tree.map", "jax.tree_util.tree_map")
    )
    line = f"{name} = {function}"
    if d.chance(60):
        d.put_module(line)
    else:
        d.put_local(line)
    return name


@SPELLINGS.add(3)
def try_import(d: Draft, path: bool) -> str:
    d.import_line("import jax")
    name = d.name("tree_map", "tmap")
    if path:
        d.put_module(f"{name} = jax.tree_util.tree_map_with_path")
        return name
    d.put_module(
        "try:", f"    {name} = jax.tree.map", "except AttributeError:", f"    {name} = jax.tree_map"
    )
    return name


@SPELLINGS.add(2)
def star_import(d: Draft, path: bool) -> str:
    d.import_line("from jax.tree_util import *")
    d.taken |= {"tree_map", "tree_map_with_path"}
    return "tree_map" + "_with_path" * path


@SPELLINGS.add(2)
def look_alike(d: Draft, path: bool) -> str:
    """A function that is not JAX's, by a name that could be."""
    d.import_line("import jax")
    own = ["return [f(*([()] if path else []), *trees), sorted(options)]"]
    signature = f"f, *trees, path={path}, **options"
    if d.chance(60):
        name = d.name("tree_map", "tmap")
        d.put_module("", f"def {name}({signature}):", *("    " + line for line in own), "")
        return name
    d.import_line("import types")
    function, name = d.name("mapped"), d.name("jtu", "tree_util", "jt")
    d.put_module("", f"def {function}({signature}):", *("    " + line for line in own), "")
    d.put_module(f"{name} = types.SimpleNamespace(tree_map={function}, map={function})")
    return d.pick(f"{name}.tree_map", f"{name}.map")


# --- the trees

TREE_NAMES = (
    ("params", "grads", "state", "extra"),
    ("x", "y", "z", "w"),
    ("a", "b", "c", "d"),
    ("tree", "other", "third", "fourth"),
    ("old", "new", "newer", "newest"),
)


def random_trees(d: Draft, count: int) -> list[Tree]:
    """A first tree and others to go with it, now and then one that does not."""
    first = first_tree(d.chooser)
    others = [opposite(d.chooser, first) for _ in range(count - 1)]
    if others and d.chance(6):
        d.features.add("trees:mismatch")
        at = d.chooser.integer(0, len(others) - 1)
        others[at] = broken(d.chooser, others[at])
    found = [first, *others]
    for tree in found:
        d.use_classes_of(tree)
    if "none" in first.kinds:
        d.features.add("trees:none")
    return found


def tree_expression(d: Draft, wanted: str, text: str) -> str:
    """An expression that gives the tree of which `text` is the display."""
    how = d.weighted(
        ("local", 8),
        ("inline", 5),
        ("factory", 3),
        ("parameter", 4),
        ("attribute", 2),
        ("global", 2),
    )
    if how == "inline" or (how == "parameter" and d.scope not in FUNCTIONS):
        return d.logged("tree", text)
    name = d.name(wanted, wanted + "_tree") if wanted not in d.taken else d.clashing_name()
    if how == "local":
        d.put_local(f"{name} = {text}")
    elif how == "parameter":
        d.parameters.append((name, text))
    elif how == "global":
        d.put_module(f"{name} = {text}")
    elif how == "factory":
        d.put_module("", f"def {name}():", f'    return _e("{d.label("made")}", {text})', "")
        return f"{name}()"
    else:
        d.import_line("import types")
        d.put_either(f"{name} = types.SimpleNamespace(tree={text})")
        return f"{name}.tree"
    return d.logged("tree", name)


def tree_arguments(d: Draft, texts: Sequence[str]) -> list[str]:
    """The trees as arguments, some of them behind a star."""
    wanted = d.pick(*TREE_NAMES)
    how = d.weighted(("each", 86), ("all", 8), ("rest", 5), ("head_and_tail", 2))
    d.features.add(f"trees:{how}")
    if how == "each":
        return [tree_expression(d, name, text) for name, text in zip(wanted, texts, strict=False)]
    kept = {"all": 0, "rest": 1, "head_and_tail": 1}[how]
    end = len(texts) - (how == "head_and_tail" and len(texts) > 2)
    starred = f"[{', '.join(texts[kept:end])}]"
    name = d.name("trees", "rest", "others") if d.chance(60) else d.clashing_name()
    source = d.pick("name", "name", "iterator", "display", "parameter")
    if source == "display":
        star = f"*{d.logged('trees', starred)}"
    elif source == "iterator":
        star = f"*{d.logged('trees', f'iter({starred})')}"
    elif source == "parameter" and d.scope in FUNCTIONS:
        d.parameters.append((name, starred))
        star = f"*{name}"
    else:
        d.put_either(f"{name} = {starred}")
        star = f"*{d.logged('trees', name)}"
    head = [tree_expression(d, wanted[0], texts[0])] if kept else []
    tail = [tree_expression(d, wanted[-1], texts[-1])] if end < len(texts) else []
    return [*head, star, *tail]


# --- the call


def call(d: Draft) -> str:
    """The call itself, or another use of the function that comes to the same."""
    with_path = d.with_path = d.chance(12)
    function = SPELLINGS.choose(d)(d, with_path)
    count = d.weighted((2, 70), (3, 20), (4, 8), (1, 2))
    found = random_trees(d, count)
    texts = [tree.text() for tree in found]
    inner_first = inner_later = None
    if count > 1 and d.chance(10):
        if d.chance(60):
            d.features.add("nested:first")
            inner_first = inner_call(d, found[0])
        else:
            d.features.add("nested:later")
            inner_later = inner_call(d, found[1])
    if not with_path and d.chance(4):
        d.features.add("nested:callback")
        callback = callback_with_a_call(d, count)
    else:
        callback = callbacks.CALLBACKS.choose(d)(d, count + with_path, int(with_path))
    callback = d.logged("callback", callback, 10) if "yield" not in callback else callback
    if inner_first is not None or inner_later is not None:
        names = d.pick(*TREE_NAMES)
        trees = [tree_expression(d, name, text) for name, text in zip(names, texts, strict=False)]
        if inner_first is not None:
            trees[0] = inner_first
        else:
            trees[1] = str(inner_later)
    else:
        trees = tree_arguments(d, texts)
    keyword = predicates.PREDICATES.choose(d)(d)
    if keyword.startswith("is_leaf="):
        keyword = "is_leaf=" + d.logged("is_leaf", keyword.removeprefix("is_leaf="), 10)
    shape = d.weighted(
        ("direct", 90),
        ("partial", 3),
        ("partial_leaf", 2),
        ("wrapper", 4),
        ("all_starred", 1),
        ("hand_rolled", 1),
    )
    d.features.add(f"shape:{shape}")
    return SHAPES[shape](d, function, callback, trees, keyword)


def inner_call(d: Draft, first: Tree) -> str:
    """A call that gives a tree of the structure of `first`, its leaves strings or None."""
    function = SPELLINGS.choose(d, ("tree_dot_map", "tree_util_tree_map", "removed"))(d, False)
    count = d.pick(2, 2, 3, 1)
    found = [first, *(opposite(d.chooser, first) for _ in range(count - 1))]
    for tree in found:
        d.use_classes_of(tree)
    texts = [tree.text() for tree in found]
    if d.chance(20):
        names = callbacks.names(d, count, 0)
        callback = (
            f"lambda {', '.join(names)}: None if {names[-1]} == 0 else {callbacks.noted(d, names)}"
        )
    else:
        callback = callbacks.CALLBACKS.choose(d, callbacks.PLAIN)(d, count, 0)
    trees = [tree_expression(d, "inner", text) for text in texts]
    return layout(d, function, [callback, *trees])


def callback_with_a_call(d: Draft, count: int) -> str:
    """A lambda that maps over trees in its own right."""
    names = callbacks.names(d, count, 0, {"tree"})
    function = SPELLINGS.choose(d, ("tree_dot_map", "tree_util_tree_map", "removed"))(d, False)
    first, last = names[0], names[-1]
    inner = callbacks.names(d, 2, 0, names if d.chance(50) else ())
    text = f"lambda {', '.join(inner)}: {callbacks.noted(d, inner)}"
    trees = d.pick(
        f"({first}, None), ({last}, {last})",
        f"[None, {last}], [{first}, {first}]",
        f'{{"k": None, "l": 1}}, {{"k": {first}, "l": {last}}}',
    )
    return f"lambda {', '.join(names)}: {function}({text}, {trees})"


def direct(d: Draft, function: str, callback: str, trees: list[str], keyword: str) -> str:
    arguments = [callback, *trees, *([keyword] if keyword else [])]
    if keyword.startswith("is_leaf=") and trees[-1].startswith("*") and d.chance(20):
        arguments = [callback, *trees[:-1], keyword, trees[-1]]
    if not keyword:
        with_fallback(d, function, callback, trees)
    return layout(d, function, arguments)


def with_fallback(d: Draft, function: str, callback: str, trees: list[str]) -> None:
    """Have the call stand in a `try` whose handler looks for the words of JAX 0.4.34."""
    simple = all(text.isidentifier() for text in (callback, *trees))
    if not simple or d.nested or d.with_path or d.scope not in LOCALS or not d.chance(25):
        return
    guard = f"lambda leaf_, *more: None if leaf_ is None else {callback}(leaf_, *more)"
    d.fallback = f"{function}({guard}, {', '.join(trees)}, is_leaf=lambda leaf_: leaf_ is None)"


def partial_value(d: Draft, function: str, callback: str, trees: list[str], keyword: str) -> str:
    """`partial(tree_map, f)(a, b)`, at once or by way of a name."""
    d.import_line("from functools import partial")
    bound = [function, callback]
    if keyword and d.chance(50):
        bound.append(keyword)
        keyword = ""
    made = f"partial({', '.join(bound)})"
    arguments = [*trees, *([keyword] if keyword else [])]
    if not d.nested and d.chance(60) and d.scope in (*FUNCTIONS, "main"):
        name = d.name("mapper", "map_leaves")
        d.setup.append(f"{name} = {made}")
        return layout(d, name, arguments)
    return layout(d, made, arguments)


def partial_with_predicate(
    d: Draft, function: str, callback: str, trees: list[str], keyword: str
) -> str:
    """A partial that has `is_leaf` bound already; a new one at the call would replace it."""
    d.import_line("from functools import partial")
    bound = keyword or f"is_leaf=lambda n: isinstance(n, {predicates.kind(d)})"
    made = f"partial({function}, {bound})"
    if d.chance(70):
        name = d.name("map_leaves", "tree_map_to")
        d.put_local(f"{name} = {made}")
        made = name
    return layout(d, made, [callback, *trees])


def own_wrapper(d: Draft, function: str, callback: str, trees: list[str], keyword: str) -> str:
    """A function of the program's own that passes everything on."""
    if function.split(".")[0] not in ("jax", "jtu", "tu", "tree_util", "jt"):
        d.import_line("import jax")
        function = "jax.tree_util.tree_map_with_path" if d.with_path else "jax.tree.map"
    if function.split(".")[0] == "jax":
        d.import_line("import jax")
    name = d.name("zip_trees", "tree_zip", "map_all")
    one, star = d.pick("f", "fn", "func", "x"), d.pick("trees", "args", "ts")
    how = d.pick("plain", "is_leaf", "kwargs", "first")
    if keyword and how in ("plain", "first"):
        how = "is_leaf"
    if keyword.startswith("**"):
        how = "kwargs"
    signature, passed = {
        "plain": (f"{one}, *{star}", f"{one}, *{star}"),
        "first": (f"{one}, tree, *rest", f"{one}, tree, *rest"),
        "is_leaf": (f"{one}, *{star}, is_leaf=None", f"{one}, *{star}, is_leaf=is_leaf"),
        "kwargs": (f"{one}, *{star}, **kwargs", f"{one}, *{star}, **kwargs"),
    }[how]
    d.put_module("", f"def {name}({signature}):", f"    return {function}({passed})", "")
    return layout(d, name, [callback, *trees, *([keyword] if keyword else [])])


def all_starred(d: Draft, function: str, callback: str, trees: list[str], keyword: str) -> str:
    """`tree_map(*args)`: not even the callback is in sight."""
    return layout(
        d, function, [f"*[{', '.join([callback, *trees])}]", *([keyword] if keyword else [])]
    )


def hand_rolled(d: Draft, function: str, callback: str, trees: list[str], keyword: str) -> str:
    """The map written out, with `flatten_up_to`; as a function of its own, or beside the call."""
    if d.with_path or keyword or d.nested or any(text.startswith("*") for text in trees):
        return direct(d, function, callback, trees, keyword)
    d.features.add("shape:really_hand_rolled")
    d.import_line("import jax")
    name = d.name("map_leaves", "zip_map")
    others = [f"other{number}" for number in range(1, len(trees))]
    columns = ", ".join(["leaves", *(f"treedef.flatten_up_to({other})" for other in others)])
    d.put_module(
        *["", f"def {name}({', '.join(['func', 'first', *others])}):"],
        "    leaves, treedef = jax.tree_util.tree_flatten(first)",
        f"    return treedef.unflatten([func(*row) for row in zip({columns})])",
        "",
    )
    return layout(d, name, [callback, *trees])


SHAPES = {
    "direct": direct,
    "partial": partial_value,
    "partial_leaf": partial_with_predicate,
    "wrapper": own_wrapper,
    "all_starred": all_starred,
    "hand_rolled": hand_rolled,
}


def layout(d: Draft, function: str, arguments: Sequence[str]) -> str:
    """The call as text: on one line, or on many, with comments."""
    joined = ", ".join(arguments)
    if d.one_line:
        return f"{function}({joined})"
    how = d.weighted(("line", 7), ("hanging", 3), ("comments", 2), ("aligned", 1), ("mixed", 1))
    if how == "line":
        return f"{function}({joined})"
    d.features.add(f"layout:{how}")
    if how == "aligned":
        return f"{function}(" + (",\n" + " " * (len(function) + 1)).join(arguments) + ")"
    if how == "mixed":
        return f"{function}({arguments[0]},\n    {', '.join(arguments[1:])})"
    comma = "," if not any(text.startswith("**") for text in arguments) or d.chance(50) else ""
    lines = [f"    {text}," for text in arguments]
    lines[-1] = lines[-1][:-1] + comma
    if how == "comments":
        lines = [line + d.pick("  # as it was", "", "  # (x, y): None?") for line in lines]
        if d.chance(50):
            lines.insert(d.chooser.integer(0, len(lines)), "    # one comment of its own")
    return "\n".join([f"{function}(", *lines, ")"])


# --- where the call stands


def position(
    weight: int, *lines: str, scopes: Sequence[str] = SCOPES, nested: bool = False, name: str
) -> tuple[str, int, tuple[str, ...], Sequence[str], bool]:
    """A position: lines that have `CALL` where the call goes and leave the result in `out`."""
    return name, weight, lines, scopes, nested


PLACES = (
    position(20, "out = CALL", name="assign"),
    position(14, "return CALL", scopes=("function", "closure", "method", "async"), name="return"),
    position(3, "out: object = CALL", name="annotated"),
    position(5, 'out = _e("argument", CALL)', name="argument"),
    position(2, "out = dict(k=CALL)", name="keyword"),
    position(3, "out = (CALL, CALL)", name="two_on_a_line"),
    position(2, "out = (CALL, 1)", name="tuple"),
    position(2, 'out = {"k": CALL}', name="dict"),
    position(2, "out, *_more = [CALL, 1]", name="unpack"),
    position(2, "out = []", "out += [CALL]", name="augmented"),
    position(2, "out = CALL; done = True", name="semicolon"),
    position(2, 'out = CALL if _e("flag", True) else None', name="conditional"),
    position(2, 'out = _e("no", 0) or [CALL]', name="or"),
    position(2, "if (out := CALL) is not _LOG:", "    pass", name="if"),
    position(2, "for out in [CALL]:", "    pass", name="for"),
    position(2, "try:", "    out = CALL", "except ValueError:", '    out = "mismatch"', name="try"),
    position(1, "try:", "    out = CALL", "finally:", "    done = True", name="finally"),
    position(1, "with contextlib.nullcontext(CALL) as out:", "    pass", name="with"),
    position(3, 'assert (out := CALL) is not _LOG, "same"', name="assert"),
    position(
        2,
        "@_e(",
        '    "decorator", lambda value: (lambda _: value)',
        ")(CALL)",
        "def out(): ...",
        name="decorator",
    ),
    position(3, "def shown(value=CALL):", "    return value", "", "out = shown()", name="default"),
    position(1, "match CALL:", "    case out:", "        pass", name="match"),
    position(2, "out = [item for item in [CALL]]", name="iterable"),
    position(2, "out = (lambda value=CALL: value)()", name="lambda_default"),
    position(2, "out = f'{CALL}'", name="f_string"),
    position(2, "out = f'{CALL!r:>3}|{1}'", name="f_string_format"),
    position(5, "out = [CALL for _i in range(2)]", nested=True, name="list_comprehension"),
    position(3, "out = {_i: CALL for _i in range(2)}", nested=True, name="dict_comprehension"),
    position(3, "out = list(CALL for _i in (1, 2))", nested=True, name="generator_expression"),
    position(
        2,
        "out = [[CALL for _j in range(1)] for _i in range(2)]",
        nested=True,
        name="two_comprehensions",
    ),
    position(
        2,
        'out = [_i for _i in range(2) if _e("kept", CALL) is not _LOG]',
        nested=True,
        name="condition",
    ),
    position(3, "out = (lambda: CALL)()", nested=True, name="lambda_body"),
    position(
        2, "later = lambda: CALL", "out = [later(), later()]", nested=True, name="lambda_later"
    ),
)


def indent(lines: Sequence[str], by: int = 1) -> list[str]:
    """Lines, or blocks of lines, `by` steps further in."""
    return ["    " * by + line if line else "" for block in lines for line in block.split("\n")]


def assemble(d: Draft, lines: list[str]) -> list[str]:
    """The scope of the call, and a `main` that runs it."""
    returns = any(line.startswith("return ") for line in lines)
    inside = [*d.setup, *lines]
    tail = [*d.after, *([] if returns else ["return out"])]
    keywords = sorted(d.keyword_parameters, key=lambda parameter: parameter[0].startswith("**"))
    signature = ", ".join(text for text, _ in (*d.parameters, *keywords))
    given = ", ".join(text for _, text in (*d.parameters, *keywords) if text)
    twice = d.scope in ("function", "method") and not d.rebinds and d.chance(12)
    result = "[RUN, RUN]" if twice else "RUN"
    match d.scope:
        case "function":
            body, run = [f"def go({signature}):", *indent([*inside, *tail])], f"go({given})"
        case "async":
            body, run = (
                [f"async def go({signature}):", *indent([*inside, *tail])],
                f"_run(go({given}))",
            )
        case "generator":
            tail = [*d.after, "yield out"]
            body, run = (
                [f"def go({signature}):", *indent([*inside, *tail])],
                f"_drive(go({given}), {d.sent})",
            )
        case "closure":
            go = ["def go():", *indent([*lines, *tail])]
            body = ["def outer():", *indent([*d.setup, "", *go, "", "return go()"])]
            run = "outer()"
        case "method":
            head = f"class Owner({d.base}):" if d.base else "class Owner:"
            signature = ", ".join(["self", *([signature] if signature else [])])
            go = [f"def go({signature}):", *indent([*inside, *tail])]
            body = [head, *indent([*d.members, "", *go])]
            run = f"Owner().go({given})"
        case "class":
            body, run = ["class Table:", *indent([*inside, *d.after])], "Table.out"
        case "module":
            body, run = [*inside, *d.after], "out"
        case _:
            return ["def main():", *indent([*inside, *d.after, "return out, list(_LOG)"])]
    result = result.replace("RUN", run)
    return [*body, "", "", "def main():", f"    return {result}, list(_LOG)"]


HELPERS = """\
_LOG = []


def _e(name, value):
    _LOG.append(name)
    return value


def _c(name, *args):
    _LOG.append(f"{name}{args!r}")
    return f"{name}/{len(_LOG)}"
"""
RUN_HELPER = """\
def _run(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration as stop:
        return stop.value
"""
DRIVE_HELPER = """\
def _drive(generator, sent):
    seen = [next(generator)]
    for item in iter(lambda: generator.send(sent), seen):
        seen.append(item)
        if len(seen) > 9:
            break
    return seen
"""


def program(chooser: Chooser) -> Program:
    """A program of random make."""
    scopes = (("function", 40), ("main", 14), ("closure", 6), ("method", 12))
    d = Draft(chooser)
    d.scope = d.weighted(*scopes, ("async", 8), ("generator", 6), ("class", 8), ("module", 6))
    d.features.add(f"scope:{d.scope}")
    places = [(place, place[1]) for place in PLACES if d.scope in place[3]]
    name, _, lines, _, d.nested = d.weighted(*places)
    d.features.add(f"position:{name}")
    d.one_line = name.startswith("f_string")
    text = call(d)
    if name == "with":
        d.import_line("import contextlib")
    if d.rebinds and name == "assign" and d.chance(80):
        lines = (f"{d.rebinds} = CALL", f"out = {d.rebinds}")
    if ":=" in text and name == "iterable":
        lines = ("out = CALL",)
    if d.fallback:
        d.features.add("position:fallback")
        d.rebinds = ""
        test = d.pick('"Expected None" not in str(err)', '"Expected None, got" not in str(err)')
        handler = [
            "except ValueError as err:",
            f"    if {test}:",
            "        raise",
            f"    out = {d.fallback}",
        ]
        lines = ("try:", "    out = CALL", *handler)
    placed = [line.replace("CALL", text) for line in lines]
    body = assemble(d, placed)
    helpers = HELPERS
    if d.scope == "async":
        helpers += "\n\n" + RUN_HELPER
    if d.scope == "generator":
        helpers += "\n\n" + DRIVE_HELPER
    classes = d.preamble()
    source = [*d.imports, "", *helpers.split("\n"), *classes, "", *d.module, "", *body, ""]
    return Program(indented(d, "\n".join(source)), frozenset(d.features))


def indented(d: Draft, source: str) -> str:
    """`source` with one of the usual indentations instead of four spaces."""
    unit = d.weighted(("    ", 3), ("  ", 6), ("\t", 1))
    d.features.add(f"indent:{len(unit)}")
    found = []
    for line in source.split("\n"):
        stripped = line.lstrip(" ")
        steps, odd = divmod(len(line) - len(stripped), 4)
        found.append(unit * steps + " " * odd + stripped)
    return "\n".join(found)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """The same programs as a hypothesis strategy."""
    return program(DrawChooser(draw))


def seeded(seed: int) -> Program:
    """Program number `seed`: the same every time."""
    return program(SeededChooser(seed))


SCOPED = tuple(
    f"{forms.kind}:{name}"
    for forms in (SPELLINGS, callbacks.CALLBACKS, predicates.PREDICATES)
    for name in forms.forms
) + tuple(f"position:{place[0]}" for place in PLACES)
