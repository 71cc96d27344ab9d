"""The browser's model gives the views the same trace as Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.figures.deno import SENTENCES, run_deno
from tests.figures.levels import weights_of
from transformer.app_folders import APP_FOLDER
from transformer.figures import PackedTrace
from transformer.figures.packing import Part
from transformer.inference.alternatives import word_alternatives
from transformer.inference.translator import Translator

TEXTS = (
    *SENTENCES[:6],
    "Well, the cat-like dog's 2 cats... sleep; the cat sleeps!",
    "I like 漢字 and 🎉 parties.",
)


@pytest.mark.parametrize(("pair", "texts"), [("en-fr", TEXTS), ("en-de", TEXTS[-2:])])
def test_the_browsers_model_packs_the_same_trace(
    pair: str, texts: tuple[str, ...], tmp_path: Path
) -> None:
    folder = APP_FOLDER / "checkpoints" / pair
    translator = Translator.load(folder, "cpu")
    (tmp_path / "cases.json").write_text(json.dumps({"texts": texts}))
    js_results = run_deno("packed", str(tmp_path), str(folder))
    for text, actual in zip(texts, js_results, strict=True):
        trace = translator.trace(text)
        side = PackedTrace(trace)
        _check_close(
            {**actual["description"], "id": side.description["id"]}, side.description, text
        )
        expected = {part.name: part for part in side.parts}
        assert {part["name"] for part in actual["parts"]} >= expected.keys()
        vectors = [*side.vectors("encoder", 1), *side.vectors("cross", 0)]
        expected |= {part.name: part for part in vectors}
        for js_part in actual["parts"]:
            part = expected[js_part["name"]]
            array = np.array(js_part["values"], dtype=part.array.dtype).reshape(js_part["shape"])
            js_packed = Part(part.name, array, js_part["top"])
            _check_parts_close(js_packed, part, f"{text} {part.name}")
        assert {part.name for part in vectors} <= set(actual["vectorNames"])
        expected_words = word_alternatives(translator, trace.translation)
        js_words = actual["alternatives"]
        assert [[(r["text"], r["step"], r["ids"]) for r in of_word] for of_word in js_words] == [
            [(r.text, r.step, [*r.ids]) for r in of_word] for of_word in expected_words
        ]


def _check_close(actual: Any, expected: Any, path: str) -> None:
    """Assert equality, of numbers up to float32 rounding."""
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), path
        for name in expected:
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
