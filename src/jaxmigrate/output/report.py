"""The machine-readable report, schema 1. Scripts rely on it: keys and their order do not change."""

from __future__ import annotations

import json
import re
from typing import Any

from jaxmigrate import __version__
from jaxmigrate.model import Evidence, FileResult, RunResult, SiteReport
from jaxmigrate.output.tally import tally

SCHEMA = 1

_SURROGATE = re.compile("[\ud800-\udfff]")


def report(run: RunResult) -> dict[str, Any]:
    """`run` as plain data: every file, with its sites, a summary, and evidence about other places."""
    counts = tally(run)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "target_jax": run.target_jax,
        "files": [_file(file) for file in run.files],
        "summary": {
            "files": counts.files,
            "changed": counts.changed,
            "failed": counts.failed,
            "edited": dict(counts.edited),
            "held": dict(counts.held),
            "reported": dict(counts.reported),
        },
        "unmatched_evidence": [_evidence(piece) for piece in run.leftover.unmatched],
        "evidence_in_packages": [
            {"package": found.package, **_evidence(found.evidence)}
            for found in run.leftover.in_packages
        ],
    }


def to_json(run: RunResult) -> str:
    r"""The report as JSON text with a final newline.

    A lone surrogate (a byte of a file name that is not UTF-8) stands as a `\udc..` escape, so the
    text can always be encoded.
    """
    text = json.dumps(report(run), indent=2, ensure_ascii=False)
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _file(file: FileResult) -> dict[str, Any]:
    return {
        "path": file.path,
        "status": file.status,
        "error": None if file.failure is None else file.failure.message,
        "sites": [_site(site) for site in file.sites],
    }


def _site(site: SiteReport) -> dict[str, Any]:
    return {
        "codemod": site.codemod,
        "action": site.action.value,
        "confidence": site.confidence.label,
        "reason": site.reason,
        "evidence": [_evidence(evidence) for evidence in site.evidence],
        "line": site.line,
        "column": site.column,
        "end_line": site.end_line,
        "end_column": site.end_column,
        "cell": site.cell,
        "before": site.before,
        "after": site.after,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {"path": evidence.path, "line": evidence.line, "note": evidence.note}
