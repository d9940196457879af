"""The report is schema 1 to the letter, the same bytes each time, and can always be encoded."""

from __future__ import annotations

import json

from jaxmigrate import __version__
from jaxmigrate.model import (
    Action,
    Confidence,
    Evidence,
    Failure,
    FailureKind,
    FileResult,
    RunResult,
    SiteReport,
)
from jaxmigrate.output.report import report, to_json


def site(codemod: str, action: Action, *, reason: str = "why") -> SiteReport:
    evidence = (Evidence("pkg/b.py", 3, "{'b': None}"),)
    return SiteReport(
        codemod, action, Confidence.LIKELY, reason, evidence, 10, 5, 12, 20, None, "f(x)", "g(x)"
    )


def run(*files: FileResult) -> RunResult:
    return RunResult("0.7.2", files)


RUN = run(
    FileResult(
        "pkg/a.py",
        b"a\n",
        b"b\n",
        sites=(
            site("tree-aliases", Action.EDIT),
            site("none-prefix", Action.EDIT),
            site("none-prefix", Action.EDIT),
            site("none-prefix", Action.HOLD),
        ),
    ),
    FileResult("pkg/b.py", b"(", b"(", failure=Failure(FailureKind.SOURCE, "cannot be parsed")),
    FileResult("pkg/c.py", b"", b"", sites=(site("sentinel-placeholders", Action.REPORT),)),
)


def test_keys_stand_in_the_order_of_the_schema() -> None:
    data = report(RUN)
    assert list(data) == [
        *("schema", "version", "target_jax", "files", "summary"),
        *("unmatched_evidence", "evidence_in_packages"),
    ]
    assert list(data["files"][0]) == ["path", "status", "error", "sites"]
    assert list(data["files"][0]["sites"][0]) == [
        "codemod",
        "action",
        "confidence",
        "reason",
        "evidence",
        "line",
        "column",
        "end_line",
        "end_column",
        "cell",
        "before",
        "after",
    ]
    assert list(data["files"][0]["sites"][0]["evidence"][0]) == ["path", "line", "note"]


def test_it_says_what_was_run() -> None:
    data = report(RUN)
    assert (data["schema"], data["version"], data["target_jax"]) == (1, __version__, "0.7.2")


def test_every_file_is_listed_with_its_status() -> None:
    assert [(file["path"], file["status"], file["error"]) for file in report(RUN)["files"]] == [
        ("pkg/a.py", "changed", None),
        ("pkg/b.py", "failed", "cannot be parsed"),
        ("pkg/c.py", "unchanged", None),
    ]


def test_the_summary_counts_by_codemod_in_order_of_name() -> None:
    summary = report(RUN)["summary"]
    assert summary == {
        "files": 3,
        "changed": 1,
        "failed": 1,
        "edited": {"none-prefix": 2, "tree-aliases": 1},
        "held": {"none-prefix": 1},
        "reported": {"sentinel-placeholders": 1},
    }
    assert list(summary["edited"]) == ["none-prefix", "tree-aliases"]


def test_edits_in_a_file_that_failed_were_not_made() -> None:
    failure = Failure(FailureKind.CODEMOD, "a comment would be lost")
    failed = FileResult("a.py", b"", b"", sites=(site("x", Action.EDIT),), failure=failure)
    summary = report(run(failed))["summary"]
    assert summary["edited"] == {}
    assert summary["failed"] == 1


def test_json_is_the_report() -> None:
    assert json.loads(to_json(RUN)) == report(RUN)
    assert to_json(RUN).endswith("}\n")


def test_text_stays_readable_and_lone_surrogates_are_escaped() -> None:
    odd = site("x", Action.EDIT, reason="優 \u2028 \ud800")
    text = to_json(run(FileResult("naïve-\udcff.py", b"a", b"b", sites=(odd,))))
    text.encode("utf-8")
    assert "naïve-\\udcff.py" in text
    assert "優" in text
    data = json.loads(text)
    assert data["files"][0]["path"] == "naïve-\udcff.py"
    assert data["files"][0]["sites"][0]["reason"] == "優 \u2028 \ud800"
