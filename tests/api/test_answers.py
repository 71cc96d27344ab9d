"""Answers to the client: vectors, files and methods, compared with the trace of `Translator`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transformer.api import answers, models
from transformer.api.models import Model
from transformer.api.requests import ExploreRequest, FileRequest, PartRequest, SentenceRequest
from transformer.figures.packing import unpack
from transformer.inference import Trace

TEXT = "She hides the lamp."
METHODS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beam": {"beam_size": 3, "length_penalty": 1.0},
    "sample": {"temperature": 1.5, "top_k": 0, "top_p": 1.0, "seed": 3},
    "forced": {"target": "Elle cache la lampe."},
}


@pytest.fixture
def model(checkpoints: Path) -> Model:
    return models.load("tiny", checkpoints / "tiny")


@pytest.mark.parametrize("method", METHODS)
def test_a_sentence_is_translated_by_every_method(model: Model, method: str) -> None:
    fields = METHODS[method]
    request = SentenceRequest(text=TEXT, method=method, **fields)
    options = {name: value for name, value in fields.items() if (name, value) != ("top_k", 0)}
    given = {} if method == "forced" else {"method": method}
    expected = model.translator.trace(TEXT, **given, **options)
    answer = answers.translate("ann", model, request)
    assert answer["text"] == expected.text
    assert answer["ids"] == list(expected.translation.ids)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_vectors_come_from_the_same_forward_pass(model: Model, kind: str) -> None:
    def vector(name: str) -> np.ndarray:
        request = PartRequest(text=TEXT, name=f"0.{name}.{kind}.1.2")
        [part] = unpack(answers.part("ann", model, request))[1].values()
        return np.asarray(part.array, dtype=np.float64)

    weights = model.translator.trace(TEXT).weights(kind, 1)[2]
    scores = vector("scores")
    if kind == "decoder":
        scores = np.where(np.tri(len(scores), dtype=bool), scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = exponentials / exponentials.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, weights, atol=1e-5)
    np.testing.assert_allclose(weights @ vector("value"), vector("heads"), atol=1e-5)


def test_a_file_has_all_tensors_and_the_decoding_steps(model: Model, tmp_path: Path) -> None:
    request = FileRequest(text=TEXT, method="beam", format="npz")
    file = tmp_path / "trace.npz"
    file.write_bytes(answers.file("ann", model, request))
    trace = Trace.load_npz(file)
    expected = model.translator.trace(TEXT, method="beam", beam_size=4, length_penalty=0.6)
    assert set(trace.names) == set(model.translator.model.hook_names)
    assert trace.text == expected.text
    np.testing.assert_allclose(trace.weights("cross", 1), expected.weights("cross", 1), atol=1e-5)
    page = answers.file("ann", model, FileRequest(text=TEXT, other="She reads.", format="html"))
    assert page.startswith(b"<!doctype html>")
    assert page.count(b"<script") > 2


def test_a_forced_translation_belongs_to_the_first_sentence(model: Model) -> None:
    target = "Elle cache la lampe."
    request = ExploreRequest(text=TEXT, other="She reads.", method="forced", target=target)
    first, second = unpack(answers.explore("ann", model, request))[0]["sides"]
    assert first["ids"] == list(model.translator.trace(TEXT, target=target).translation.ids)
    assert second["ids"] == list(model.translator.translate("She reads.").ids)
