"""All heads on Try: its initial view, comparisons and notices."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, browser_views, component_data, messages, view
from transformer.figures.packing import unpack
from transformer.figures.state import DEFAULTS
from transformer.measures.registry import VECTORS


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_explorer_opens_the_view_of_the_address(visit: Visit, kind: str) -> None:
    app = visit("app.py?depth=heads", kind=kind, head="1", layer="0", view="heatmap", exact="1")
    header = component_data(app)[0]
    fields = {
        "kind": kind,
        "head": 1,
        "layer": 0,
        "view": "heatmap",
        "exact": 1,
    }
    assert header["start"] == {**DEFAULTS, **fields}
    side = header["sides"][0]
    assert set(side["depths"].values()) == {2}
    assert side["n_heads"] == 4


def test_a_second_sentence_is_compared(visit: Visit) -> None:
    app = visit("app.py?depth=heads", text="She hides books.", other="A pilot finds bread.")
    header = component_data(app)[0]
    assert [side["source"] for side in header["sides"]] == [
        "She hides books.",
        "A pilot finds bread.",
    ]
    assert header["second_kind"] == "other"
    next(element for element in app.button if element.label == "Stop comparing").click().run()
    assert len(component_data(app)[0]["sides"]) == 1
    assert view(app).other == ""


def test_another_model_reads_the_same_sentence(
    visit: Visit, tmp_path: Path, checkpoints: Path
) -> None:
    for name in ("first", "second"):
        shutil.copytree(checkpoints / "tiny", tmp_path / name)
    app = visit("app.py?depth=heads", tmp_path, other_model="second")
    first, second = component_data(app)[0]["sides"]
    assert first["source"] == second["source"]
    app = visit("app.py?depth=heads", tmp_path, other_model="third")
    assert messages(app) == [
        "The comparison failed: There is no checkpoint 'third'; available: first, second."
    ]
    assert len(component_data(app)[0]["sides"]) == 1


def test_a_forced_token_is_compared_with_the_original(visit: Visit) -> None:
    first = component_data(visit("app.py?depth=heads", view="decoding"))[0]["sides"][0]
    token, piece, _ = first["steps"][1]["candidates"][1]
    header = component_data(visit("app.py?depth=heads", view="decoding", force=f"1:{piece}"))[0]
    original, altered = header["sides"]
    assert header["second_kind"] == "force"
    assert original == first
    assert altered["predicted"][:2] == [first["predicted"][0], token]
    app = visit("app.py?depth=heads", view="decoding", force="999:5")
    assert "There is no step 999 to change" in messages(app)[0]
    assert len(component_data(app)[0]["sides"]) == 1


def test_vectors_are_sent_only_to_the_query_key_view(visit: Visit) -> None:
    def parts(app: AppTest) -> set[str]:
        return {name.split(".")[1] for name in unpack(browser_views(app)[0].proto.bytes)[1]}

    assert parts(visit("app.py?depth=heads")) == {"weights"}
    # Without a head in the address, the browser first reports the head that it opens.
    assert parts(visit("app.py?depth=heads", view="query-key", kind="decoder")) == {"weights"}
    vector_parts = parts(
        visit("app.py?depth=heads", view="query-key", kind="decoder", layer="1", head="2")
    )
    assert vector_parts == {"weights", *VECTORS}
