"""A pytest plugin that writes each failure at once, so that a run that is cut off keeps them.

Use it with `-p benchmarks.failed_tests` and the file in the environment variable FAILED_TESTS.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Append the name of a failed test and its traceback to the file."""
    if report.failed:
        with Path(os.environ["FAILED_TESTS"]).open("a", encoding="utf-8") as file:
            file.write(f"FAILED {report.nodeid} ({report.when})\n{report.longreprtext}\n\n")
