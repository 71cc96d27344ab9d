"""Whole words by default, a toggle for tokens and code; layers and heads are counted from 1."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, component_data, view
from transformer.figures.glossary import TERMS
from transformer.ui.base.registry import PAGES

TEXT = "The baker paints a boat."
TOKEN_SIGNS = re.compile(r"▁|</?s>")
WORD_PAGES = [file for file in PAGES if file not in ("app.py", "pages/train.py", "pages/learn.py")]


def texts(app: AppTest) -> list[str]:
    """Return the texts of Markdown, captions and widgets, with their options."""
    values = [str(element.value) for kind in ("markdown", "caption") for element in app.get(kind)]
    for box in [*app.selectbox, *app.multiselect]:
        values += [box.label, *box.options]
    return [*values, *(button.label for button in app.button)]


def click_toggle(app: AppTest) -> AppTest:
    """Click the toggle for tokens and code."""
    toggle = next(element for element in app.toggle if element.label == "Show tokens")
    return toggle.set_value(not toggle.value).run()


@pytest.mark.parametrize("page", WORD_PAGES)
def test_by_default_no_page_shows_tokens_or_code(visit: Visit, page: str) -> None:
    app = visit(page, text=TEXT)
    assert not app.exception
    assert not [text for text in texts(app) if TOKEN_SIGNS.search(text)]
    assert not [element.value for element in app.code if "import" in element.value]


def test_the_toggle_is_kept_from_page_to_page_and_in_the_address(visit: Visit) -> None:
    app = click_toggle(visit("pages/inside.py", text=TEXT))
    assert view(app).exact == 1
    assert app.query_params["exact"] in ("1", ["1"])
    assert "exact" not in click_toggle(app).query_params


def test_the_tables_and_formulas_of_a_box_are_counted_from_1(visit: Visit) -> None:
    app = visit(
        "pages/inside.py", text=TEXT, box="encoder.self_attn.query", head="1", row="2", column="3"
    )
    formulas = " ".join(box.value for box in app.latex)
    assert "q_{3,4}" in formulas
    assert "$W^Q_{2}$" in " ".join(element.value for element in app.markdown)
    assert {table["first"] for table in component_data(app) if "columns_count" in table} == {1}
    app = click_toggle(app)
    assert "q_{3,4}" in " ".join(box.value for box in app.latex)
    assert "$W^Q_{2}$" in " ".join(element.value for element in app.markdown)
    assert {table["first"] for table in component_data(app) if "columns_count" in table} == {1}


def terms_shown(app: AppTest) -> list[str]:
    labels = [element.proto.label for element in app.get("page_link")]
    return [label for label in labels if label.startswith("**")]


def test_the_glossary_has_all_terms_and_a_search(visit: Visit) -> None:
    app = visit("pages/glossary.py")
    text = " ".join(element.value for element in app.markdown).replace("\\", "")
    assert all(element.definition in text for element in TERMS)
    assert len(terms_shown(app)) == len(TERMS)
    app.text_input[0].set_value("temperature").run()
    assert terms_shown(app) == ["**Temperature**"]
    app.text_input[0].set_value("xyzzy").run()
    assert "No term matches" in app.info[0].value
