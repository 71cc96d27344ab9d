"""Every test here runs with all fixes applied, as the server does."""

from __future__ import annotations

import pytest

from transformer.ui.base.streamlit_fixes import install


@pytest.fixture(scope="session", autouse=True)
def installed() -> None:
    install()
