"""The forms `is_leaf` takes, by what each says of `None`: yes, no, or what cannot be told.

Each form writes what it needs into the draft and returns the keyword argument, or an empty string.
"""

# ruff: noqa: ARG001  (the forms share one signature)

from __future__ import annotations

from tests.semantics.draft import FUNCTIONS, SCOPES, Draft, Forms

PREDICATES: Forms[str] = Forms("is_leaf")
KINDS = ("tuple", "list", "dict", "Pair", "Box", "Rec")


def kind(d: Draft) -> str:
    """A class to stop at."""
    name = d.pick(*KINDS)
    d.use_class(name)
    return name


def helper(d: Draft, stem: tuple[str, ...], *lines: str, parameter: str = "") -> str:
    """A predicate by name, at the top of the module or beside the call."""
    name = d.name(*stem) if d.chance(70) else d.clashing_name()
    parameter = parameter or d.pick("n", "x", "node")
    text = [
        "",
        f"def {name}({parameter}):",
        *(f"    {line.replace('NODE', parameter)}" for line in lines),
        "",
    ]
    d.put_either(*text)
    return name


def stopper(d: Draft) -> str:
    """A predicate of which the source does not show what it says of None."""
    table = d.name("STOPS", "stops")
    says = d.pick("True", "False")
    d.put_module(f"{table} = {{{kind(d)}: True, type(None): {says}}}")
    name = d.name("stop_here", "is_box")
    d.put_module("", f"def {name}(n):", f"    return {table}.get(type(n), False)", "")
    return name


@PREDICATES.add(170)
def absent(d: Draft) -> str:
    return ""


@PREDICATES.add(4)
def none(d: Draft) -> str:
    return "is_leaf=None"


@PREDICATES.add(10)
def isinstance_lambda(d: Draft) -> str:
    name = d.pick("n", "x", "t", "_x")
    kinds = d.pick("one", "two")
    what = kind(d) if kinds == "one" else f"({kind(d)}, {kind(d)})"
    return f"is_leaf=lambda {name}: isinstance({name}, {what})"


@PREDICATES.add(6)
def lambda_no_on_none(d: Draft) -> str:
    return "is_leaf=lambda n: " + d.pick(
        f"n is not None and isinstance(n, {kind(d)})",
        f"isinstance(n, {d.pick('tuple', 'list', 'dict')}) and len(n) > 1",
        f"type(n) is {kind(d)}",
        f"type(n) == {kind(d)}",
        f"isinstance(n, {kind(d)}) or isinstance(n, {kind(d)})",
        "not isinstance(n, (dict, list, tuple, type(None)))",
        "n is not None and not isinstance(n, (dict, list, tuple))",
        "False",
        'hasattr(n, "left")',
        "n == ()",
        "n is not None",
    )


@PREDICATES.add(4)
def lambda_odd_signature(d: Draft) -> str:
    what = kind(d)
    return "is_leaf=" + d.pick(
        f"lambda n, kinds=({what},): isinstance(n, kinds)",
        f"lambda *n: isinstance(n[0], {what})",
        f"lambda n, /: isinstance(n, {what})",
        f"lambda n, *, kinds={what}: isinstance(n, kinds)",
        f"lambda _: isinstance(_, {what})",
    )


@PREDICATES.add(10)
def lambda_none_is_leaf(d: Draft) -> str:
    return "is_leaf=lambda n: " + d.pick(
        "n is None",
        "None is n",
        f"n is None or isinstance(n, {kind(d)})",
        f"isinstance(n, {kind(d)}) or n is None",
        f"isinstance(n, ({kind(d)}, type(None)))",
        "not isinstance(n, dict)",
        "not isinstance(n, (dict, list))",
        "n == None",
        "n in (None, ())",
        "not n",
        "True",
        "type(n) is not dict",
        f"not (n is not None and not isinstance(n, {kind(d)}))",
    )


@PREDICATES.add(6)
def none_helper(d: Draft) -> str:
    return "is_leaf=" + helper(d, ("_is_none", "is_none"), "return NODE is None")


@PREDICATES.add(5)
def bound_none_helper(d: Draft) -> str:
    """A helper that stands there and is not used by the call, or is by a name bound to a lambda."""
    name = d.name("_is_none", "is_none") if d.chance(60) else d.clashing_name()
    d.put_either(f"{name} = lambda x: x is None")
    return d.pick("", f"is_leaf={name}")


@PREDICATES.add(8)
def named_other(d: Draft) -> str:
    lines = d.pick(
        [f"return isinstance(NODE, {kind(d)})"],
        [f"return isinstance(NODE, ({kind(d)}, {kind(d)}))"],
        ["if NODE is None:", "    return False", f"return isinstance(NODE, {kind(d)})"],
        [f"if isinstance(NODE, {kind(d)}):", "    return True", "return False"],
    )
    return "is_leaf=" + helper(d, ("is_pair", "stop_at"), *lines)


@PREDICATES.add(4)
def named_none_is_leaf(d: Draft) -> str:
    lines = d.pick(
        [f"return NODE is None or isinstance(NODE, {kind(d)})"],
        ["if NODE is None:", "    return True", f"return isinstance(NODE, {kind(d)})"],
        ["return not isinstance(NODE, dict)"],
    )
    return "is_leaf=" + helper(d, ("is_gap", "stop_at"), *lines)


@PREDICATES.add(7)
def unknown(d: Draft) -> str:
    """A predicate whose answer on None cannot be read, by name or called in a lambda."""
    name = stopper(d)
    how = d.pick("name", "name", "lambda", "joined", "not")
    if how == "name":
        return f"is_leaf={name}"
    if how == "lambda":
        return f"is_leaf=lambda x: {name}(x)"
    if how == "joined":
        return f"is_leaf=lambda x: isinstance(x, {kind(d)}) or {name}(x)"
    return f"is_leaf=lambda n: not {name}(n) and isinstance(n, {kind(d)})"


@PREDICATES.add(2)
def says_none_of_none(d: Draft) -> str:
    """A predicate that gives None for None, which JAX takes for no."""
    what = kind(d)
    return d.pick(
        f"is_leaf=lambda n: n and isinstance(n, {what}) if n is None else isinstance(n, {what})",
        f"is_leaf=lambda n: None if n is None else isinstance(n, {what})",
    )


@PREDICATES.add(2)
def raises_on_none(d: Draft) -> str:
    d.features.add("may_raise")
    return "is_leaf=" + d.pick("lambda n: len(n) < 1", "lambda n: n.kind == 1", "lambda n: n < 1")


@PREDICATES.add(7, FUNCTIONS)
def parameter(d: Draft) -> str:
    """A parameter of the enclosing function that may be None."""
    name = d.pick("is_leaf", "pred", "x")
    name = d.name(name) if name not in d.taken else d.clashing_name()
    value = d.pick("", "None", "stopper", "none_helper", "lambda")
    if value == "stopper":
        value = stopper(d)
    elif value == "none_helper":
        value = d.name("_is_none", "is_none")
        d.put_module("", f"def {value}(x):", "    return x is None", "")
    elif value == "lambda":
        value = f"lambda n: isinstance(n, {kind(d)})"
    d.keyword_parameters.append((f"{name}=None", f"{name}={value}" if value else ""))
    return f"is_leaf={name}"


@PREDICATES.add(4)
def attribute(d: Draft) -> str:
    d.import_line("import types")
    name = d.name("cfg") if d.chance(50) else d.clashing_name()
    value = d.pick(
        "None", stopper(d), f"(lambda n: isinstance(n, {kind(d)}))", "(lambda n: n is None)"
    )
    d.put_either(f"{name} = types.SimpleNamespace(is_leaf={value})")
    return f"is_leaf={name}.is_leaf"


@PREDICATES.add(2)
def property_predicate(d: Draft) -> str:
    cls, name = d.name("Config", "Options"), d.clashing_name()
    made = f'_e("{d.label("property")}", {stopper(d)})'
    d.put_module(
        "", f"class {cls}:", "    @property", "    def stop(self):", f"        return {made}", ""
    )
    d.put_either(f"{name} = {cls}()")
    return f"is_leaf={name}.stop"


@PREDICATES.add(3)
def factory(d: Draft) -> str:
    name = d.name("make_pred", "stop_on") if d.chance(60) else d.clashing_name()
    made = d.pick("None", "lambda n: n is None", f"lambda n: isinstance(n, {kind(d)})", stopper(d))
    d.put_module("", f"def {name}():", f'    return _e("{d.label("pred")}", {made})', "")
    return f"is_leaf={name}()"


@PREDICATES.add(3)
def either_or(d: Draft) -> str:
    name = d.clashing_name()
    d.put_local(f"{name} = {d.pick('None', stopper(d))}")
    return d.pick(
        f"is_leaf={name} or (lambda n: isinstance(n, {kind(d)}))",
        f"is_leaf={name} if {name} is not None else (lambda n: n is None)",
        f"is_leaf=None if {name} is None else {name}",
    )


@PREDICATES.add(3, [scope for scope in SCOPES if scope != "class"])
def free_name(d: Draft) -> str:
    """A predicate with a free name that the wrapper's parameter would capture."""
    name = d.clashing_name()
    d.put_local(f"{name} = {kind(d)}")
    parameter = "node" if name != "node" else "x"
    return f"is_leaf=lambda {parameter}: isinstance({parameter}, {name})"


@PREDICATES.add(3)
def predicate_of_clashing_name(d: Draft) -> str:
    name = d.clashing_name()
    d.put_either(f"{name} = {d.pick(stopper(d), f'(lambda n: isinstance(n, {kind(d)}))')}")
    return f"is_leaf={name}"


@PREDICATES.add(2)
def partial_predicate(d: Draft) -> str:
    d.import_line("from functools import partial")
    name = d.name("stops_at")
    says = d.pick("isinstance(n, kinds)", "n is None or isinstance(n, kinds)")
    d.put_module("", f"def {name}(kinds, n):", f"    return {says}", "")
    return f"is_leaf=partial({name}, {kind(d)})"


@PREDICATES.add(2)
def keyword_arguments(d: Draft) -> str:
    """`**kwargs` that may carry `is_leaf`."""
    name = d.name("kwargs", "options")
    value = d.pick("{}", '{"is_leaf": None}', '{"is_leaf": lambda n: n is None}')
    if d.scope in FUNCTIONS and d.chance(60):
        given = d.pick("", "is_leaf=None", "is_leaf=lambda n: n is None")
        d.keyword_parameters.append((f"**{name}", given))
    else:
        d.put_local(f"{name} = {value}")
    return f"**{name}"
