"""Attention to the pronoun and the article's probabilities, compared with a trace of each
sentence."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from transformer import Hooks, Translator
from transformer.analysis.alignment.aligner_head import AlignerHead
from transformer.analysis.corpora.passes import Pair
from transformer.analysis.gender import pronoun_heads
from transformer.analysis.gender.minimal_pair import minimal_pair
from transformer.analysis.gender.occupation_gender import AlignedTranslation
from transformer.analysis.gender.pronoun_heads import (
    ArticleStep,
    article_margins,
    article_step,
    pronoun_effect,
    pronoun_weights,
)
from transformer.analysis.gender.sentences import OccupationSentence
from transformer.analysis.interventions.switching import all_heads, switched_off

ALIGNER = AlignerHead(0, 1, "weights", "output", "output", ())
TEXT = "The doctor thanked the nurse because {} was late."


def arbitrary_step(translator: Translator, pronoun: str, prefix: int) -> ArticleStep:
    """Return a decoding step after `prefix` arbitrary tokens."""
    src = translator.vocabulary.encode(TEXT.format(pronoun))
    last = len(src) - 1
    neighbours = ((last - 5,), (last - 2, last - 1))
    pair = Pair(src, [*src[:prefix], src[0]])
    return ArticleStep(pair, 7, 9, (1, 2), (last - 4, last - 3), neighbours)


@pytest.fixture(scope="module")
def steps(translator: Translator) -> list[ArticleStep]:
    return [
        arbitrary_step(translator, pronoun, prefix)
        for prefix, pronoun in itertools.product((0, 3, 5), ("he", "she"))
    ]


def test_weights_and_margins_equal_those_of_single_traces(
    translator: Translator, steps: list[ArticleStep]
) -> None:
    weights, margins = pronoun_weights(translator, steps)
    for number, step in enumerate(steps):
        text = TEXT.format(("he", "she")[number % 2])
        trace = translator.trace(text, target=[*step.pair.out, translator.model.config.eos_id])
        row = len(step.pair.out) - 1
        first, second = (list(word) for word in step.neighbours)
        for kind, name, rows in ((0, "encoder", [1, 2]), (1, "cross", [row])):
            table = trace.all_weights(name)[:, :, rows].mean(2)
            np.testing.assert_allclose(
                weights[kind, :, :, 0, number], table[..., list(step.pronoun)].sum(-1), atol=1e-5
            )
            neighbour_mean = (table[..., first].sum(-1) + table[..., second].sum(-1)) / 2
            np.testing.assert_allclose(weights[kind, :, :, 1, number], neighbour_mean, atol=1e-5)
        logits = trace["hook_logits"][row].astype(np.float64)
        log_p = np.log(np.exp(logits) / np.exp(logits).sum())
        assert margins[number] == pytest.approx(log_p[9] - log_p[7], abs=1e-4)


def test_margins_with_hooks_equal_those_of_a_trace_with_hooks(
    translator: Translator, steps: list[ArticleStep]
) -> None:
    config = translator.model.config
    ablated = switched_off(config, all_heads(config, ["cross"]))
    margins = article_margins(translator, steps, lambda batch: ablated)
    target = [*steps[2].pair.out, config.eos_id]
    trace = translator.trace(TEXT.format("he"), target=target, hooks=ablated)
    logits = trace["hook_logits"][len(steps[2].pair.out) - 1]
    assert margins[2] == pytest.approx(logits[9] - logits[7], abs=1e-4)
    # Without cross-attention the decoder sees neither he nor she, only the forced beginning.
    np.testing.assert_allclose(margins[:2], margins[0], atol=1e-5)


def patch_passes(
    weights: np.ndarray, margins: Iterator[np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replace the passes through the model by given numbers."""
    monkeypatch.setattr(pronoun_heads, "pronoun_weights", lambda *_: (weights, next(margins)))
    monkeypatch.setattr(pronoun_heads, "article_margins", lambda *_: next(margins))


def test_pronoun_heads_and_their_effect_are_measured(
    translator: Translator, steps: list[ArticleStep], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, n = translator.model.config, 100
    weights = np.random.default_rng(1).uniform(
        0, 0.1, (2, config.n_layers, config.n_heads, 2, 2 * n)
    )
    attending_heads = [(1, 1, 2), (0, 0, 3), (1, 0, 0), (1, 1, 1)]
    for rank, (kind, layer, head) in enumerate(attending_heads):
        weights[kind, layer, head, 0] += 0.9 - 0.1 * rank
    weights[1, 1, 2, 0, 1::2] -= 0.1  # less in the "she" sentences
    intact, ablated = np.tile([-0.5, 0.5], n), np.tile([-0.5, -0.4], n // 2)
    draws = [np.tile([-0.5, 0.5 + 0.1 * draw], n // 2) for draw in range(10)]
    patch_passes(weights, iter([intact, ablated, *draws]), monkeypatch)
    effect = pronoun_effect(translator, [(steps[0], steps[1])] * n)
    assert effect is not None
    assert [(head.kind, head.layer, head.head) for head in effect.heads] == [
        (pronoun_heads.KINDS[kind], layer, head) for kind, layer, head in attending_heads
    ]
    first = effect.heads[0]
    assert first.weight == pytest.approx(0.9, abs=0.02)
    assert first.neighbours == pytest.approx(0.05, abs=0.02)
    assert first.low < first.weight - first.neighbours < first.high
    assert first.she_minus_he == pytest.approx(-0.1, abs=0.03)
    assert first.she_low < first.she_minus_he < first.she_high < 0
    assert effect.pairs == n // 2
    assert (effect.intact.value, effect.off.value) == (1, pytest.approx(0.1))
    assert effect.random.value == pytest.approx(1.45)
    assert (effect.random.low, effect.random.high) == (pytest.approx(1), pytest.approx(1.9))
    assert (effect.right, effect.right_off, effect.right_random) == (1, 0, 1)
    assert (effect.flipped, effect.flipped_random) == (0.5, 0)


def test_few_pairs_have_no_effect(translator: Translator, steps: list[ArticleStep]) -> None:
    assert pronoun_effect(translator, [(steps[0], steps[1])] * 39) is None


@pytest.fixture(scope="module")
def en_fr() -> Translator:
    return Translator.load("en-fr", "cpu")


def test_a_step_is_the_row_that_writes_the_article(en_fr: Translator) -> None:
    """Only where the article and its other form are single tokens."""
    vocabulary = en_fr.vocabulary
    sentence = OccupationSentence("male", 4, 4, TEXT.format("he"), "nurse")
    ids = vocabulary.encode("une table", target=True)
    word_of_token = (0, *([1] * (len(ids) - 2)))
    words = AlignedTranslation(
        tuple(sentence.words), ("une", "table"), word_of_token, np.zeros((2, 9))
    )
    step = article_step(en_fr, "fr", sentence, words, ids, 0)
    assert step is not None
    tokens = vocabulary.tokens(step.pair.src)
    assert "".join(tokens[n] for n in step.pronoun) == "▁he"
    assert "".join(tokens[n] for n in step.occupation) == "▁nurse"
    neighbours = ["".join(tokens[n] for n in word) for word in step.neighbours]
    assert neighbours == ["▁because", "▁was"]
    assert step.pair.out == ids[:1]
    assert vocabulary.tokens([step.masculine, step.feminine]) == ["▁un", "▁une"]
    assert article_step(en_fr, "fr", sentence, words, ids, -1) is None
    assert article_step(en_fr, "fr", sentence, words, ids, 1) is None


def test_a_pair_translates_both_sentences(en_fr: Translator) -> None:
    pair = minimal_pair(en_fr, ALIGNER, "fr", TEXT.format("she"))
    assert pair.occupations == ("doctor", "nurse")
    for side, pronoun in ((pair.he, "he"), (pair.she, "she")):
        assert side.source == TEXT.format(pronoun)
        assert side.text == en_fr.translate(side.source, candidates=1).text
        trace = en_fr.trace(side.source, candidates=1)
        nurse_position, pronoun_position = (
            trace.src_tokens.index(word) for word in ("▁nurse", f"▁{pronoun}")
        )
        expected = trace.weights("encoder", 1)[:, nurse_position, pronoun_position]
        np.testing.assert_allclose(side.weights[1, 0, 1, :, 0], expected, atol=1e-5)
    assert len(pair.heads(3)) == 3
    hooks = Hooks({"decoder.layers.5.cross_attn.hook_heads": lambda x, name: x * 0}, causal=True)
    ablated = minimal_pair(en_fr, ALIGNER, "fr", TEXT.format("she"), hooks).she
    assert ablated.text == en_fr.translate(ablated.source, hooks=hooks, candidates=1).text


@pytest.mark.parametrize(
    ("language", "text", "reason"),
    [
        ("fr", "The doctor thanked the nurse.", "has no pronoun; it needs he, she"),
        ("fr", "She was late.", "has no known occupation; use two"),
        ("ja", "The doctor said she was late.", "French and German, not in Japanese"),
        ("fr", "", "has no pronoun"),
    ],
)
def test_an_unsuitable_sentence_is_refused(
    translator: Translator, language: str, text: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        minimal_pair(translator, ALIGNER, language, text)
