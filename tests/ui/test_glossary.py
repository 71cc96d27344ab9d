"""The glossary: one definition per term, in plain text, with a link to a page that shows it."""

from __future__ import annotations

from collections import Counter

from transformer.figures.glossary import TERMS
from transformer.ui.base.registry import PAGES, parse_params, path


def test_no_term_has_two_explanations() -> None:
    names = Counter(name.lower() for entry in TERMS for name in (entry.name, *entry.also))
    assert not [name for name, count in names.items() if count > 1]
    assert len({entry.definition for entry in TERMS}) == len(TERMS)


def test_each_term_links_to_a_page_that_shows_it() -> None:
    for term in TERMS:
        page, _, query = term.see.partition("?")
        file = next(file for file in PAGES if path(file) == page)
        params = dict(part.split("=") for part in query.split("&") if part)
        assert not parse_params(file, params)[1], term.name


def test_definitions_are_short_plain_text_and_formulas_are_balanced() -> None:
    for entry in TERMS:
        assert entry.definition.endswith("."), entry.name
        assert len(entry.definition) < 240, entry.name  # a tooltip
        assert not set("`$*") & set(entry.definition), entry.name  # tooltips show them literally
        assert entry.formula.count("{") == entry.formula.count("}"), entry.name
        assert "$" not in entry.formula, entry.name
