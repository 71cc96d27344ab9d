"""Findings: what papers found about heads, repeated on the chosen model."""

from __future__ import annotations

from transformer.ui import findings, frame

with frame.page("pages/findings.py") as model:
    findings.show(model)
