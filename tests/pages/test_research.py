"""The index of Research, and what all experiments have in common."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, browser_views, messages, visible_text
from transformer.ui.pages.research import EXPERIMENTS

PAGE, TEXT = "pages/research.py", "She hides a boat."


def links(app: AppTest) -> dict[str, str]:
    """Return the experiment in the address of each link to the page, by its label."""
    protos = [element.proto for element in app.get("page_link")]
    return {proto.label: proto.query_string for proto in protos if proto.page == "research"}


def test_the_index_has_a_card_for_each_experiment_and_no_settings(visit: Visit) -> None:
    app = visit(PAGE, text=TEXT)
    assert not messages(app)
    names = [view.proto.component_name for view in browser_views(app)]
    assert names == [f"heads_up.card-{name}" for name in EXPERIMENTS]
    addresses = links(app)
    for name, experiment in EXPERIMENTS.items():
        assert f"experiment={name}" in addresses[f"**{experiment.question}** →"]
        assert experiment.title in visible_text(app)
    assert not app.text_input


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_begins_with_the_way_back_and_its_question(visit: Visit, name: str) -> None:
    app = visit(PAGE, experiment=name, text=TEXT, sentences="4")
    assert app.header[0].value == EXPERIMENTS[name].title
    assert [text.value for text in app.main.markdown][:2] == ["›", EXPERIMENTS[name].question]
    assert "experiment=" not in links(app)["Research"]
