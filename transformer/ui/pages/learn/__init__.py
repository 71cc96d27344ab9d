"""The page Learn: the list of lessons."""

from __future__ import annotations

from transformer.ui.base.registry import Page

PAGE = Page(
    "pages/learn.py",
    "Learn",
    link_text="**Learn**: a way through the paper, step by step →",
    summary="{lessons} prepared views, each with a question that it answers. New here? Begin with "
    "these.",
)
