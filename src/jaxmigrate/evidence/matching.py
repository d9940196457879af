"""Finds the calls that hits are about, in the source as it is now; never guesses one.

A hit names a line as a process saw it. Where the line reads the same now, it is that line; where it does
not, it is the one line of the same function that does. What cannot be found, or could be two calls, is
given back with the reason; what is guarded by now is set apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from jaxmigrate.analysis.project import Project
from jaxmigrate.analysis.trees.evidence import Position
from jaxmigrate.evidence.files import ProjectFiles
from jaxmigrate.evidence.hits import Hit, HitKind
from jaxmigrate.evidence.mended import Mended
from jaxmigrate.evidence.nodes import MendedError, Node, Nodes, NotFoundError, stretch_of
from jaxmigrate.evidence.places import is_cell, is_machinery, package_of
from jaxmigrate.evidence.upgrades import mended_in
from jaxmigrate.evidence.words import notes_of, package_words
from jaxmigrate.model import Evidence, Leftover, PackageEvidence

Proofs: TypeAlias = Mapping[Position, tuple[Evidence, ...]]
"""Evidence from runs by the position of the node that it is about."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Where in the project hits were found: a None that met a value, a name that is gone; and the rest."""

    met: Proofs = field(default_factory=dict)
    gone: Proofs = field(default_factory=dict)
    leftover: Leftover = field(default_factory=Leftover)


def match(hits: Sequence[Hit], project: Project, paths: Collection[str], root: Path) -> Matched:
    """Find what the hits are about among the project's files at `paths`, named as from `root`."""
    files = ProjectFiles(paths, root)
    found: dict[HitKind, dict[Node, list[Hit]]] = {kind: defaultdict(list) for kind in HitKind}
    unmatched: dict[Evidence, None] = {}
    done: dict[Evidence, None] = {}
    packages: dict[PackageEvidence, None] = {}
    nodes = Nodes(project)
    mended = Mended(nodes)
    for hit in hits:
        package = None if files.has(hit.path) else _package(hit)
        if package is not None:
            packages[PackageEvidence(package, _in_package(hit))] = None
            continue
        try:
            path = _file_of(hit, files)
            node = _Search(hit, path, nodes, mended).result()
        except MendedError as why:
            done[Evidence(hit.path, hit.line, str(why))] = None
        except NotFoundError as why:
            note = f"{why}; {hit.hint}" if hit.hint else str(why)
            unmatched[Evidence(hit.path, hit.line, note)] = None
        else:
            found[hit.kind][node].append(hit)
    return Matched(
        _proofs(found[HitKind.NONE_PREFIX]),
        _proofs(found[HitKind.REMOVED_NAME]),
        Leftover(tuple(unmatched), tuple(packages), tuple(done)),
    )


def _proofs(found: Mapping[Node, Sequence[Hit]]) -> Proofs:
    proofs: dict[Position, tuple[Evidence, ...]] = {}
    for node, hits in found.items():
        path, line, _ = node.position
        evidence = tuple(Evidence(path, line, note) for note in notes_of(hits))
        for position in (node.position, *node.also):
            proofs[position] = (*proofs.get(position, ()), *evidence)
    return proofs


def _package(hit: Hit) -> str | None:
    """The installed package that a hit is in, in words; JAX and what runs tests are none."""
    if hit.package is not None:
        return package_words(hit.package)
    return None if is_machinery(hit.path) else package_of(hit.path)


def _in_package(hit: Hit) -> Evidence:
    (note,) = notes_of([hit])
    release = mended_in(hit)
    return Evidence(hit.path, hit.line, f"{note}; upgrade to {release}" if release else note)


def _file_of(hit: Hit, files: ProjectFiles) -> str:
    if "broadcast" in hit.map:
        raise NotFoundError(f"{hit.map} needs a guard, and no codemod writes it")
    if is_cell(hit.path):
        raise NotFoundError("a cell of a notebook: which file it is from is not known")
    if hit.path.startswith("<"):
        raise NotFoundError("code that was typed in or generated is in no file")
    if is_machinery(hit.path):
        advice = "" if hit.hint else ": give the whole traceback (pytest: --tb=short), or a trace"
        raise NotFoundError(f"no line outside JAX is named{advice}")
    found = files.named(hit.path)
    if not found:
        raise NotFoundError("no file of this run has this path")
    if len(found) > 1:
        raise NotFoundError(f"this may be any of {', '.join(found)}")
    if not hit.text and not files.has(hit.path) and not files.surely(hit.path, found[0]):
        raise NotFoundError(f"only the name is that of {found[0]}, and no source is shown")
    return found[0]


class _Search:
    """Looks for one hit among the nodes of its file."""

    def __init__(self, hit: Hit, path: str, nodes: Nodes, mended: Mended) -> None:
        self.hit = hit
        self.path = path
        self.mended = mended
        self.source = hit.text.strip()
        self.all_nodes = nodes
        self.nodes = nodes.of(path, hit.kind)
        self.lines = nodes.lines(path)
        self.calls = nodes.calls(path)

    def result(self) -> Node:
        """The node. Raises NotFoundError with the reason if there is none, or more than one."""
        if self.source and self._text(self.hit.line) != self.source:
            return self._where_it_moved()
        exact = [node for node in self.nodes if node.is_at(self.hit)]
        if not exact and self.source and stretch_of(self.hit) in self.calls:
            raise NotFoundError(self._why_not_here())
        here = exact or self._on(self.hit.line)
        found = [node for node in here if self._may_be_in(node)]
        if self.source and here and not found:
            return self._where_it_moved()
        return self._only(found, self._why_not_here)

    def _where_it_moved(self) -> Node:
        lines = [n for n in range(1, self.lines.line_count + 1) if self._text(n) == self.source]
        placed = [node for line in lines for node in self._on(line)]
        found = [node for node in placed if self._may_be_in(node)]
        if not found and all(self._on(line) for line in lines):
            helped = self.all_nodes.helped(self.path) if self._maps() else ()
            inside = [node for node in (*self.nodes, *helped) if self._may_be_in(node)]
            if self.mended.has(self.hit, self.path, inside):
                raise MendedError
        return self._only(self._narrowed(found), lambda: self._why_not_there(lines, placed))

    def _why_not_there(self, lines: Sequence[int], placed: Sequence[Node]) -> str:
        if self._is_named() and len(lines) == 1 and not placed:
            return self._unseen(f"in what is line {lines[0]} now")
        function = f" in {self.hit.function}" if self.hit.function else ""
        return f"it does not stand here any more, and no other line{function} reads so"

    def _why_not_here(self) -> str:
        if self._is_named() and self.source:
            return self._unseen("here")
        return f"{self._what()} does not stand on this line"

    def _is_named(self) -> bool:
        """Whether the run says which map was called, so that there is one for sure."""
        return bool(self.hit.map) and self._maps()

    def _maps(self) -> bool:
        return self.hit.kind is HitKind.NONE_PREFIX

    def _unseen(self, where: str) -> str:
        called = f"a run called {self.hit.map} {where}"
        return f"{called}, which is not seen in the source; guard it by hand"

    def _narrowed(self, found: list[Node]) -> list[Node]:
        """Of several on a line, that at the hit's column."""
        if len(found) < 2 or self.hit.column is None:
            return found
        height = (self.hit.end_line or self.hit.line) - self.hit.line
        return [
            node
            for node in found
            if node.column == self.hit.column and node.end_line - node.line == height
        ]

    def _only(self, found: list[Node], why_none: Callable[[], str]) -> Node:
        nodes = list(dict.fromkeys(found))
        if not nodes:
            raise NotFoundError(why_none())
        if len(nodes) > 1 and self._maps() and self.mended.are_all_guarded(nodes):
            raise MendedError
        if len(nodes) > 1:
            raise NotFoundError(f"{self._what()} could be {len(nodes)} here, and which is not said")
        return nodes[0]

    def _on(self, line: int) -> list[Node]:
        """The nodes that begin on a line, as Python names them; else those that stand across it."""
        begin = [node for node in self.nodes if node.line == line]
        return begin or [node for node in self.nodes if node.line <= line <= node.end_line]

    def _may_be_in(self, node: Node) -> bool:
        function = self.hit.function.rpartition(".")[2]
        return not function or function in node.functions

    def _text(self, line: int) -> str:
        if not 0 < line <= self.lines.line_count:
            return ""
        return self.lines.line_text(line).strip()

    def _what(self) -> str:
        if self.hit.kind is HitKind.REMOVED_NAME:
            return self.hit.map or "a name that JAX no longer has"
        return "a tree map over several trees"
