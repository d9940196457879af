"""Groups of builders and askers that the flow of placeholders connects, and what becomes of each."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jaxmigrate.analysis.guards import Guard, plan_guard
from jaxmigrate.analysis.on_none import Place
from jaxmigrate.analysis.placeholders.changes import (
    Change,
    Deed,
    Place_,
    Table,
    optional_part,
    question_of,
)
from jaxmigrate.analysis.placeholders.reading import Reader
from jaxmigrate.analysis.placeholders.records import Asker, Leaving, Meeting
from jaxmigrate.analysis.placeholders.sentinel import (
    Sentinel,
    Spelling,
    Unspeakable,
    of_definition,
    parse_sentinel,
    spelled,
)
from jaxmigrate.analysis.placeholders.things import (
    LEAF,
    Box,
    Form,
    Node,
    Placeholder,
    Spot,
    Thing,
    Unseen,
    spot_of,
)
from jaxmigrate.analysis.project import Definition, External, Module, Project
from jaxmigrate.analysis.scopes import FUNCTIONS
from jaxmigrate.analysis.trees.evidence import Table as TreeTable
from jaxmigrate.analysis.trees.meetings import Outcome
from jaxmigrate.model import Confidence, Evidence


@dataclass(frozen=True, slots=True)
class Found:
    """The changes of a project, and the maps that they make consistent: no None is left in their trees.

    The value says whether all of a map's first tree is in sight.
    """

    changes: Table = field(default_factory=dict)
    consistent: Mapping[tuple[str, int, int], bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What may be edited: the files of the run, less the lines that a comment says to skip."""

    may_edit: Callable[[str], bool]
    is_skipped: Callable[[str, int, int], bool]


@dataclass(slots=True, eq=False)
class _Group:
    """Placeholders that are one flow, and all that asks for them."""

    placeholders: list[Placeholder] = field(default_factory=list)
    askers: list[Asker] = field(default_factory=list)
    guards: list[Meeting] = field(default_factory=list)
    consistent: list[Meeting] = field(default_factory=list)
    problems: list[tuple[Spot, str]] = field(default_factory=list)

    def problem(self, spot: Spot, words: str) -> None:
        """Note why the group is held."""
        self.problems.append((spot, words))


def find_changes(reader: Reader, sentinel: Sentinel, evidence: TreeTable, bounds: Bounds) -> Found:
    """What `--sentinel` changes in a project that has been read."""
    return _Changes(reader, sentinel, evidence, bounds).found()


def find_agreements(reader: Reader, evidence: TreeTable, bounds: Bounds) -> Found:
    """The changes that give a tree the empty pytree which another, mapped along, holds opposite its None.

    Only where that is all there is to do: nothing asks for the None, and it meets nothing else.
    """
    changes: dict[Place_, Change] = {}
    named: set[Placeholder] = set()
    for sentinel in _opposite_sentinels(reader):
        found = _Changes(reader, sentinel, evidence, bounds)
        for group in found.agreeing():
            changes.update(found.changes_of(group))
            named.update(group.placeholders)
    return Found(changes, _consistent(reader, named))


def _consistent(reader: Reader, named: set[Placeholder]) -> Mapping[tuple[str, int, int], bool]:
    """The maps whose first tree holds no placeholder but those that get a name."""
    left: set[tuple[str, int, int]] = set()
    found: dict[tuple[str, int, int], bool] = {}
    for meeting in reader.meetings:
        spot = spot_of(meeting.call.node, meeting.call.module)
        place = (spot.path, spot.line, spot.column)
        if meeting.placeholder not in named:
            left.add(place)
        elif place not in found:
            first = reader.first_trees[meeting.call.node]
            found[place] = not any(isinstance(thing, Unseen) for thing in _things_in(first))
    return {place: whole for place, whole in found.items() if place not in left}


def _opposite_sentinels(reader: Reader) -> list[Sentinel]:
    """The empty pytrees that stand opposite a placeholder somewhere."""
    found: dict[str, set[Definition | None]] = {}
    for meeting in reader.meetings:
        for thing in (t for other in meeting.others for t in other.things):
            if isinstance(thing, Box) and thing.emptiness is not None:
                found.setdefault(thing.emptiness, set()).add(thing.cls)
    return [
        parse_sentinel(text, reader.project) if cls is None else of_definition(cls, reader.project)
        for text, classes in sorted(found.items())
        for cls in (classes if len(classes) == 1 else ())
    ]


class _Changes:
    def __init__(
        self, reader: Reader, sentinel: Sentinel, evidence: TreeTable, bounds: Bounds
    ) -> None:
        self._reader = reader
        self._project: Project = reader.project
        self._sentinel = sentinel
        self._evidence = evidence
        self._bounds = bounds
        self._parents: dict[Placeholder, Placeholder] = {}
        self._in_objects: set[Placeholder] | None = None
        self._spellings: dict[Module, Spelling | Unspeakable] = {}
        self._compared = [
            (list(dict.fromkeys([*_things_in(one), *_things_in(other)])), spot)
            for one, other, spot in reader.equalities
        ]

    def found(self) -> Found:
        """The changes for every group, and what they make consistent."""
        changes: dict[Place_, Change] = {}
        named: set[Placeholder] = set()
        groups = self._groups()
        in_trees: list[_Group] = []
        for group in groups:
            if any(_is_tree_part(p, self._reader) for p in group.placeholders):
                in_trees.append(group)
                self._examine(group)
        self._hold_together(groups, in_trees)
        for group in in_trees:
            changes.update(self.changes_of(group))
            if not group.problems:
                named.update(group.placeholders)
        return Found(changes, _consistent(self._reader, named))

    def _hold_together(self, groups: Sequence[_Group], in_trees: Sequence[_Group]) -> None:
        """A map has one guard: what meets something else beside a None that stays, stays too."""
        staying = [group for group in groups if group.problems or group not in in_trees]
        waiting = list(staying)
        while waiting:
            left = {meeting.call.node for meeting in waiting.pop().guards}
            for group in in_trees:
                found = [meeting.call for meeting in group.guards if meeting.call.node in left]
                if found and group not in staying:
                    spot = spot_of(found[0].node, found[0].module)
                    words = "beside a None that stays"
                    group.problem(spot, f"the map at {spot.words} is to be guarded {words}")
                    staying.append(group)
                    waiting.append(group)

    def agreeing(self) -> Iterator[_Group]:
        """The groups that meet the sentinel and nothing else, and that nothing asks for."""
        for group in self._groups():
            met = [meeting for meeting in group.consistent if self._meets_sentinel(meeting)]
            if not met or group.askers or group.guards:
                continue
            self._examine(group)
            if not group.problems:
                yield group

    def _meets_sentinel(self, meeting: Meeting) -> bool:
        return any(
            isinstance(thing, Box) and thing.emptiness == self._sentinel.text
            for other in meeting.others
            for thing in other.things
        )

    # Which placeholders belong together

    def _root(self, placeholder: Placeholder) -> Placeholder:
        parents = self._parents
        while parents.setdefault(placeholder, placeholder) != placeholder:
            placeholder = parents[placeholder]
        return placeholder

    def _join(self, placeholders: Iterable[Placeholder]) -> None:
        first: Placeholder | None = None
        for placeholder in placeholders:
            if first is None:
                first = self._root(placeholder)
            else:
                self._parents[self._root(placeholder)] = first

    def _groups(self) -> list[_Group]:
        reader = self._reader
        for node in reader.flow.nodes:
            self._join(_placeholders(node.things))
        for meeting in reader.meetings:
            self._join([meeting.placeholder, *_all_placeholders(meeting.others)])
        for things, _ in self._compared:
            self._join(_placeholders(things))
        for asked, stand_in in reader.stand_ins:
            written = [p for p in _placeholders(stand_in.things) if p.form is Form.RETURNED]
            for placeholder in written:
                self._join([placeholder, *_placeholders(asked.things)])
        groups: dict[Placeholder, _Group] = {}
        for placeholder in list(self._parents):
            root = self._root(placeholder)
            groups.setdefault(root, _Group()).placeholders.append(placeholder)
        for asker in reader.askers:
            for root in {self._root(p) for p in _placeholders(asker.operand.things)}:
                groups[root].askers.append(asker)
        for meeting in reader.meetings:
            group = groups[self._root(meeting.placeholder)]
            kind = group.consistent if self._is_consistent(meeting) else group.guards
            kind.append(meeting)
        return list(groups.values())

    def _is_consistent(self, meeting: Meeting) -> bool:
        """Whether the same placeholder stands opposite, whatever is there, or anything may."""
        if meeting.is_leaf:
            return True
        spot = spot_of(meeting.call.node, meeting.call.module)
        known = self._evidence.get((spot.path, spot.line, spot.column))
        if known is not None and known.strongest.outcome is Outcome.SAME_NONES:
            return True
        return all(
            other.things and all(self._is_same(thing) for thing in other.things)
            for other in meeting.others
        )

    def _is_same(self, thing: Thing) -> bool:
        if isinstance(thing, Placeholder):
            return self._is_builder(thing)
        return isinstance(thing, Box) and thing.emptiness == self._sentinel.text

    def _is_builder(self, placeholder: Placeholder) -> bool:
        """Whether a None is written as a part of a tree, or of what one flow connects with a tree."""
        return placeholder.form is Form.BUILT or _is_tree_part(placeholder, self._reader)

    # Whether all of a group is in sight

    def _examine(self, group: _Group) -> None:
        reader = self._reader
        members = set(group.placeholders)
        in_trees = self._in_trees(members)
        if not reader.flow.is_settled:
            group.problem(group.placeholders[0].spot, "there is too much to follow in this project")
        for placeholder in sorted(members, key=_order):
            for leaving in reader.leavings.get(placeholder, ()):
                group.problem(leaving.spot, f"the tree leaves sight at {_at(leaving)}")
            if not self._is_builder(placeholder):
                group.problem(placeholder.spot, _whence(placeholder))
            else:
                if placeholder not in in_trees:
                    words = f"a None that is in no tree ({placeholder.spot.words}) comes to it"
                    group.problem(placeholder.spot, words)
                self._examine_place(group, placeholder.node, placeholder.module)
                if self._is_default_without_hash(placeholder.node, placeholder.module):
                    words = (
                        f"{self._sentinel.text}, which has no hash, is no default of a dataclass"
                    )
                    group.problem(placeholder.spot, f"{words} ({placeholder.spot.words})")
        for asker in group.askers:
            self._examine_place(group, asker.node, asker.module)
            unseen = [t for t in asker.operand.things if isinstance(t, Unseen)]
            if unseen:
                spot = spot_of(asker.node, asker.module)
                source = f"{unseen[0].words} at {unseen[0].spot.words}"
                group.problem(spot, f"{spot.words} asks for None where {source} may bring its own")
            if any(
                isinstance(t, Box) and t.may_be(self._sentinel.text) for t in asker.operand.things
            ):
                spot = spot_of(asker.node, asker.module)
                group.problem(spot, f"{spot.words} may ask about another {self._sentinel.text}")
            if not self._sentinel.cls and not _is_pure(asker.node.left):
                spot = spot_of(asker.node, asker.module)
                text = self._sentinel.text
                words = f"what {spot.words} asks about is no plain name or part"
                why = f"to ask for {text} it would be written twice, which a class spares"
                group.problem(spot, f"{words}, and {why}")
        for meeting in group.guards:
            self._examine_guard(group, meeting)
        self._examine_uses(group, members)

    def _in_trees(self, members: set[Placeholder]) -> set[Placeholder]:
        """Those that are in trees, in objects that are trees, or in what is compared with one."""
        if self._in_objects is None:
            self._in_objects = set(_in_tree_objects(self._reader))
        found = members & (self._reader.in_trees | self._reader.as_trees | self._in_objects)
        for one, other, _ in self._reader.equalities:
            compared = {*_deep(one), *_deep(other)} & members
            if compared & found:
                found |= compared
        return found

    def _examine_uses(self, group: _Group, members: set[Placeholder]) -> None:
        sentinel, reader = self._sentinel, self._reader
        for use in reader.truths:
            if not sentinel.falsy and members & set(_placeholders(use.node.things)):
                words = f"{use.spot.words} asks whether it is true, which {sentinel.text} is"
                group.problem(use.spot, words)
        for use in reader.class_tests:
            if members & set(_placeholders(use.node.things)) and not self._tells_apart(use.classes):
                group.problem(use.spot, f"{use.spot.words} asks for its class")
        for things, spot in self._compared:
            if members.isdisjoint(_placeholders(things)):
                continue
            if not sentinel.equal:
                group.problem(spot, f"{spot.words} compares, and {sentinel.text} equals no other")
            if any(isinstance(t, Box) and self._may_equal(t) for t in things):
                group.problem(spot, f"{spot.words} may compare it with another {sentinel.text}")
            if any(isinstance(t, Unseen) for t in things):
                group.problem(
                    spot, f"the tree leaves sight at {spot.words}: compared with something"
                )

        for use in reader.hashed:
            if not (sentinel.hashable and sentinel.equal) and members & set(_deep(use.node)):
                group.problem(use.spot, f"{use.spot.words} is called with it, and hashes it")
        for one, other, spot in reader.by_arrays:
            if _meets_leaf(one, other, members):
                group.problem(spot, f"{spot.words} compares it with what may be an array")

    def _tells_apart(self, classes: frozenset[str]) -> bool:
        """Whether neither None nor the sentinel is of one of the classes."""
        bases = self._sentinel.bases | {f"project.{self._sentinel.cls}"}
        plain = all(
            name.startswith(("builtins.", "jax.", "numpy.", "project."))
            and name != "builtins.object"
            for name in classes
        )
        return plain and not classes & bases and "?" not in bases

    def _examine_place(self, group: _Group, node: ast.AST, module: Module) -> None:
        spot = spot_of(node, module)
        if not self._bounds.may_edit(spot.path):
            group.problem(spot, f"{spot.path} is not among the files to be edited")
        first = module.scopes.statement_of(node).lineno
        last = getattr(node, "end_lineno", spot.line)
        if any(
            self._bounds.is_skipped(spot.path, *lines)
            for lines in ((spot.line, last), (first, first))
        ):
            group.problem(spot, f"a comment says to skip {spot.words}")
        if any(isinstance(outer, ast.JoinedStr) for outer in module.scopes.enclosing(node)):
            group.problem(spot, f"{spot.words} stands in an f-string")
        spelling = self._spelling(module)
        if isinstance(spelling, Unspeakable):
            group.problem(spot, spelling.reason)
        elif self._comes_too_early(node, module):
            group.problem(spot, f"{spot.words} runs before {spelling.name} is bound")

    def _may_equal(self, box: Box) -> bool:
        """Whether a container may equal the sentinel: an empty NamedTuple equals any empty tuple."""
        if "builtins.tuple" in self._sentinel.bases:
            return box.may_be("()") or (box.kind == "object" and box.emptiness is not None)
        return box.may_be(self._sentinel.text)

    def _is_default_without_hash(self, node: ast.AST, module: Module) -> bool:
        """Whether a dataclass would refuse the sentinel for the default of a field."""
        statement = module.scopes.statement_of(node)
        owner = module.scopes.parents.get(statement)
        if self._sentinel.hashable or not isinstance(owner, ast.ClassDef):
            return False
        return bool(owner.decorator_list)

    def _comes_too_early(self, node: ast.AST, module: Module) -> bool:
        """Whether a node runs when the name of the sentinel is not bound yet."""
        spelling = self._spelling(module)
        if isinstance(spelling, Unspeakable):
            return False
        if _is_in_body(node, module):
            return self._may_run_before(node, module, spelling.since)
        return getattr(node, "lineno", 0) <= spelling.since

    def _may_run_before(self, node: ast.AST, module: Module, since: int) -> bool:
        """Whether what stands in a function may be called while the module is read up to a line."""
        *_, outermost = [n for n in module.scopes.enclosing(node) if isinstance(n, ast.stmt)]
        if outermost.lineno > since:
            return False
        for name, scope in module.scopes.names:
            around = [*module.scopes.enclosing(name)]
            defined = [n for n in around if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
            if name.lineno > since or any(name.lineno >= n.body[0].lineno for n in defined):
                continue
            found = self._project.lookup(name.id, scope, module)
            if found and all(isinstance(entity, External) for entity in found):
                continue
            decorates = any(name in getattr(outer, "decorator_list", ()) for outer in around)
            if decorates or any(isinstance(outer, ast.Call) for outer in around):
                return True
        return False

    def _examine_guard(self, group: _Group, meeting: Meeting) -> None:
        call = meeting.call
        self._examine_place(group, call.node, call.module)
        spelling = self._spelling(call.module)
        if isinstance(spelling, Unspeakable):
            return
        question = question_of(self._sentinel.text, spelling.name)
        place = Place(call.scope, call.module, self._project)
        plan = plan_guard(call, place, _unparsed, several=False, question=question)
        if not isinstance(plan, Guard):
            spot = spot_of(call.node, call.module)
            reason = getattr(plan, "reason", "its is_leaf says something of None")
            group.problem(spot, f"the map at {spot.words} cannot be guarded: {reason}")

    def _spelling(self, module: Module) -> Spelling | Unspeakable:
        if module not in self._spellings:
            self._spellings[module] = spelled(self._sentinel, module, self._project)
        return self._spellings[module]

    # What is changed

    def changes_of(self, group: _Group) -> Iterator[tuple[Place_, Change]]:
        """The changes for a group, sure if nothing holds it."""
        confidence = Confidence.POSSIBLE if group.problems else Confidence.LIKELY
        problems = sorted(dict.fromkeys(group.problems), key=lambda p: _spot_order(p[0]))
        evidence = tuple(Evidence(s.path, s.line, words) for s, words in problems[:3])
        why = f"; {problems[0][1]}" if problems else ""

        def change(
            deed: Deed, node: ast.AST, module: Module, words: str
        ) -> Iterator[tuple[Place_, Change]]:
            spelling = self._spelling(module)
            spot = spot_of(node, module)
            if isinstance(spelling, Unspeakable):
                place = (spot.path, spot.line, spot.column, deed)
                yield place, Change(deed, "", "", None, confidence, words + why, evidence)
                return
            text = f"{spelling.name}()" if spelling.name else self._sentinel.text
            yield (
                (spot.path, spot.line, spot.column, deed),
                Change(
                    deed, text, spelling.name, spelling.imported, confidence, words + why, evidence
                ),
            )

        for placeholder in group.placeholders:
            if self._is_builder(placeholder):
                words = "a placeholder in a tree"
                yield from change(Deed.BUILD, placeholder.node, placeholder.module, words)
        for asker in group.askers:
            yield from change(Deed.ASK, asker.node, asker.module, "asks for the placeholder")
        for meeting in group.guards:
            words = "the placeholder in its first tree meets something else"
            yield from change(Deed.GUARD, meeting.call.node, meeting.call.module, words)
        members = set(group.placeholders)
        for annotation in self._reader.annotations:
            found = set(_placeholders(annotation.node.things))
            part = optional_part(annotation.expr)
            early = self._comes_too_early(annotation.expr, annotation.module)
            if part is not None and found and found <= members and not early:
                words = "says that the placeholder may be here"
                yield from change(Deed.ANNOTATE, annotation.expr, annotation.module, words)


def _is_in_body(node: ast.AST, module: Module) -> bool:
    """Whether a node runs when a function is called, and not when it is defined."""
    for outer in module.scopes.enclosing(node):
        if isinstance(outer, ast.Lambda) and node is outer.body:
            return True
        body = [] if isinstance(outer, ast.Lambda) else getattr(outer, "body", [])
        if isinstance(outer, FUNCTIONS) and node in body:
            return True
        node = outer
    return False


def _unparsed(expr: ast.expr, _parts: Sequence[ast.expr], _new: str) -> str:
    return ast.unparse(expr)


def _is_tree_part(placeholder: Placeholder, reader: Reader) -> bool:
    """Whether a None is written as a part of a tree."""
    written = placeholder.form in (Form.BUILT, Form.RETURNED)
    return written and placeholder in reader.in_trees


def _in_tree_objects(reader: Reader) -> Iterator[Placeholder]:
    """The placeholders that are parts of objects of classes that JAX sees into."""
    for box in {t for node in reader.flow.nodes for t in node.things if isinstance(t, Box)}:
        if box.cls is not None and not box.sealed:
            for key, part in box.fields.items():
                if box.sees(key):
                    yield from _placeholders(part.things)


def _whence(placeholder: Placeholder) -> str:
    """Why a None that comes to a tree cannot be another."""
    node, words = placeholder.node, placeholder.spot.words
    if placeholder.form is Form.IMPLICIT and isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        if name in ("get", "setdefault"):
            return f".{name}() gives None where the key is missing ({words})"
        return f"{name}() gives None ({words})"
    if placeholder.form is Form.IMPLICIT and isinstance(node, FUNCTIONS):
        name = getattr(node, "name", "a function")
        return f"{name}() gives None where it ends without a return ({words})"
    return f"a None that {_form(placeholder)} ({words}) comes to it"


def _form(placeholder: Placeholder) -> str:
    if isinstance(placeholder.form.value, str):
        return placeholder.form.value
    return "is in no tree"


def _is_pure(expr: ast.expr) -> bool:
    return all(
        isinstance(n, ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.expr_context)
        for n in ast.walk(expr)
    )


def _placeholders(things: Iterable[Thing]) -> list[Placeholder]:
    return [thing for thing in things if isinstance(thing, Placeholder)]


def _all_placeholders(nodes: Iterable[Node]) -> list[Placeholder]:
    return [p for node in nodes for p in _placeholders(node.things)]


def _things_in(node: Node) -> Iterator[Thing]:
    """What is at a node and in the containers there."""
    seen: set[Box] = set()
    waiting = [node]
    while waiting:
        for thing in waiting.pop().things:
            yield thing
            if isinstance(thing, Box) and thing not in seen:
                seen.add(thing)
                waiting.extend([*thing.fields.values(), thing.rest])


def _meets_leaf(one: Node, other: Node, members: set[Placeholder]) -> bool:
    """Whether a placeholder is compared with a leaf; one in a container would be equal to no array."""
    return any(
        LEAF in left.things and members & set(_placeholders(right.things))
        for left, right in ((one, other), (other, one))
    )


def _deep(node: Node) -> list[Placeholder]:
    return _placeholders(_things_in(node))


def _at(leaving: Leaving) -> str:
    return f"{leaving.spot.words}: {leaving.words}"


def _order(placeholder: Placeholder) -> tuple[str, int, int]:
    return _spot_order(placeholder.spot)


def _spot_order(spot: Spot) -> tuple[str, int, int]:
    return spot.path, spot.line, spot.column
