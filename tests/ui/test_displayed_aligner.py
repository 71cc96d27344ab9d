"""Bands and All heads show the aligner head, whose links are correct here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.figures.deno import drawn
from transformer import Translator
from transformer.api.models import described
from transformer.figures import PackedTrace, explorer_data
from transformer.figures.glance import glance_data
from transformer.ui.services import models
from transformer.ui.services.models import Model

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = [
    (
        "en-fr",
        "She eats the apples and he eats the bread.",
        {"pommes": "apples", "pain": "bread.", "mange": "eats"},
    ),
    (
        "en-fr",
        "Who gave you that red umbrella?",
        {"vous": "you", "t'a": "you", "parapluie": "umbrella?", "rouge": "red"},
    ),
    (
        "en-de",
        "I have never seen such a beautiful house.",
        {"Haus": "house.", "schönes": "beautiful", "Ich": "I"},
    ),
    ("en-de", "He says that he has bought a house.", {"Haus": "house.", "sagt,": "says"}),
]


@pytest.fixture(scope="module")
def models_by_name() -> dict[str, Model]:
    loaded_models = {}
    for name in ("en-fr", "en-de"):
        path = ROOT / "checkpoints" / name
        digest = models.digest(path)
        loaded_models[name] = described(name, path, digest, Translator.load(path, "cpu"))
    return loaded_models


def bare(word: str) -> str:
    """Return the word without punctuation."""
    return word.strip(".,?! ")


@pytest.mark.parametrize(("name", "text", "pairs"), SENTENCES)
def test_the_aligner_links_words_to_their_translations(
    name: str, text: str, pairs: dict[str, str], models_by_name: dict[str, Model]
) -> None:
    model = models_by_name[name]
    assert model.aligner is not None
    trace = model.translator.trace(text, method="greedy")
    data = drawn("glance", glance_data({}, trace, aligner=model.aligner))
    assert (data["layer"], data["head"]) == (model.aligner.layer, model.aligner.head)
    source_words = {bare(target): bare(source) for target, source in pairs.items()}
    n_checked = 0
    for word in data["words"]:
        if bare(word["text"]) in source_words:
            weights = word["weights"]
            best = bare(data["source"][max(range(len(weights)), key=weights.__getitem__)])
            assert best == source_words[bare(word["text"])], f"{word['text']} looks at {best}"
            n_checked += 1
    assert n_checked >= 2


@pytest.mark.parametrize("name", ["en-fr", "en-de"])
def test_all_heads_and_its_notices_open_the_same_head(
    name: str, models_by_name: dict[str, Model]
) -> None:
    model = models_by_name[name]
    aligner = model.aligner
    assert aligner is not None
    for text in model.description.examples:
        side = PackedTrace(model.translator.trace(text))
        data = drawn("explorer", explorer_data([side], {}, aligner=aligner))
        cell = (aligner.layer, aligner.head, aligner.weights_to)
        notice = data["notices"][0]
        for state in (data["start"], notice["state"]):
            assert (state["layer"], state["head"], state["word_row"]) == cell
        assert "human-made links" in "".join(part for part, _ in notice["segments"])
