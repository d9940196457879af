"""What a codemod is: a small module that finds sites and rewrites one node at a time."""

from __future__ import annotations

import abc
import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from jaxmigrate.analysis.facts import Facts
from jaxmigrate.model import Action, Confidence, Evidence, Span

if TYPE_CHECKING:
    import libcst as cst

    Replacement: TypeAlias = (
        cst.BaseExpression | Sequence[cst.BaseSmallStatement] | Sequence[cst.BaseStatement]
    )


@dataclass(frozen=True, slots=True)
class Example:
    """A piece of source and what becomes of it; `after` None: it is left alone.

    `target_jax` is the lowest JAX the result must run on, None for the newest; `confidence` how sure
    the run asks to be; `sentinel` what it names placeholders by.
    """

    before: str
    after: str | None
    target_jax: str | None = None
    confidence: Confidence = Confidence.LIKELY
    sentinel: str | None = None


class NodeKind(enum.Enum):
    """What kind of node a site is: an expression, a simple statement, a compound one, or none yet.

    At an `INSERTION` nothing stands; its span is empty and begins a line, where statements are added.
    """

    EXPRESSION = enum.auto()
    STATEMENT = enum.auto()
    COMPOUND = enum.auto()
    INSERTION = enum.auto()


@dataclass(frozen=True, slots=True)
class Site:
    """A place that a codemod found.

    `span` covers exactly one node, as `kind` says. `plan` is what `find` tells
    `rewrite`; nobody else looks at it. `needless` marks a site that is held because it needs nothing.
    """

    span: Span
    action: Action
    confidence: Confidence
    reason: str
    evidence: tuple[Evidence, ...] = ()
    plan: Any = None
    kind: NodeKind = NodeKind.EXPRESSION
    needless: bool = False


class Codemod(abc.ABC):
    """One kind of migration.

    The module's docstring is what `jaxmigrate explain` prints; `examples` are run as tests. `needed_from`
    is the first JAX on which the old code fails or warns. `mentions` are words without one of which a
    file cannot hold a site. `after` names codemods that must have run before. `reads_evidence` says that
    `find` asks what trees may hold, which takes a look at the whole project; `names_placeholders` that
    it makes the changes which name them.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    needed_from: ClassVar[str]
    mentions: ClassVar[tuple[str, ...]]
    examples: ClassVar[tuple[Example, ...]]
    after: ClassVar[tuple[str, ...]] = ()
    reads_evidence: ClassVar[bool] = False
    names_placeholders: ClassVar[bool] = False

    @abc.abstractmethod
    def find(self, module: Facts) -> Iterator[Site]:
        """The sites of a module, in any order. Pure: it reads facts and nothing else."""

    @abc.abstractmethod
    def rewrite(self, site: Site, node: cst.CSTNode) -> Replacement:
        """The new node for a site whose action is `edit`.

        `node` is the LibCST node at the site's span, nested sites inside it rewritten already; an empty
        module at an insertion. A simple statement gives simple statements, a compound one or an
        insertion whole statements: one, several or none.
        """
