"""Findings: what papers found about heads, repeated on the chosen model."""

from __future__ import annotations

from transformer.ui.pages.findings import overview
from transformer.ui.shell import page

with page.page("pages/findings.py") as model:
    overview.show(model)
