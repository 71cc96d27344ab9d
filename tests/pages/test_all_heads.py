"""All heads on Try: its initial view, comparisons, trace files and notices."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, browser_views, component_data, messages, view
from transformer import Trace, Translator
from transformer.figures.packing import unpack
from transformer.figures.state import DEFAULTS
from transformer.measures.registry import VECTORS
from transformer.ui.pages.home import trace_files
from transformer.ui.services import shared
from transformer.ui.services.trace_cache import CachedTrace


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


def trace_file(checkpoints: Path, path: Path, text: str) -> bytes:
    """Return the bytes that the export button makes."""
    Translator.load(checkpoints / "tiny", device="cpu").trace(text).save_npz(path / "t.npz")
    return (path / "t.npz").read_bytes()


def test_an_opened_trace_survives_a_reload_and_can_be_closed(
    visit: Visit, checkpoints: Path, tmp_path: Path
) -> None:
    app = visit("app.py?depth=heads", text="She hides books.")
    content = trace_file(checkpoints, tmp_path, "The dog sleeps.")
    app.file_uploader(key="trace-file").upload("../<b>mine.npz", content).run()
    assert not app.exception
    header = component_data(app)[0]
    assert [side["source"] for side in header["sides"]] == ["The dog sleeps."]
    assert header["sides"][0]["model"] == "<b>mine.npz"
    assert header["sides"][0]["steps"]
    assert any("contains no model" in element.value for element in app.caption)
    trace_id = view(app).trace
    assert app.query_params["trace"] == trace_id
    # A reload is a new session of the same browser; another browser has nothing.
    reloaded = AppTest.from_file(app._script_path, default_timeout=300)
    reloaded.session_state["visitor"] = app.session_state["visitor"]
    reloaded.query_params["depth"], reloaded.query_params["trace"] = "heads", trace_id
    assert component_data(reloaded.run())[0]["sides"][0]["source"] == "The dog sleeps."
    other_visitor = visit("app.py?depth=heads", trace=trace_id)
    assert any("Links do not contain traces" in element for element in messages(other_visitor))
    assert component_data(other_visitor) == []
    next(
        element for element in app.button if element.label == "Back to the checkpoint"
    ).click().run()
    assert view(app).trace == ""
    assert component_data(app)[0]["sides"][0]["source"] == "She hides books."


def test_two_traces_are_compared(visit: Visit, checkpoints: Path, tmp_path: Path) -> None:
    app = visit("app.py?depth=heads")
    texts = ["The dog sleeps.", "A pilot finds bread."]
    for key, text in zip(("trace-file", "other_trace-file"), texts, strict=True):
        content = trace_file(checkpoints, tmp_path, text)
        app.file_uploader(key=key).upload("t.npz", content).run()
    header = component_data(app)[0]
    assert [side["source"] for side in header["sides"]] == texts
    assert header["second_kind"] == "other"


def test_a_trace_may_have_more_layers_than_the_checkpoint(
    visit: Visit,
) -> None:
    weights = list(np.random.default_rng(5).dirichlet(np.ones(3), size=(9, 12, 3)))
    trace = Trace.from_weights(["a", "b", "c"], encoder=weights)
    app = visit("app.py?depth=heads")
    shared.shared_service(trace_files.OpenedTraces).put(
        (app.session_state["visitor"], "0" * 16), CachedTrace(trace, "x")
    )
    app.query_params.update({"trace": "0" * 16, "layer": "8", "head": "11", "kind": "encoder"})
    app.run()
    start = component_data(app)[0]["start"]
    assert (start["layer"], start["head"], messages(app)) == (8, 11, [])
    app.query_params["layer"] = "9"
    app.run()
    assert any("The address has layer=9" in message for message in messages(app))


def test_an_invalid_trace_file_is_rejected_and_the_page_stays(visit: Visit) -> None:
    app = visit("app.py?depth=heads")
    app.file_uploader(key="trace-file").upload("x.npz", b"PK no").run()
    assert any("This is not a complete trace" in message for message in messages(app))
    assert view(app).trace == ""
    assert len(component_data(app)) == 1
