"""Who binds a name, by Python's rules for scopes."""

from __future__ import annotations

import ast

import pytest

from jaxmigrate.analysis.scopes import Scope, ScopeTree


def tree(source: str) -> ScopeTree:
    return ScopeTree(ast.parse(source))


def owner_of(source: str, name: str = "x") -> str | None:
    """The kind of scope that the last read of `name` refers to; None where nothing binds it."""
    scopes = tree(source)
    reads = [scope for node, scope in scopes.names if node.id == name]
    owner: Scope | None = reads[-1].owner(name)
    return None if owner is None else type(owner.node).__name__


@pytest.mark.parametrize(
    ("source", "owner"),
    [
        ("x", None),
        ("x = 1\nx", "Module"),
        ("x\nx = 1\nx", "Module"),
        ("import x\nx", "Module"),
        ("import x.y\nx", "Module"),
        ("import y as x\nx", "Module"),
        ("from y import x\nx", "Module"),
        ("from y import z as x\nx", "Module"),
        ("from x import y\nx", None),
        ("import y.x\nx", None),
        ("x: int\nx", None),
        ("x: int = 1\nx", "Module"),
        ("x += 1\nx", "Module"),
        ("del x\nx", "Module"),
        ("for x in y: x", "Module"),
        ("for (a, (x, *b)) in y: x", "Module"),
        ("with y as x: x", "Module"),
        ("with y as (x, z): x", "Module"),
        ("try: pass\nexcept E as x: x", "Module"),
        ("try: pass\nexcept* E as x: x", "Module"),
        ("(x := 1)\nx", "Module"),
        ("def x(): pass\nx", "Module"),
        ("async def x(): pass\nx", "Module"),
        ("class x: pass\nx", "Module"),
        ("match y:\n  case x: x", "Module"),
        ("match y:\n  case [1, *x]: x", "Module"),
        ("match y:\n  case {'a': 1, **x}: x", "Module"),
        ("match y:\n  case C(z=x): x", "Module"),
        ("match y:\n  case 1 as x: x", "Module"),
        ("match y:\n  case x.z: x", None),
        ("a = b = x = 1\nx", "Module"),
        ("[x] = y\nx", "Module"),
        ("*x, = y\nx", "Module"),
        # functions
        ("x = 1\ndef f(): x", "Module"),
        ("x = 1\ndef f(x): x", "FunctionDef"),
        ("x = 1\ndef f(*x): x", "FunctionDef"),
        ("x = 1\ndef f(**x): x", "FunctionDef"),
        ("x = 1\ndef f(*, x): x", "FunctionDef"),
        ("x = 1\ndef f(x, /): x", "FunctionDef"),
        ("x = 1\nasync def f(x): x", "AsyncFunctionDef"),
        ("x = 1\ndef f():\n  x\n  x = 2", "FunctionDef"),
        ("x = 1\ndef f():\n  import x\n  x", "FunctionDef"),
        ("x = 1\ndef f():\n  for x in y: pass\n  x", "FunctionDef"),
        ("x = 1\ndef f():\n  def x(): pass\n  x", "FunctionDef"),
        ("x = 1\ndef f(x=x): pass", "Module"),
        ("x = 1\ndef f(x: x): pass", "Module"),
        ("x = 1\ndef f(x) -> x: pass", "Module"),
        ("x = 1\n@x\ndef f(x): pass", "Module"),
        ("x = 1\nlambda x: x", "Lambda"),
        ("x = 1\nlambda x=x: 1", "Module"),
        ("x = 1\nlambda: x", "Module"),
        ("def f(x):\n  def g(): x", "FunctionDef"),
        ("def f(x):\n  return lambda: x", "FunctionDef"),
        ("x = 1\ndef f(x):\n  class C:\n    x", "FunctionDef"),
        # global and nonlocal
        ("x = 1\ndef f():\n  global x\n  x = 2\n  x", "Module"),
        ("def f():\n  global x\n  x = 2\nx", "Module"),
        ("x = 1\ndef f(x):\n  def g():\n    global x\n    x", "Module"),
        ("def f():\n  x = 1\n  def g():\n    nonlocal x\n    x = 2\n    x", "FunctionDef"),
        ("x = 1\ndef f():\n  if y:\n    global x\n  x = 2\n  x", "Module"),
        ("x = 1\nclass C:\n  global x\n  x = 2\n  x", "Module"),
        # classes
        ("x = 1\nclass C:\n  x = 2\n  x", "ClassDef"),
        ("x = 1\nclass C:\n  x = 2\n  def f(self): x", "Module"),
        ("x = 1\nclass C:\n  x = 2\n  f = lambda: x", "Module"),
        ("x = 1\nclass C:\n  x = 2\n  def f(self, y=x): pass", "ClassDef"),
        ("class C:\n  x = 2\nx", None),
        ("class C:\n  class D:\n    x\n  x = 1", None),
        ("class C:\n  x = 1\n  class D:\n    x", None),
        ("x = 1\nclass C(x): x = 2", "Module"),
        ("x = 1\nclass C(metaclass=x): x = 2", "Module"),
        ("class C:\n  def x(self): pass\n  def f(self): x", None),
        # comprehensions
        ("x = 1\n[x for x in y]", "ListComp"),
        ("x = 1\n{x for x in y}", "SetComp"),
        ("x = 1\n{1: x for x in y}", "DictComp"),
        ("x = 1\n{x: 1 for x in y}", "DictComp"),
        ("x = 1\n(x for x in y)", "GeneratorExp"),
        ("x = 1\n[y for x in z for y in x]", "ListComp"),
        ("x = 1\n[x for y in x]", "Module"),
        ("x = 1\n[1 for x in x]", "Module"),
        ("x = 1\n[1 for x in z if x]", "ListComp"),
        ("x = 1\n[[x for y in z] for x in z]", "ListComp"),
        ("[x for x in y]\nx", None),
        ("x = 1\n[(x := y) for y in z]\nx", "Module"),
        ("def f():\n  [(x := y) for y in z]\n  x", "FunctionDef"),
        ("x = 1\ndef f():\n  [(x := y) for y in z]\n  x", "FunctionDef"),
        ("x = 1\nclass C:\n  x = [2]\n  y = [x for z in (1,)]", "Module"),
        ("x = 1\nclass C:\n  x = [2]\n  y = [z for z in x]", "ClassDef"),
        ("x = 1\nlambda: [x for x in y]", "ListComp"),
    ],
)
def test_a_name_belongs_to_the_scope_that_python_says(source: str, owner: str | None) -> None:
    assert owner_of(source) == owner


def test_a_class_body_is_hidden_from_a_comprehension_but_for_its_first_iterable() -> None:
    assert owner_of("class C:\n  x = 1\n  y = [0 for a in b for c in x]") is None


def test_names_are_compared_in_their_normal_form() -> None:
    assert owner_of("ｘ = 1\nx") == "Module"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("import a", "a"),
        ("import a.b.c", "a"),
        ("import a.b as x", "a.b"),
        ("from a import x", "a.x"),
        ("from a.b import c as x", "a.b.c"),
        ("from . import x", ".x"),
        ("from .. import c as x", "..c"),
        ("from .a import x", ".a.x"),
        ("from ...a.b import c as x", "...a.b.c"),
    ],
)
def test_an_import_binds_the_dotted_name_it_says(source: str, target: str) -> None:
    (bindings,) = tree(source).module.bindings.values()
    assert [binding.target for binding in bindings] == [target]


def test_star_imports_are_kept_by_scope() -> None:
    assert tree("from a.b import *\nfrom . import *").module.star_imports == ["a.b", "."]


@pytest.mark.parametrize(
    "source",
    [
        "try:\n  import a\nexcept E as e:\n  a = None\nelse: b\nfinally: c",
        "async def f():\n  async with a as b, c: pass\n  async for d in e: await g\n  [h async for h in i]",
        "match a:\n  case [b, *_] | {'c': d, **e} if f: g\n  case C(h, i=j) as k: pass",
        "x = lambda a, /, b=c, *d, e, g=h, **i: (yield)",
        "print(*a, **b, c=d)[e:f:g, ...]; assert h, i; raise j from k",
        "x: a[b] = f'{c!r:>{d}}' if e else {**f, g: [*h]}",
        "with (a as b, c as d): del e, f[g]; global h",
    ],
)
def test_every_node_knows_what_it_stands_in(source: str) -> None:
    scopes = tree(source)
    for node in ast.walk(scopes.tree):
        if isinstance(node, ast.expr | ast.stmt):
            assert list(scopes.enclosing(node))[-1] is scopes.tree
            assert isinstance(scopes.statement_of(node), ast.stmt)


@pytest.mark.parametrize(
    ("source", "count"), [("a.b.c(d.e)", 3), ("@a.b\ndef f(x: a.c = a.d) -> a.e: a.f", 5)]
)
def test_every_attribute_is_seen_once(source: str, count: int) -> None:
    assert len(tree(source).attributes) == count
