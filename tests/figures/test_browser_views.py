"""The browser's model gives the views the same data as Python."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.figures.deno import SENTENCES, run_deno
from transformer.analysis.alignment.aligner_head import AlignerHead
from transformer.app_folders import APP_FOLDER
from transformer.figures import ExplorerData, explorer_data
from transformer.figures.explorer_sides import fixed_header, query_key_vectors
from transformer.figures.glance import glance_data
from transformer.figures.packing import Part, unpack, weights_of
from transformer.figures.state import state_of
from transformer.inference.alternatives import word_alternatives
from transformer.inference.translator import Translator
from transformer.ui.pages.home.notable_heads import head_notices, initial_explorer_state
from transformer.ui.services.trace_cache import CachedTrace

ALIGNER = AlignerHead(1, 6, "weights", "input", "input", ())
TEXTS = (
    *SENTENCES[:6],
    "Well, the cat-like dog's 2 cats... sleep; the cat sleeps!",
    "I like 漢字 and 🎉 parties.",
)


@pytest.mark.parametrize(("pair", "texts"), [("en-fr", TEXTS), ("en-de", TEXTS[-2:])])
def test_views_get_the_same_data_as_in_python(
    pair: str, texts: tuple[str, ...], tmp_path: Path
) -> None:
    folder = APP_FOLDER / "checkpoints" / pair
    translator = Translator.load(folder, "cpu")
    cached_traces = [CachedTrace(translator.trace(text), "m") for text in texts]
    cases = {"texts": texts, "fixed": fixed_header(), "aligner": vars(ALIGNER)}
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    js_results = run_deno("views", str(tmp_path), str(folder))
    for index, (cached_trace, actual) in enumerate(zip(cached_traces, js_results, strict=True)):
        second = cached_traces[(index + 1) % len(cached_traces)]
        sides = [ExplorerData(side.trace, "", "m") for side in (cached_trace, second)]
        expected = explorer_data(
            sides,
            initial_explorer_state(cached_trace, state_of({})),
            [],
            visit=3,
            second_kind="other",
            notices=head_notices(cached_trace),
        )
        expected_header, parts = unpack(expected)
        head, packed = unpack(base64.b64decode(actual["explorer"]))
        later = {meta["name"] for meta in head.pop("later")}
        assert "0.weights.encoder.5" in later
        assert "1.query.cross.5.7" in later
        del expected_header["later"]
        for side in (*head["sides"], *expected_header["sides"]):
            del side["id"]
        _check_close(head, expected_header, f"{texts[index]}")
        measured = unpack(base64.b64decode(actual["measured"]))[0]
        first_state = initial_explorer_state(cached_trace, state_of({}), ALIGNER)
        assert measured["start"] == first_state
        notices = [notice.data() for notice in head_notices(cached_trace, ALIGNER)]
        assert measured["notices"] == json.loads(json.dumps(notices))
        assert packed.keys() == parts.keys()
        for name, part in parts.items():
            _check_parts_close(packed[name], part, f"{texts[index]} {name}")
        layers = [sides[0].layer("cross", 2), sides[1].layer("decoder", 0)]
        vectors = {
            part.name: part
            for part in (*query_key_vectors(cached_trace.trace, "encoder", 1, 3),
                         *query_key_vectors(second.trace, "cross", 0, 1))
        }  # fmt: skip
        expected_parts = [*layers, vectors["scores.encoder.1.3"], vectors["value.cross.0.1"]]
        for side, part in zip(actual["later"], expected_parts, strict=True):
            array = np.array(side["values"], dtype=part.array.dtype).reshape(side["shape"])
            _check_parts_close(Part(side["name"], array, side["top"]), part, part.name)
        alternatives = word_alternatives(translator, cached_trace.trace.translation)
        _check_close(actual["glance"], glance_data(cached_trace.trace, alternatives, 1), "glance")
        _check_close(actual["aligned"], glance_data(cached_trace.trace, aligner=ALIGNER), "glance")


def _check_close(actual: Any, expected: Any, path: str) -> None:
    """Assert equality, of numbers up to float32 rounding."""
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), path
        for name in expected:
            if name == "head_weights":  # rounded to whole numbers
                assert actual[name] == pytest.approx(expected[name], abs=2), path
                continue
            _check_close(actual[name], expected[name], f"{path}.{name}")
    elif isinstance(expected, list | tuple):
        assert len(actual) == len(expected), path
        for index, (a, b) in enumerate(zip(actual, expected, strict=True)):
            _check_close(a, b, f"{path}[{index}]")
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, abs=2e-4), path
    else:
        assert actual == expected, path


def _check_parts_close(actual: Part, expected: Part, path: str) -> None:
    assert actual.array.shape == expected.array.shape, path
    assert (actual.top, actual.array.dtype) == (expected.top, expected.array.dtype), path
    if expected.top:
        a, b = weights_of(actual), weights_of(expected)
        assert np.abs(a - b).max() <= (1e-4 if expected.top > 255 else 0.01), path
    elif expected.array.dtype.kind == "f":
        assert np.abs(actual.array - expected.array).max() < 1e-3, path
    else:
        assert (actual.array == expected.array).all(), path
