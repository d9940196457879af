"""The forms a callback takes in real code, and the traps each sets for a rewriter.

Each form writes what it needs into the draft and returns the expression that stands in the call.
`count` is how many arguments the callback gets, `at` which of them is the leaf of the first tree:
1 behind a path, else 0.
"""

# ruff: noqa: ARG001  (the forms share one signature)

from __future__ import annotations

from collections.abc import Collection, Sequence

from tests.semantics.choosing import pick
from tests.semantics.draft import FUNCTIONS, LOCALS, PARAMETERS, SCOPES, Draft, Forms

CALLBACKS: Forms[str] = Forms("callback")
# What an outer map may be given: one string a leaf, so that its tree still matches the others.
PLAIN = ("lambda_plain", "lambda_star", "local_def", "bound_lambda", "partial_call")


def names(d: Draft, count: int, at: int, avoid: Collection[str] = ()) -> list[str]:
    """Parameter names for a callback."""
    pools = [pool for pool in PARAMETERS if not set(pool) & set(avoid)]
    found = list(pick(d.chooser, pools)[: count - at])
    return [d.pick("path", "kp", "_"), *found] if at else found


def noted(d: Draft, parameters: Sequence[str], *more: str) -> str:
    """The expression that logs a call; it gives a string."""
    arguments = ", ".join(dict.fromkeys([*parameters, *more]))
    return f'_c("{d.label()}", {arguments})'


def body(d: Draft, parameters: Sequence[str], at: int) -> str:
    """What a callback computes: mostly the log entry, sometimes a shape that is harder to guard."""
    first, last = parameters[at], parameters[-1]
    call = noted(d, parameters)
    shapes = (
        (call, 10),
        (f"({first}, {last})", 1),
        (f"{first} or {call}", 1),
        (f"{call} if {last} else {last}", 2),
        (f"None if {last} == 0 else {call}", 1),
        (f"[{call}, {first}]", 1),
        (f"(lambda q: {call[:-1]}, q))({last})", 1),
        (f"(tmp := {call}) and tmp", 1),
    )
    return d.weighted(*shapes)


def define(name: str, signature: str, *lines: str) -> list[str]:
    """A `def`, with an empty line above and below."""
    return ["", f"def {name}({signature}):", *("    " + line for line in lines), ""]


def recorder(d: Draft, count: int, at: int, *lead: str) -> str:
    """A function at the top of the module that logs its calls; its name."""
    parameters = names(d, count, at)
    name = d.name("step", "combine", "update", "merge_leaf")
    d.put_module(
        *define(name, ", ".join([*lead, *parameters]), f"return {noted(d, [*lead, *parameters])}")
    )
    return name


# --- lambdas


@CALLBACKS.add(24)
def lambda_plain(d: Draft, count: int, at: int) -> str:
    parameters = names(d, count, at)
    return f"lambda {', '.join(parameters)}: {noted(d, parameters)}"


@CALLBACKS.add(6)
def lambda_body(d: Draft, count: int, at: int) -> str:
    parameters = names(d, count, at)
    return f"lambda {', '.join(parameters)}: {body(d, parameters, at)}"


@CALLBACKS.add(5)
def lambda_defaults(d: Draft, count: int, at: int) -> str:
    parameters = names(d, count, at)
    how = d.pick("extra", "logged", "keyword_only", "all", "with_kwargs")
    default = f'k=_e("{d.label("default")}", 3)' if how == "logged" else "k=3"
    if how == "keyword_only":
        default = "*, " + default
    shown = [name + "=0" * (how == "all") for name in parameters] + [default]
    if how == "with_kwargs":
        shown.append("**options")
    return f"lambda {', '.join(shown)}: {noted(d, parameters, 'k')}"


@CALLBACKS.add(9)
def lambda_star(d: Draft, count: int, at: int) -> str:
    parameters = names(d, count, at)
    kept = d.pick(0, 0, 1, 2)
    head = parameters[: min(kept, count)]
    star = d.pick("xs", "rest", "args", "_")
    star = "others" if star in head else star
    arguments = ", ".join([*head, "*" + star])
    return f'lambda {arguments}: _c("{d.label()}", {arguments})'


@CALLBACKS.add(3)
def lambda_positional_only(d: Draft, count: int, at: int) -> str:
    parameters = names(d, count, at)
    cut = d.chooser.integer(1, count)
    shown = [*parameters[:cut], "/", *parameters[cut:]]
    return f"lambda {', '.join(shown)}: {noted(d, parameters)}"


@CALLBACKS.add(3)
def lambda_underscore(d: Draft, count: int, at: int) -> str:
    parameters = ["_" * (place + 1) for place in range(count)]
    if d.chance(60):
        parameters[-1] = "g"
    return f"lambda {', '.join(parameters)}: {noted(d, parameters[1:] or parameters)}"


@CALLBACKS.add(4)
def lambda_default_of_same_name(d: Draft, count: int, at: int) -> str:
    outer = d.clashing_name()
    d.put_local(f'{outer} = "outer"')
    parameters = names(d, count, at, {"k"})
    if outer not in parameters:
        parameters[at] = outer
    return f"lambda {', '.join(parameters)}, k={outer}: {noted(d, parameters, 'k')}"


@CALLBACKS.add(3, [scope for scope in SCOPES if scope != "class"])
def lambda_free_name(d: Draft, count: int, at: int) -> str:
    outer = d.clashing_name()
    d.put_local(f'{outer} = "outer"')
    parameters = names(d, count, at, {outer})
    return f"lambda {', '.join(parameters)}: {noted(d, parameters, outer)}"


@CALLBACKS.add(5)
def lambda_minds_none(d: Draft, count: int, at: int) -> str:
    parameters = names(d, count, at)
    first, last = parameters[at], parameters[-1]
    call = noted(d, parameters)
    text = d.pick(
        f"None if {first} is None else {call}",
        f"{call} if {first} is not None else None",
        f"{last} if {first} is None else {call}",
        f'"gap" if {first} is None else {call}',
        f"{call} if {first} is not None else {last}",
        f"None if {first} is None or {last} is None else {call}",
        f"{first} and {call}",
        f"None if not {first} else {call}",
        f"{call} and None if {first} is None else {last}",
        f"None if {last} is None else {call}",
    )
    return f"lambda {', '.join(parameters)}: {text}"


@CALLBACKS.add(3)
def lambda_of_many_lines(d: Draft, count: int, at: int) -> str:
    """A lambda with line breaks and comments within."""
    parameters = names(d, count, at)
    head, call = f"lambda {', '.join(parameters)}:", noted(d, parameters)
    if d.one_line:
        return f"{head} ({call})"
    return d.pick(
        f"{head} (\n    # why\n    {call}  # (so)\n)",
        f"(\n    {head} {call}  # all of it\n)",
        f"{head} {call.replace(', ', ',  # next' + chr(10) + '        ', 1)}",
        f"lambda {parameters[0]}, (CUT){', '.join(parameters[1:])}: {call}".replace(
            "(CUT)", "  # first\n    "
        ),
    )


# --- functions by name


@CALLBACKS.add(12)
def local_def(d: Draft, count: int, at: int) -> str:
    parameters = names(d, count, at)
    name = d.name("step", "combine", "pick_leaf") if d.chance(60) else d.clashing_name()
    signature = d.pick(
        ", ".join(parameters),
        ", ".join([*parameters, "scale=1"]),
        ", ".join([*parameters, "*", "scale=1"]),
        ", ".join([parameters[0], "/", *parameters[1:]]),
    )
    d.put_either(*define(name, signature, f"return {noted(d, parameters)}"))
    return name


@CALLBACKS.add(9)
def def_minds_none(d: Draft, count: int, at: int) -> str:
    parameters = names(d, count, at)
    first, last = parameters[at], parameters[-1]
    call = noted(d, parameters)
    name = d.name("step", "combine", "pick_leaf") if d.chance(60) else d.clashing_name()
    lines = d.pick(
        [f"if {first} is None:", "    return None", f"return {call}"],
        [f"if {first} is None:", '    return "gap"', f"return {call}"],
        [f"if {first} is None:", f"    return {last}", f"return {call}"],
        [f"if {first} is None:", f"    return {noted(d, parameters)}", f"return {call}"],
        [f"if {first} is not None:", f"    return {call}", "return None"],
        [f"if {first} is not None:", f"    return {call}"],
        [f"if {first} is None or {last} is None:", "    return None", f"return {call}"],
        [f"if not {first}:", "    return None", f"return {call}"],
        # Logs ahead of the check: must not be called on None even though it would return None.
        [f"seen = {call}", f"if {first} is None:", "    return None", "return seen"],
        [f"if {last} is None:", "    return None", f"return {call}"],
        [
            f"if {last} == 0:",
            '    return "zero"',
            f"if {first} is None:",
            "    return None",
            f"return {call}",
        ],
        [f"if {first} is None:", '    raise TypeError("no leaf")', f"return {call}"],
        [f"return None if {first} is None else {call}"],
        [f"return {last} if {first} is None else {call}"],
        [
            f"{first} = {last} if {first} is None else {first}",
            f"if {first} is None:",
            "    return None",
            f"return {call}",
        ],
        [
            '"""Combine leaves; skips None."""',
            f"if {first} is None:",
            "    return",
            f"return {call}",
        ],
        [
            f"if {first} is None:",
            f"    if {last} is None:",
            "        return None",
            f"    return {call}",
            f"return {call}",
        ],
        [
            "try:",
            f"    assert {first} is not None",
            "except AssertionError:",
            f"    return {last}",
            f"return {call}",
        ],
        [f"match {first}:", "    case None:", "        return None", f"return {call}"],
    )
    d.put_either(*define(name, ", ".join(parameters), *lines))
    return name


@CALLBACKS.add(2)
def def_star(d: Draft, count: int, at: int) -> str:
    name = d.name("combine", "gather") if d.chance(50) else d.clashing_name()
    lines = [f'return _c("{d.label()}", *xs)']
    check = d.pick("", "plain", "other")
    if check:
        lines = [
            f"if xs[{at}] is None:",
            "    return None" if check == "plain" else "    return xs[-1]",
            *lines,
        ]
    d.put_either(*define(name, "*xs", *lines))
    return name


@CALLBACKS.add(6)
def bound_lambda(d: Draft, count: int, at: int) -> str:
    name = d.name("fn", "op", "merge") if d.chance(50) else d.clashing_name()
    parameters = names(d, count, at)
    line = f"{name} = lambda {', '.join(parameters)}: {noted(d, parameters)}"
    if d.chance(25):
        d.put_local("if not _LOG:", "    " + line, "else:", f"    {name} = lambda *args: args[-1]")
    else:
        d.put_either(line)
    return name


@CALLBACKS.add(3)
def bound_lambda_minds_none(d: Draft, count: int, at: int) -> str:
    name = d.name("fn", "op", "merge") if d.chance(50) else d.clashing_name()
    d.put_either(f"{name} = {lambda_minds_none(d, count, at)}")
    return name


@CALLBACKS.add(4, LOCALS)
def two_bindings(d: Draft, count: int, at: int) -> str:
    """A name with two values, of which only one minds None."""
    name = d.name("fn", "op")
    parameters = names(d, count, at)
    first = parameters[at]
    guarded = f"lambda {', '.join(parameters)}: None if {first} is None else {noted(d, parameters)}"
    free = f"lambda {', '.join(parameters)}: {noted(d, parameters)}"
    test = d.pick("_LOG", "not _LOG")
    d.put_local(f"if {test}:", f"    {name} = {guarded}", "else:", f"    {name} = {free}")
    return name


@CALLBACKS.add(
    2, ["function", "main", "closure", "async", "method", "generator", "module", "class"], flat=True
)
def statement_rebinds(d: Draft, count: int, at: int) -> str:
    """`f = jax.tree.map(f, a, b)`."""
    if d.scope == "closure":
        return lambda_plain(d, count, at)
    name = d.clashing_name()
    parameters = names(d, count, at)
    d.put_local(*define(name, ", ".join(parameters), f"return {noted(d, parameters)}"))
    d.rebinds = name
    return name


@CALLBACKS.add(3)
def imported(d: Draft, count: int, at: int) -> str:
    """A function out of another module."""
    if count == 2:
        function = d.pick("eq", "ne", "is_", "is_not")
        how = d.pick("attribute", "from", "as")
        if how == "attribute":
            d.import_line("import operator")
            return f"operator.{function}"
        name = d.name(function) if how == "from" else d.clashing_name()
        alias = "" if name == function else f" as {name}"
        d.import_line(f"from operator import {function}{alias}")
        return name
    if count == 3:
        return "slice"
    d.import_line("import itertools")
    return "lambda *parts: list(itertools.chain(map(str, parts)))"


@CALLBACKS.add(3, FUNCTIONS)
def parameter(d: Draft, count: int, at: int) -> str:
    """A parameter of the enclosing function."""
    name = d.clashing_name()
    d.parameters.append((name, recorder(d, count, at)))
    return name


# --- attributes and methods


@CALLBACKS.add(4, ["method"])
def self_method(d: Draft, count: int, at: int) -> str:
    """A method, a static method or a function kept in an attribute of `self`."""
    name = d.name("combine", "step", "f") if d.chance(80) else d.name("__combine")
    parameters = names(d, count, at)
    how = d.pick("method", "static", "instance", "property", "class")
    if how == "instance":
        target = recorder(d, count, at)
        d.members += define("__init__", "self", f"self.{name} = {target}")
        return f"self.{name}"
    if how == "property":
        target = recorder(d, count, at)
        d.members += [
            "",
            "@property",
            f"def {name}(self):",
            f'    return _e("{d.label("property")}", {target})',
        ]
        return f"self.{name}"
    head = {"method": ["self"], "static": [], "class": ["cls"]}[how]
    decorator = {"method": [], "static": ["@staticmethod"], "class": ["@classmethod"]}[how]
    d.members += [
        "",
        *decorator,
        *define(name, ", ".join([*head, *parameters]), f"return {noted(d, parameters)}")[1:],
    ]
    return f"self.{name}"


@CALLBACKS.add(5)
def bound_method(d: Draft, count: int, at: int) -> str:
    """`x.mix`: an instance whose name a wrapper's parameter may take."""
    cls, name = d.name("Mixer", "Op"), d.clashing_name()
    parameters = names(d, count, at)
    method = d.pick("mix", "apply", "__call__")
    signature = ", ".join(["self", *parameters])
    d.put_module(
        "",
        f"class {cls}:",
        *(
            "    " + line if line else ""
            for line in define(method, signature, f"return {noted(d, parameters)}")
        ),
    )
    d.put_either(f"{name} = {cls}()")
    if method == "__call__":
        return name
    return d.pick(f"{name}.{method}", f"{name}.{method}", f"{cls}().{method}")


@CALLBACKS.add(3)
def namespace_attribute(d: Draft, count: int, at: int) -> str:
    """An attribute of a namespace, which may have an attribute of the same name as a parameter."""
    name = d.name("ops", "fns") if d.chance(40) else d.clashing_name()
    d.import_line("import types")
    target = recorder(d, count, at)
    d.put_either(
        f"{name} = types.SimpleNamespace(combine={target}, inner=types.SimpleNamespace(f={target}))"
    )
    return d.pick(f"{name}.combine", f"{name}.inner.f")


@CALLBACKS.add(4)
def property_function(d: Draft, count: int, at: int) -> str:
    """A property or a `__getattr__` that gives a function: evaluated once for all leaves."""
    cls, name = d.name("Lazy", "Model"), d.clashing_name()
    target = recorder(d, count, at)
    by_name, by_getattr = ["@property", "def prop(self):"], ["def __getattr__(self, name):"]
    head = by_name if d.chance(60) else by_getattr
    made = f'_e("{d.label("property")}", {target})'
    lines = [*("    " + line for line in head), f"        return {made}"]
    d.put_module("", f"class {cls}:", *lines, "")
    if d.scope in FUNCTIONS and d.chance(40):
        d.parameters.append((name, f"{cls}()"))
    else:
        d.put_either(f"{name} = {cls}()")
    return f"{name}.prop"


# --- evaluated once


@CALLBACKS.add(4)
def partial_call(d: Draft, count: int, at: int) -> str:
    return partial_text(d, count, at)


def partial_text(d: Draft, count: int, at: int) -> str:
    """`functools.partial(…)` of a recorder, by one of its spellings."""
    bound = d.logged("bound", d.pick("1", '"k"', "None"), 30)
    if d.chance(50):
        target, arguments = recorder(d, count, at, "k"), bound
    else:
        parameters = names(d, count, at)
        target = d.name("scaled", "weighted")
        d.put_module(
            *define(
                target, ", ".join([*parameters, "*", "k"]), f"return {noted(d, parameters, 'k')}"
            )
        )
        arguments = f"k={bound}"
    if d.chance(50):
        d.import_line("import functools")
        return f"functools.partial({target}, {arguments})"
    d.import_line("from functools import partial")
    return f"partial({target}, {arguments})"


@CALLBACKS.add(3)
def bound_partial(d: Draft, count: int, at: int) -> str:
    name = d.name("scaled_by", "op") if d.chance(50) else d.clashing_name()
    d.put_either(f"{name} = {partial_text(d, count, at)}")
    return name


@CALLBACKS.add(5)
def free_name_in_argument(d: Draft, count: int, at: int) -> str:
    """`partial(unravel, y)`, `bind(x)`, `x[y]`: what a wrapper's parameters would capture."""
    name = d.clashing_name()
    d.put_local(f'{name} = "free"')
    target = recorder(d, count, at, "k")
    if d.chance(50):
        d.import_line("from functools import partial")
        return f"partial({target}, {name})"
    factory = d.name("bind", "make_bound")
    arguments = d.pick("*xs", ", ".join(names(d, count, at, {"k"})))
    d.put_module(*define(factory, "k", f"return lambda {arguments}: {target}(k, {arguments})"))
    return f"{factory}({name})"


@CALLBACKS.add(4)
def class_callback(d: Draft, count: int, at: int) -> str:
    cls = d.name("Item", "Cell", "Update") if d.chance(70) else d.clashing_name()
    d.put_module(
        *["", f"class {cls}:", "    def __init__(self, *parts):"],
        f'        _c("{d.label()}", *parts)',
        *["        self.parts = parts", "", "    def __repr__(self):"],
        *['        return f"Item{self.parts!r}"', ""],
    )
    return cls


@CALLBACKS.add(5)
def factory(d: Draft, count: int, at: int) -> str:
    """A call that makes the callback: once, at its place among the other evaluations."""
    target = recorder(d, count, at)
    name = d.name("make_step", "build") if d.chance(60) else d.clashing_name()
    made = f'_e("{d.label("factory")}", {target})'
    how = d.pick("call", "twice", "wrapped", "counted", "attribute")
    if how == "wrapped":
        d.put_module(*define(name, "fn", f'return _e("{d.label("wrap")}", lambda *xs: fn(*xs))'))
        parameters = names(d, count, at)
        return f"{name}(lambda {', '.join(parameters)}: {noted(d, parameters)})"
    if how == "twice":
        d.put_module(*define(name, "", f"return lambda: {made}"))
        return f"{name}()()"
    if how == "attribute":
        d.import_line("import types")
        d.put_module(*define(name, "", f"return types.SimpleNamespace(f={made})"))
        return f"{name}().f"
    if how == "counted":
        d.import_line("import itertools")
        counter = d.name("COUNT", "ticks")
        d.put_module(f"{counter} = itertools.count()")
        star = noted(d, ["tag", "*xs"])
        d.put_module(*define(name, "", f"tag = next({counter})", f"return lambda *xs: {star}"))
        return f"{name}()"
    d.put_module(*define(name, "", f"return {made}"))
    return f"{name}()"


@CALLBACKS.add(3)
def lookup(d: Draft, count: int, at: int) -> str:
    """`TABLE["k"]`, `fns[i]`."""
    target = recorder(d, count, at)
    name = d.name("TABLE", "fns") if d.chance(50) else d.clashing_name()
    if d.chance(50):
        d.put_either(f'{name} = {{"k": {target}}}')
        return f"{name}[{d.logged('key', chr(34) + 'k' + chr(34), 30)}]"
    index = d.clashing_name()
    d.put_local(f"{index} = 1")
    d.put_either(f"{name} = [None, {target}]")
    return f"{name}[{index}]"


@CALLBACKS.add(3)
def either_or(d: Draft, count: int, at: int) -> str:
    """`f or g`, `f and g`, `f if flag else g`."""
    one = d.name("chosen") if d.chance(40) else d.clashing_name()
    parameters = names(d, count, at)
    other = f"lambda {', '.join(parameters)}: {noted(d, parameters)}"
    how = d.pick("or", "and", "if", "or_taken")
    target = recorder(d, count, at)
    d.put_local(f"{one} = {target if how in ('or_taken', 'if', 'and') else None}")
    if how == "if":
        return f"{one} if {d.logged('flag', d.pick('True', 'False'), 50)} else ({other})"
    return f"{one} {'and' if how == 'and' else 'or'} ({other})"


@CALLBACKS.add(3, LOCALS, flat=True)
def walrus(d: Draft, count: int, at: int) -> str:
    """`(f := make())`, the name being used behind the call."""
    name = d.clashing_name()
    made = factory(d, count, at) if d.chance(60) else lambda_plain(d, count, at)
    d.after.append(f"out = (out, callable({name}))")
    return f"({name} := {made})"


@CALLBACKS.add(40, ["async"], flat=True)
def awaited(d: Draft, count: int, at: int) -> str:
    target = recorder(d, count, at)
    name = d.name("get", "fetch")
    d.put_module(
        *["", f"async def {name}():", f'    return _e("{d.label("await")}", {target})', ""]
    )
    return d.pick(f"await {name}()", f"(await {name}())")


@CALLBACKS.add(40, ["generator"], flat=True)
def yielded(d: Draft, count: int, at: int) -> str:
    d.sent = recorder(d, count, at)
    return d.pick("(yield)", '(yield "ready")', "(yield 1) or None")


@CALLBACKS.add(12, ["method"], flat=True)
def super_method(d: Draft, count: int, at: int) -> str:
    """`super().join`: `super()` without arguments works in the method itself alone."""
    d.base = d.name("Base", "Parent")
    parameters = names(d, count, at)
    name = d.name("join", "combine")
    d.put_module(
        *["", f"class {d.base}:", f"    def {name}(self, {', '.join(parameters)}):"],
        *[f"        return {noted(d, parameters)}", ""],
    )
    if d.chance(50):
        d.members += define(name, "self, *xs", 'return "overridden"')
    return f"super().{name}"


@CALLBACKS.add(40, ["class"], flat=True)
def class_scope_name(d: Draft, count: int, at: int) -> str:
    """A name of the class body, which a lambda there cannot see."""
    parameters = names(d, count, at)
    name = d.clashing_name()
    how = d.pick("def", "lambda", "free_argument", "attribute")
    if how == "def":
        d.put_local(*define(name, ", ".join(parameters), f"return {noted(d, parameters)}"))
        return name
    if how == "lambda":
        d.put_local(f"{name} = lambda {', '.join(parameters)}: {noted(d, parameters)}")
        return name
    target = recorder(d, count, at, "k")
    if how == "free_argument":
        d.import_line("from functools import partial")
        d.put_local(f'{name} = "free"')
        return f"partial({target}, {name})"
    d.import_line("import types")
    d.import_line("from functools import partial")
    d.put_local(f"{name} = types.SimpleNamespace(f=partial({target}, 1))")
    return f"{name}.f"


@CALLBACKS.add(3)
def comprehension_or_loop_name(d: Draft, count: int, at: int) -> str:
    """A name that a loop or a star-unpacking binds."""
    name = d.clashing_name()
    target = recorder(d, count, at)
    if d.scope == "class" and d.nested:
        d.put_module(f"{name}, *_unused = [{target}, 1]")
        return name
    d.put_local(
        *d.pick([f"for {name} in [{target}]:", "    pass"], [f"{name}, *_unused = [{target}, 1]"])
    )
    return name
