"""What the end-to-end tests share: the marker of those that need packages, and the way to `benchmarks`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "packages: runs on real packages, which are fetched once (leave out: -m 'not packages')",
    )
