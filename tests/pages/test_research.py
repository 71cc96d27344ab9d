"""The index of Research, and what all experiments have in common."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, browser_views, messages, run_program, visible_text
from transformer.ui.pages.research import EXPERIMENTS
from transformer.ui.services import downloads

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


PROGRAMS = {
    "importance": {},
    "attribution": {"step": "1", "method": "sample", "seed": "3"},
    "alignment": {
        "layer": "1", "head": "2", "kind": "cross", "score_kind": "norms", "target_row": "input"
    },
    "roles": {},
}  # fmt: skip
"""Fields with which the program of an experiment is run; that of Findings takes too long here."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_and_the_file_of_an_experiment_have_the_numbers_of_its_table(
    visit: Visit, name: str
) -> None:
    """With few sentences the preview is the whole measurement."""
    app = visit(PAGE, experiment=name, text=TEXT, sentences="4", **PROGRAMS[name])
    assert not messages(app)
    table = app.dataframe[0].value.fillna(np.nan).infer_objects()
    [program] = [block.value for block in app.code if block.language == "python"]
    printed = run_program(program)["table"]
    pd.testing.assert_frame_equal(
        printed.reset_index(drop=True), table, check_dtype=False, rtol=1e-3, atol=1e-5
    )
    [offer] = app.session_state["download_offers"].values()
    content = downloads.contents(offer.token)
    assert isinstance(content, bytes)
    assert content.startswith(b"\xef\xbb\xbf"), "Excel would read the file as another encoding"
    saved = pd.read_csv(io.BytesIO(content), encoding="utf-8-sig")
    pd.testing.assert_frame_equal(saved, table, check_dtype=False)
