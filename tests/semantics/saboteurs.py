"""Takes one rule at a time out of a migrated program, as a tool without that rule would have done.

Each saboteur changes only what the migration put in, and gives None where it finds nothing.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

Saboteur = Callable[[str, str], str | None]
SABOTEURS: dict[str, Saboteur] = {}


class _Added:
    """The parts of `after` that `before` does not have."""

    def __init__(self, before: str, after: str) -> None:
        self.tree = ast.parse(after)
        self._old = {ast.dump(node) for node in ast.walk(ast.parse(before))}
        self.changed = False

    def is_new(self, node: ast.AST) -> bool:
        return ast.dump(node) not in self._old

    def lambdas(self) -> list[ast.Lambda]:
        found = (node for node in ast.walk(self.tree) if isinstance(node, ast.Lambda))
        return [node for node in found if self.is_new(node)]

    def guards(self) -> Iterator[tuple[ast.Lambda, ast.IfExp]]:
        """Lambdas of the shape `lambda …: None if … is None … else …`."""
        for node in self.lambdas():
            body = node.body
            if (
                isinstance(body, ast.IfExp)
                and _is_none(body.body)
                and _compared(body.test) is not None
            ):
                yield node, body

    def leaves(self) -> Iterator[tuple[ast.Call, ast.keyword]]:
        """The `is_leaf=` that the migration wrote, with their calls."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                for keyword in node.keywords:
                    if keyword.arg == "is_leaf" and self.is_new(keyword):
                        yield node, keyword

    def text(self) -> str | None:
        return ast.unparse(ast.fix_missing_locations(self.tree)) if self.changed else None


def _is_none(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _compared(test: ast.expr) -> ast.expr | None:
    """What `test` holds against None, first of all."""
    if isinstance(test, ast.BoolOp):
        test = test.values[0]
    if (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Is)
        and _is_none(test.comparators[0])
    ):
        return test.left
    return None


def _positional(node: ast.Lambda) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args]


def _called(value: ast.expr) -> ast.Call | None:
    return value if isinstance(value, ast.Call) else None


def _wrapped_call(node: ast.Lambda, guard: ast.IfExp) -> ast.Call | None:
    """The call in a wrapper: it passes on exactly the wrapper's parameters."""
    call = _called(guard.orelse)
    if call is None or call.keywords:
        return None
    given = [ast.unparse(argument) for argument in call.args]
    wanted = [parameter.arg for parameter in _positional(node)]
    if node.args.vararg is not None:
        wanted.append("*" + node.args.vararg.arg)
    return call if given == wanted else None


class _Rename(ast.NodeTransformer):
    """Gives names and parameters other names, everywhere below a node."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self.names.get(node.arg, node.arg)
        return node


def saboteur(change: Callable[[_Added], None]) -> Saboteur:
    """Register `change`, which works on the tree of the migrated program."""

    def run(before: str, after: str) -> str | None:
        added = _Added(before, after)
        change(added)
        return added.text()

    SABOTEURS[change.__name__] = run
    return run


@saboteur
def drop_is_leaf(added: _Added) -> None:
    """The guard is written and None is no leaf."""
    for call, keyword in list(added.leaves()):
        call.keywords.remove(keyword)
        added.changed = True


@saboteur
def drop_guard(added: _Added) -> None:
    """None is a leaf and the callback is called on it."""
    for node, guard in list(added.guards()):
        node.body = guard.orelse
        added.changed = True


@saboteur
def guard_on_next_parameter(added: _Added) -> None:
    """The guard asks the second tree's leaf."""
    for node, guard in added.guards():
        asked = _compared(guard.test)
        names = [parameter.arg for parameter in _positional(node)]
        if isinstance(asked, ast.Name) and asked.id in names[:-1]:
            asked.id = names[names.index(asked.id) + 1]
            added.changed = True


@saboteur
def guard_on_path(added: _Added) -> None:
    """The guard asks the first parameter even where that is the path."""
    for node, guard in added.guards():
        asked = _compared(guard.test)
        names = [parameter.arg for parameter in _positional(node)]
        if isinstance(asked, ast.Name) and asked.id in names[1:]:
            asked.id = names[0]
            added.changed = True
        if (
            isinstance(asked, ast.Subscript)
            and isinstance(asked.slice, ast.Constant)
            and asked.slice.value == 1
        ):
            asked.slice = ast.Constant(0)
            added.changed = True


@saboteur
def guard_asks_truth(added: _Added) -> None:
    """`if not x` instead of `if x is None`."""
    for _, guard in added.guards():
        asked = _compared(guard.test)
        if asked is not None:
            guard.test = ast.UnaryOp(ast.Not(), asked)
            added.changed = True


@saboteur
def default_into_body(added: _Added) -> None:
    """What was to be evaluated once stands in the body."""
    for node in added.lambdas():
        if not node.args.kwonlyargs or node.args.kw_defaults[-1] is None:
            continue
        name = node.args.kwonlyargs[-1].arg
        value = node.args.kw_defaults[-1]
        used = any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.body))
        if not used or isinstance(value, ast.Constant):
            continue
        node.args.kwonlyargs.pop()
        node.args.kw_defaults.pop()
        node.body = _Put(name, value).visit(node.body)
        added.changed = True


class _Put(ast.NodeTransformer):
    """Puts an expression in the place of a name."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.value) if node.id == self.name else node


@saboteur
def fixed_parameter_names(added: _Added) -> None:
    """Wrappers take x, y, z whatever the callback is called."""
    for node, guard in list(added.guards()):
        if _wrapped_call(node, guard) is None:
            continue
        fixed = ("x", "y", "z", "w", "v")
        names = dict(zip((parameter.arg for parameter in _positional(node)), fixed, strict=False))
        if all(old == new for old, new in names.items()):
            continue
        for part in (node.body, *_positional(node)):
            _Rename(names).visit(part)
        added.changed = True


@saboteur
def capture_the_callback(added: _Added) -> None:
    """The wrapper's first parameter has the name of the callback."""
    for node, guard in list(added.guards()):
        call = _wrapped_call(node, guard)
        root = call.func if call is not None else None
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or not _positional(node):
            continue
        first = _positional(node)[0]
        _Rename({first.arg: root.id}).visit(node.body)
        first.arg = root.id
        added.changed = True


@saboteur
def bare_is_none(added: _Added) -> None:
    """The predicate that was there is thrown away."""
    for _, keyword in added.leaves():
        if isinstance(keyword.value, ast.Lambda) and isinstance(keyword.value.body, ast.BoolOp):
            parameters = _positional(keyword.value)
            if parameters and _compared(keyword.value.body) is not None:
                keyword.value = ast.parse("lambda x: x is None", mode="eval").body
                added.changed = True


@saboteur
def predicate_not_joined(added: _Added) -> None:
    """The predicate that was there is kept and None is no leaf."""
    for _, keyword in added.leaves():
        if isinstance(keyword.value, ast.Lambda) and isinstance(keyword.value.body, ast.BoolOp):
            keyword.value.body.values[0] = ast.Constant(False)
            added.changed = True


@saboteur
def simple_guard(added: _Added) -> None:
    """`if x is None` where only `x is None and not pred(x)` is right."""
    for _, guard in added.guards():
        if isinstance(guard.test, ast.BoolOp) and isinstance(guard.test.op, ast.And):
            guard.test = guard.test.values[0]
            added.changed = True


@saboteur
def predicate_taken_for_given(added: _Added) -> None:
    """A predicate that may be None is called without asking."""
    for node in ast.walk(added.tree):
        if not isinstance(node, ast.BoolOp) or not added.is_new(node):
            continue
        for index, value in enumerate(node.values):
            inner = value.operand if isinstance(value, ast.UnaryOp) else value
            if (
                isinstance(inner, ast.BoolOp)
                and isinstance(inner.op, ast.And)
                and len(inner.values) == 2
            ):
                last: ast.expr = inner.values[1]
                node.values[index] = ast.UnaryOp(ast.Not(), last) if inner is not value else last
                added.changed = True


@saboteur
def one_parameter_too_few(added: _Added) -> None:
    """The wrapper does not count a tree."""
    for node, guard in list(added.guards()):
        call = _wrapped_call(node, guard)
        if call is None or node.args.vararg is not None or not node.args.args:
            continue
        node.args.args.pop()
        call.args.pop()
        added.changed = True


@saboteur
def arguments_swapped(added: _Added) -> None:
    """The wrapper passes its parameters on in another order."""
    for node, guard in list(added.guards()):
        call = _wrapped_call(node, guard)
        if call is not None and len(call.args) > 1 and not isinstance(call.args[-1], ast.Starred):
            call.args.reverse()
            added.changed = True


@saboteur
def star_not_passed_on(added: _Added) -> None:
    """`f(xs)` for `f(*xs)`."""
    for node, guard in list(added.guards()):
        call = _wrapped_call(node, guard)
        if call is not None and call.args and isinstance(call.args[-1], ast.Starred):
            call.args[-1] = call.args[-1].value
            added.changed = True
