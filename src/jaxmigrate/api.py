"""All that a codemod may import: facts, sites, and helpers that build LibCST nodes."""

from jaxmigrate.analysis.calls import TreeCall
from jaxmigrate.analysis.facts import Facts, Helper, Use
from jaxmigrate.analysis.fallbacks import Fallback
from jaxmigrate.analysis.guards import Elsewhere, Guard, Refused, Unneeded
from jaxmigrate.analysis.handrolled import HandRolled, Mend
from jaxmigrate.analysis.jaxnames import JAX_TREE_SINCE, RETIRED, TREE_MAPS, Retired
from jaxmigrate.analysis.placeholders.changes import Change, Deed
from jaxmigrate.analysis.retired import (
    Bound,
    ComparedToNone,
    RetiredUse,
    TestedForNone,
    ToNone,
    Unimported,
)
from jaxmigrate.analysis.verdicts import Verdict
from jaxmigrate.codemod import Codemod, Example, NodeKind, Site
from jaxmigrate.model import Action, Confidence, Evidence, Span
from jaxmigrate.rewriting.guard import (
    call_helper,
    guard_call,
    guard_expression,
    helper_function,
    with_none_leaf,
)
from jaxmigrate.rewriting.imports import (
    drop_names,
    move_names,
    rename_names,
    with_imported_names,
)
from jaxmigrate.rewriting.nodes import comments_of
from jaxmigrate.rewriting.placeholders import add_import, ask_for, with_placeholder_type

__all__ = [
    "JAX_TREE_SINCE",
    "RETIRED",
    "TREE_MAPS",
    "Action",
    "Bound",
    "Change",
    "Codemod",
    "ComparedToNone",
    "Confidence",
    "Deed",
    "Elsewhere",
    "Evidence",
    "Example",
    "Facts",
    "Fallback",
    "Guard",
    "HandRolled",
    "Helper",
    "Mend",
    "NodeKind",
    "Refused",
    "Retired",
    "RetiredUse",
    "Site",
    "Span",
    "TestedForNone",
    "ToNone",
    "TreeCall",
    "Unimported",
    "Unneeded",
    "Use",
    "Verdict",
    "add_import",
    "ask_for",
    "call_helper",
    "comments_of",
    "drop_names",
    "guard_call",
    "guard_expression",
    "helper_function",
    "move_names",
    "rename_names",
    "with_imported_names",
    "with_none_leaf",
    "with_placeholder_type",
]
