"""The explorer's data for the app, for an HTML file and for a notebook."""

from __future__ import annotations

import base64
import gzip
import html
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.figures.fake_traces import HOSTILE, FakeTrace, fake_trace
from tests.figures.levels import rounding_error, weights_of
from transformer.figures import ExplorerView, PackedTrace, explorer_data, explorer_page, prefixed
from transformer.figures.packed_trace import query_key_vectors
from transformer.figures.packing import FINE, unpack
from transformer.figures.state import DEFAULTS

TGT = ["<s>", "▁a", "▁b"]
MARKUP = "</script><script>alert(1)</script><b>&\"'<!--"


@pytest.fixture
def trace() -> FakeTrace:
    return fake_trace(HOSTILE, TGT, vectors=True)


def test_explorer_data_holds_all_weights_and_the_given_vectors(trace: FakeTrace) -> None:
    side = PackedTrace(trace)
    vectors = prefixed(query_key_vectors(trace, "cross", 1, 2), 0)
    head, unpacked = unpack(explorer_data([side], {"layer": 1, "head": 2}, vectors, visit=7))
    weights = {f"0.weights.{k}.{n}" for k in ("encoder", "decoder", "cross") for n in range(3)}
    assert set(unpacked) == weights | {part.name for part in vectors}
    assert head["start"] == {**DEFAULTS, "layer": 1, "head": 2}
    assert (head["defaults"], head["visit"], head["aligner"]) == (DEFAULTS, 7, None)
    assert head["sides"][0]["src"] == HOSTILE
    for kind, layer in itertools.product(("encoder", "decoder", "cross"), range(3)):
        part = unpacked[f"0.weights.{kind}.{layer}"]
        error = np.abs(weights_of(part) - trace.weights(kind, layer))
        assert (part.top, error.max() <= rounding_error(1.0, FINE)) == (FINE, True)


def blocks(page: str) -> dict[str, bytes]:
    """Return the arrays in a page's data elements, by name."""
    arrays = {}
    for name, letters in re.findall(r"<script type=\"text/plain\" (.*?)>([^<]*)</script>", page):
        arrays[name.split("=", 1)[1].strip('"')] = gzip.decompress(base64.b64decode(letters))
    return arrays


def test_a_file_holds_every_layer_of_every_side(trace: FakeTrace) -> None:
    sides = [
        PackedTrace(trace, "A"),
        PackedTrace(fake_trace(["x"], ["<s>", "y"], kinds=["cross"]), "B"),
    ]
    arrays = blocks(explorer_page(sides, {"kind": "cross", "layer": 2, "head": 1}))
    header, first_parts = unpack(arrays.pop("hu-first"))
    assert header["start"]["layer"] == 2
    assert [meta["name"] for meta in header["later"]] == list(arrays)
    assert len([name for name in first_parts if name.startswith("0.weights.")]) == 9
    assert len([name for name in first_parts if name.startswith("1.weights.")]) == 3
    assert {name for name in arrays if "query" in name} == {
        f"0.query.cross.2.{h}" for h in range(4)
    }
    query = np.frombuffer(arrays["0.query.cross.2.3"], "<f4").reshape(3, 8)
    np.testing.assert_array_equal(query, trace["decoder.layers.2.cross_attn.hook_query"][3])


def test_files_are_reproducible(trace: FakeTrace) -> None:
    assert explorer_page([PackedTrace(trace)], {}) == explorer_page([PackedTrace(trace)], {})


def test_tokens_sentences_and_titles_are_escaped() -> None:
    trace = fake_trace([MARKUP, "\ud800"], ["<s>", MARKUP], source=MARKUP)
    harmless = explorer_page(
        [PackedTrace(fake_trace(["x", "y"], ["<s>", "z"], source="s"))], {}, "t"
    )
    page = explorer_page([PackedTrace(trace)], {}, MARKUP)
    assert "alert(1)" not in page.replace(html.escape(MARKUP), "")
    assert len(re.findall("</?script", page)) == len(re.findall("</?script", harmless))
    assert "<b>" not in page
    head, _ = unpack(blocks(page)["hu-first"])
    assert head["sides"][0]["src"] == [MARKUP, "\ud800"]


def test_a_notebook_shows_a_sandboxed_frame() -> None:
    view = ExplorerView([PackedTrace(fake_trace([MARKUP], ["<s>"], source=MARKUP + "\ud800"))], {})
    frame = view._repr_html_()
    assert re.findall("<[^>]*", frame)[0].startswith("<iframe ")
    assert frame.count("<") == 2  # the frame's beginning and its end
    assert re.findall(r'sandbox="([^"]*)"', frame) == ["allow-scripts allow-downloads"]
    srcdoc = re.search(r'srcdoc="([^"]*)"', frame)
    assert srcdoc
    assert html.unescape(srcdoc[1]) == view.html
    frame.encode()


def test_files_are_saved_atomically(
    trace: FakeTrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new" / "attention.html"
    view = ExplorerView([PackedTrace(trace)], {"view": "heatmap"})
    view.save(path)
    assert path.read_text(encoding="utf-8") == view.html
    before = path.read_bytes()
    monkeypatch.setattr(Path, "write_text", lambda *args, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ExplorerView([PackedTrace(trace)], {}).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["attention.html"]


INVALID_STATES: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown name": ({"layr": 1}, "no 'layr'; it has view, kind, .* did you mean 'layer'"),
    "an unknown view": ({"view": "heat"}, "view must be one of heads, heatmap, model.*'heat'"),
    "an unknown kind": ({"kind": "corss"}, "one of encoder, decoder, cross, not 'corss'"),
    "a kind that was not recorded": (
        {"kind": "encoder"},
        "no weights of kind 'encoder'; it has cross",
    ),
    "a layer too many": ({"layer": 3}, "no layer 3; the layers are 0 to 2"),
    "a head too many": ({"layer": 0, "head": 4}, "no head 4; the heads are 0 to 3"),
    "a head among several": ({"heads": "1.1,1.9"}, "no head 9; the heads are 0 to 3"),
    "no number": ({"zoom": "near"}, "zoom must be a whole number from 0 to 6, not 'near'"),
}


@pytest.mark.parametrize("case", INVALID_STATES)
def test_missing_kinds_layers_and_heads_are_refused(case: str) -> None:
    state, message = INVALID_STATES[case]
    with pytest.raises(ValueError, match=message):
        ExplorerView([PackedTrace(fake_trace(HOSTILE, TGT, kinds=["cross"]))], state)
