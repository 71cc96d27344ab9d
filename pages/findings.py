"""Findings: what papers found about heads, repeated on the chosen model."""

from __future__ import annotations

from transformer.ui import frame
from transformer.ui.findings import overview

with frame.page("pages/findings.py") as model:
    overview.show(model)
