"""Glossary: the terms of all pages, each in a plain sentence, and where to see it."""

from __future__ import annotations

from transformer.ui import frame
from transformer.ui.kit import terms

with frame.page_without_model("pages/glossary.py"):
    frame.lead("Every term in a sentence. Where one stands on a page, its tooltip says the same.")
    terms.everything()
