"""The page Glossary: every term that the other pages explain in a tooltip."""

from __future__ import annotations

from transformer.ui.base.registry import Page

PAGE = Page("pages/glossary.py", "Glossary", has_tokens=False)
