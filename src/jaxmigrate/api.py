"""All that a codemod may import: facts, sites, and helpers that build LibCST nodes."""

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.facts import Facts, Use
from jaxmigrate.analysis.fallbacks import Fallback
from jaxmigrate.analysis.guards import Elsewhere, Guard, Refused, Unneeded
from jaxmigrate.analysis.jaxnames import JAX_TREE_SINCE, RETIRED, TREE_MAPS, Retired
from jaxmigrate.analysis.verdicts import Verdict
from jaxmigrate.codemod import Codemod, Example, NodeKind, Site
from jaxmigrate.model import Action, Confidence, Evidence, Span
from jaxmigrate.rewriting.guard import guard_call
from jaxmigrate.rewriting.imports import (
    drop_names,
    move_names,
    rename_names,
    with_imported_names,
)
from jaxmigrate.rewriting.nodes import comments_of

__all__ = [
    "JAX_TREE_SINCE",
    "RETIRED",
    "TREE_MAPS",
    "Action",
    "Codemod",
    "Confidence",
    "Evidence",
    "Elsewhere",
    "Example",
    "Facts",
    "Fallback",
    "Guard",
    "NodeKind",
    "Refused",
    "Retired",
    "Site",
    "Span",
    "TreeCall",
    "Unneeded",
    "Use",
    "Verdict",
    "comments_of",
    "drop_names",
    "guard_call",
    "move_names",
    "rename_names",
    "with_imported_names",
]
