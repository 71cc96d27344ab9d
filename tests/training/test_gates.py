"""Gates: the closed form of their L0 norm, and pruning of unneeded heads."""

from __future__ import annotations

import copy
from unittest.mock import Mock

import pytest
import torch

from transformer import Translator
from transformer.analysis.corpora import Corpus, Sentence
from transformer.analysis.importance.ablation import fold_gates
from transformer.analysis.interventions.switching import Head, all_heads, gated
from transformer.model import Transformer
from transformer.model.gates import HardConcrete
from transformer.text import Vocabulary
from transformer.training.gates import learn_gates

N_SAMPLES = 100_000
IMPORTANT_HEAD: Head = ("decoder", 1, 2)


@pytest.mark.parametrize("log_alpha", [-3.0, -0.5, 0.0, 1.0, 2.5])
def test_expected_l0_norm_equals_the_nonzero_fraction_of_samples(log_alpha: float) -> None:
    gates = HardConcrete(2, log_alpha)
    samples = gates.sample(N_SAMPLES, torch.Generator().manual_seed(1))
    assert samples.shape == (N_SAMPLES, 2)
    assert samples.min() >= 0
    assert samples.max() <= 1
    nonzero_fraction = (samples != 0).double().mean(dim=0)
    error = 4 * (0.25 / N_SAMPLES) ** 0.5  # four standard deviations at most
    torch.testing.assert_close(
        nonzero_fraction, gates.prob_nonzero().double().detach(), atol=error, rtol=0
    )
    # By symmetry, a gate is 1 as often as a gate with −log α is 0.
    one_fraction = (samples == 1).double().mean(dim=0)
    mirrored = 1 - HardConcrete(2, -log_alpha).prob_nonzero().double().detach()
    torch.testing.assert_close(one_fraction, mirrored, atol=error, rtol=0)


def test_gate_without_sampling_is_its_median() -> None:
    """The median of the uniform noise u is 1/2, and its log odds are 0."""
    gates = HardConcrete(3)
    with torch.no_grad():
        gates.log_alpha.copy_(torch.tensor([-4.0, 0.0, 4.0]))
    middle = gates.sample(N_SAMPLES, torch.Generator().manual_seed(2)).median(dim=0).values
    torch.testing.assert_close(middle, gates(), atol=0.01, rtol=0)
    torch.testing.assert_close(gates(), torch.tensor([0.0, 0.5, 1.0]), atol=1e-6, rtol=0)


@pytest.mark.parametrize("log_alpha", [-2.0, -0.1, 0.1, 0.8, 3.0])
def test_gate_is_rounded_to_the_more_probable_value(log_alpha: float) -> None:
    gates = HardConcrete(3, log_alpha)
    samples = gates.sample(N_SAMPLES, torch.Generator().manual_seed(6))
    error = 4 * (0.25 / N_SAMPLES) ** 0.5
    fractions = [(samples == value).double().mean(dim=0) for value in (0, 1)]
    for probability, fraction in zip((gates.prob_zero(), gates.prob_one()), fractions, strict=True):
        torch.testing.assert_close(probability.double().detach(), fraction, atol=error, rtol=0)
    assert gates.rounded().tolist() == (fractions[1] > fractions[0]).double().tolist()


def test_gradient_of_a_sample_matches_finite_differences() -> None:
    gates = HardConcrete(4, 0.3)
    gates.sample(50, torch.Generator().manual_seed(3)).sum().backward()
    slope, step = gates.log_alpha.grad, 1e-2
    sum_above, sum_below = (
        HardConcrete(4, 0.3 + offset).sample(50, torch.Generator().manual_seed(3)).sum(dim=0)
        for offset in (step, -step)
    )
    assert slope is not None
    torch.testing.assert_close(
        slope, ((sum_above - sum_below) / (2 * step)).detach(), rtol=0.05, atol=0.05
    )


@pytest.fixture(scope="module")
def unequal_heads(tiny_model: Transformer, vocabulary: Vocabulary) -> Translator:
    """Return a model with one dominant head; half of the heads of every attention output 0."""
    model = copy.deepcopy(tiny_model)
    zero_heads = [head for head in all_heads(model.config) if head[2] < 2]
    fold_gates(model, {**dict.fromkeys(zero_heads, 0.0), IMPORTANT_HEAD: 6.0})
    return Translator(model, vocabulary)


@pytest.fixture(scope="module")
def corpus(unequal_heads: Translator, pairs: list[tuple[str, str]]) -> Corpus:
    """Sentences with the model's own translations, which change if `IMPORTANT_HEAD` is ablated."""
    texts = [english for english, _ in pairs[:6]]
    translations = [unequal_heads.translate(text, max_len=6) for text in texts]
    return Corpus(
        "own", tuple(Sentence(a, b.text) for a, b in zip(texts, translations, strict=True))
    )


def test_idle_heads_are_pruned_and_the_important_head_stays(
    unequal_heads: Translator, corpus: Corpus
) -> None:
    weights = [weight.clone() for weight in unequal_heads.model.parameters()]
    gated_heads = [
        head
        for head in all_heads(unequal_heads.model.config)
        if head[2] < 2 or head == IMPORTANT_HEAD
    ]
    learned = learn_gates(
        unequal_heads, corpus, penalty=0.02, steps=40, heads=gated_heads, rate=0.2
    )
    assert learned.survivors == [IMPORTANT_HEAD]
    table = learned.to_frame()
    assert list(table[["kind", "layer", "head"]].itertuples(index=False, name=None)) == gated_heads
    assert table.gate.tolist() == [float(head == IMPORTANT_HEAD) for head in gated_heads]
    assert learned.history.step.tolist() == list(range(40))
    assert learned.history["heads"].iloc[0] > 0.9 * len(gated_heads)
    assert learned.history["heads"].iloc[-1] == pytest.approx(sum(learned.prob_nonzero), abs=0.5)
    for weight, original in zip(unequal_heads.model.parameters(), weights, strict=True):
        assert weight.equal(original)
        assert weight.grad is None
        assert weight.requires_grad

    # The weights of the returned translator include the gates.
    hooks = gated(unequal_heads.model.config, dict(zip(learned.heads, learned.gates, strict=True)))
    text = corpus.sentences[0].source
    translation_with_hooks = unequal_heads.translate(text, target=[5, 9, 7], hooks=hooks)
    translation = learned.translator.translate(text, target=[5, 9, 7])
    assert translation.log_probability == pytest.approx(
        translation_with_hooks.log_probability, abs=1e-4
    )
    assert not learned.translator.model.training


def test_rounded_gates_keep_or_remove_a_head(unequal_heads: Translator, corpus: Corpus) -> None:
    """Rounding is tested after a few steps, when gates are still between 0 and 1."""
    heads: list[Head] = [("cross", 0, n) for n in range(4)] + [IMPORTANT_HEAD]
    options = {"penalty": 1.0, "steps": 9, "heads": heads, "rate": 0.2}
    unrounded, rounded_result = (
        learn_gates(unequal_heads, corpus, **options, rounded=r) for r in (False, True)
    )
    assert unrounded.prob_nonzero == rounded_result.prob_nonzero
    assert any(0 < gate < 1 for gate in unrounded.gates)
    assert rounded_result.gates == tuple(float(gate > 0.5) for gate in unrounded.gates)
    assert rounded_result.survivors == [
        head for head, gate in zip(heads, rounded_result.gates, strict=True) if gate
    ]
    d_k = unequal_heads.model.config.d_k
    for (kind, layer, head), gate in zip(heads, rounded_result.gates, strict=True):
        name = f"decoder.layers.{layer}.{'cross' if kind == 'cross' else 'self'}_attn.w_o"
        columns_of_head = slice(head * d_k, (head + 1) * d_k)
        pruned, original = (
            translator.model.get_parameter(name)[:, columns_of_head]
            for translator in (rounded_result.translator, unequal_heads)
        )
        assert pruned.equal(original * gate)


def test_weights_are_trained_with_a_weight_rate(unequal_heads: Translator, corpus: Corpus) -> None:
    learned = learn_gates(
        unequal_heads,
        corpus,
        penalty=0.0,
        steps=15,
        heads=[IMPORTANT_HEAD],
        weight_rate=1e-3,
        seed=4,
    )
    assert learned.heads == (IMPORTANT_HEAD,)
    assert learned.history.loss.iloc[-1] < learned.history.loss.iloc[0]
    trained_embedding = learned.translator.model.get_parameter("embedding.weight")
    assert not trained_embedding.equal(unequal_heads.model.get_parameter("embedding.weight"))


def test_invalid_arguments_are_refused(unequal_heads: Translator, corpus: Corpus) -> None:
    for options, message in (
        ({"penalty": -1.0}, "penalty -1.0"),
        ({"penalty": 0.1, "steps": 0}, "steps 0"),
        ({"penalty": 0.1, "heads": []}, "at least one"),
        ({"penalty": 0.1, "heads": [("cross", 7, 0)]}, "no layer 7"),
    ):
        with pytest.raises(ValueError, match=message):
            learn_gates(unequal_heads, corpus, **options)
    with pytest.raises(KeyboardInterrupt):
        learn_gates(
            unequal_heads, corpus, penalty=0.1, progress=Mock(side_effect=KeyboardInterrupt)
        )
