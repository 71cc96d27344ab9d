"""Workarounds for Streamlit bugs that its public API cannot avoid: one file per bug.

Only these files may use private names of Streamlit. Each says what goes wrong and for whom, how to
reproduce it, what the upstream report would say, which versions were checked and when to delete the
file. Its test in `tests/ui/streamlit_fixes/` fails as soon as Streamlit no longer has the bug.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

import streamlit

TESTED_RELEASE = "1.67"
TESTED_VERSION = "1.67.0"
FIXES = (
    "interrupted_callbacks",
    "stale_fragment_reruns",
    "unacknowledged_values",
    "upload_limits",
)


@cache
def install() -> None:
    """Apply every fix. Calling it again changes nothing.

    Raises:
        SystemExit: with one sentence naming the version to install, if the installed Streamlit is
            of another release or has changed what a fix relies on.
    """
    installed = streamlit.__version__
    if installed.split(".")[:2] != TESTED_RELEASE.split("."):
        raise SystemExit(
            f"Heads Up works with Streamlit {TESTED_RELEASE}, and {installed} is installed: run "
            f'python -m pip install "streamlit=={TESTED_RELEASE}.*".'
        )
    try:
        fixes = [import_module(f"{__name__}.{name}") for name in FIXES]
        changes = [change for fix in fixes for change in fix.changes()]
    except (ImportError, AttributeError) as error:
        changes = [str(error)]
    if changes:
        raise SystemExit(
            f"Streamlit {installed} differs from {TESTED_VERSION} in what Heads Up relies on "
            f'({"; ".join(changes)}): run python -m pip install "streamlit=={TESTED_VERSION}".'
        )
    for fix in fixes:
        fix.apply()
