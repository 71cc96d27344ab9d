"""A pytest plugin that writes each failure at once, so that a run that is cut off keeps them.

Use it with `-p benchmarks.failed_tests` and the file in the environment variable FAILED_TESTS.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# pytest-xdist sends the reports of its workers to the process that writes them.
IS_XDIST_WORKER = "PYTEST_XDIST_WORKER" in os.environ


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Append the name of a failed test and its traceback to the file."""
    _write_failure(report, report.when or "")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Append the name of a module whose tests could not be collected, and its traceback."""
    _write_failure(report, "collection")


def _write_failure(report: pytest.TestReport | pytest.CollectReport, phase: str) -> None:
    if report.failed and not IS_XDIST_WORKER:
        with Path(os.environ["FAILED_TESTS"]).open("a", encoding="utf-8") as file:
            file.write(f"FAILED {report.nodeid} ({phase})\n{report.longreprtext}\n\n")
