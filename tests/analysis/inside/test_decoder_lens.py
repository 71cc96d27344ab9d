"""DecoderLens: shortened encoders, compared with hooks that replace the encoder output."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from transformer import Hooks, Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.corpus import Sentence
from transformer.analysis.inside.decoder_lens import (
    bleu_by_encoder_layer,
    decoder_lens,
    with_encoder_layers,
)
from transformer.training.quality import score

TEXT = "She lost her new umbrella on the bus."


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("en-fr", device="cpu")


def memory_of_layer(translator: Translator, count: int) -> Hooks:
    """Return hooks that store the output of encoder layer `count` and use it as the encoder
    output."""
    outputs: list[Tensor] = []
    layer = f"layers.{count - 1}.ffn_norm" if count else "embed"

    def store(tensor: Tensor, name: str) -> None:
        outputs.append(tensor)

    def replace(tensor: Tensor, name: str) -> Tensor:
        return outputs[-1]

    return Hooks({f"encoder.{layer}.hook_output": store, "encoder.hook_memory": replace})


@pytest.mark.parametrize("count", [0, 2, 6])
def test_a_shortened_encoder_equals_hooks_on_the_memory(translator: Translator, count: int) -> None:
    shortened = with_encoder_layers(translator, count)
    hooks = memory_of_layer(translator, count)
    output = translator.translate(TEXT).ids
    expected, _ = translator.run_with_cache(TEXT, output, names_filter="hook_logits", hooks=hooks)
    logits, _ = shortened.run_with_cache(TEXT, output, names_filter="hook_logits")
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)
    assert shortened.translate(TEXT).text == translator.translate(TEXT, hooks=hooks).text


def test_the_last_layer_gives_the_models_translation(translator: Translator) -> None:
    trace = translator.trace(TEXT, beam_size=2)
    lens = decoder_lens(translator, trace, beam_size=2)
    assert len(lens.translations) == translator.model.config.n_layers + 1
    assert lens.translations[-1] == trace.translation.text
    chosen = [step.chosen.probability for step in trace.translation.steps]
    np.testing.assert_allclose(lens.probability[-1], chosen, rtol=1e-4)
    assert lens.to_frame()["log_probability"].iloc[-1] == pytest.approx(np.log(chosen).mean(), 1e-3)


def test_bleu_by_layer_equals_sacrebleu_of_the_translations(translator: Translator) -> None:
    pairs = [(TEXT, "Elle a perdu son nouveau parapluie dans le bus."), ("I sleep.", "Je dors.")]
    corpus = Corpus("two", tuple(Sentence(*pair) for pair in pairs))
    table = bleu_by_encoder_layer(translator, corpus)
    assert table["layer"].tolist() == list(range(7))
    for count in (0, 6):
        shortened = with_encoder_layers(translator, count)
        texts = [shortened.translate(source).text for source, _ in pairs]
        expected = score(texts, [[target] for _, target in pairs])["bleu"]
        assert table["bleu"][count] == pytest.approx(expected)
    assert (table["bleu_low"] <= table["bleu"]).all()
    assert (table["bleu"] <= table["bleu_high"]).all()


def test_the_translator_is_unchanged_and_invalid_layers_are_refused(
    translator: Translator,
) -> None:
    with_encoder_layers(translator, 1)
    assert len(translator.model.encoder.layers) == 6
    for count in (-1, 7):
        with pytest.raises(
            ValueError, match=f"the encoder has 6 layers; choose 0 to 6, not {count}"
        ):
            with_encoder_layers(translator, count)
