"""Findings: what papers found about heads, repeated on the chosen model."""

from __future__ import annotations

from transformer.ui import page
from transformer.ui.findings import overview

with page.page("pages/findings.py") as model:
    overview.show(model)
