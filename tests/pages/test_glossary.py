"""The glossary's page, and its tooltips on others."""

from __future__ import annotations

import pytest

from tests.pages.conftest import Visit, shown
from transformer.figures.glossary import TERMS, tip
from transformer.ui.address import View


def test_all_terms_stand_there_and_are_looked_for(visit: Visit) -> None:
    app = visit("pages/glossary.py")
    text = " ".join(one.value for one in app.markdown).replace("\\", "")
    assert all(one.what in text for one in TERMS)
    links = [one.proto for one in app.get("page_link") if one.proto.label == "see it"]
    assert len(links) == len(TERMS)
    app.text_input[0].set_value("temperature").run()
    assert len([one for one in app.get("page_link") if one.proto.label == "see it"]) == 1
    app.text_input[0].set_value("xyzzy").run()
    assert "no such term" in app.info[0].value


def test_a_widget_named_by_a_term_has_its_tooltip(visit: Visit) -> None:
    app = visit("pages/translate.py", method="sample")
    sliders = {slider.label: slider.help for slider in app.slider}
    for name in ("temperature", "top_k", "top_p"):
        label = View.fields()[name].label
        assert sliders[label] == tip(label)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_explorer_has_them_too(visit: Visit, kind: str) -> None:
    terms = shown(visit("pages/attention.py"))[0]["terms"]
    names = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Encoder–decoder"}
    assert terms[kind] == tip(names[kind])
