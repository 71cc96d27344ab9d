"""Glossary: the terms of all pages, each defined in a sentence, with a link to a page."""

from __future__ import annotations

from transformer.ui.pages.glossary import PAGE
from transformer.ui.widgets import frame, page, terms

with page.page_without_model(PAGE.file):
    frame.lead_text("Every term in one or two sentences; its name opens a page that shows it.")
    terms.term_list()
