"""The logit lens: against the definitions, and at its end the model itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from tests.analysis.inside.opened import Looked, look
from transformer.analysis.inside import logit_lens as lens_module
from transformer.analysis.inside.logit_lens import Lens, lens
from transformer.inference.translator import Translator
from transformer.text import Vocabulary


@pytest.fixture(scope="module")
def looked(vocabulary: Vocabulary, tmp_path_factory: pytest.TempPathFactory) -> Looked:
    return look("scaled_dot", vocabulary, tmp_path_factory.mktemp("lens") / "model")


@pytest.fixture(scope="module")
def found(looked: Looked) -> Lens:
    return lens(looked.trace, looked.translator, k=3)


def shares(looked: Looked, site: str) -> np.ndarray:
    """The definition, without the model's own projection: softmax(y E^T)."""
    embedding = looked.translator.model.embedding.weight.detach().double().numpy()
    logits = looked.trace[site].astype(np.float64) @ embedding.T
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def test_it_looks_after_every_sublayer(looked: Looked, found: Lens) -> None:
    assert len(found.sites) == 1 + 3 * looked.trace.n_layers
    assert found.sites[0] == "decoder.embed.hook_output"
    assert found.titles[-1] == "layer 1, feed-forward"
    assert found.rank.shape == (len(found.sites), len(found.rows))
    assert found.top_ids.shape == found.top_probabilities.shape == (*found.rank.shape, 3)


def test_the_last_layer_says_exactly_what_the_model_says(looked: Looked, found: Lens) -> None:
    logits = torch.tensor(looked.trace["hook_logits"]).double()
    top = logits.log_softmax(-1).topk(3)
    np.testing.assert_array_equal(found.top_ids[-1], top.indices)
    np.testing.assert_array_equal(found.top_probabilities[-1], top.values.exp())
    assert not found.divergence[-1].any()


def test_every_figure_is_its_definition(looked: Looked, found: Lens) -> None:
    chosen = np.array(looked.trace.predicted_ids)
    last = shares(looked, found.sites[-1])
    for number, site in enumerate(found.sites):
        p = shares(looked, site)
        own = p[np.arange(len(p)), chosen]
        np.testing.assert_allclose(found.probability[number], own, rtol=1e-4)
        np.testing.assert_array_equal(found.rank[number], (p > own[:, None]).sum(axis=1) + 1)
        np.testing.assert_allclose(found.entropy[number], stats.entropy(p, base=2, axis=1), 1e-4)
        expected = stats.entropy(last, p, base=2, axis=1)
        np.testing.assert_allclose(found.divergence[number], expected, atol=1e-4)
        np.testing.assert_array_equal(found.top_ids[number], np.argsort(-p, axis=1)[:, :3])
        tokens = looked.translator.vocabulary.tokens(found.top_ids[number, 0])
        assert list(found.top_tokens[number][0]) == tokens


def test_slices_change_nothing(
    looked: Looked, found: Lens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lens_module, "ROWS", 3)
    again = lens(looked.trace, looked.translator, k=3)
    np.testing.assert_array_equal(again.rank, found.rank)
    # Products of other rows are summed in another order: the last bits of float32 logits differ.
    np.testing.assert_allclose(again.entropy, found.entropy, rtol=1e-5)
    np.testing.assert_allclose(again.divergence, found.divergence, rtol=1e-5, atol=1e-6)


def test_a_line_of_the_table_is_a_site_and_a_position(looked: Looked, found: Lens) -> None:
    table = found.to_frame()
    assert len(table) == found.rank.size
    line = table.iloc[len(found.rows) * 2 + 1]
    assert (line["site"], line["position"]) == (found.sites[2], 1)
    assert line["reads"] == looked.trace.tgt_tokens[1]
    assert line["chosen"] == looked.trace.predicted_tokens[1]
    assert line["says"] == found.top_tokens[2][1][0]
    assert line["rank"] == found.rank[2, 1]
    assert line["entropy"] == found.entropy[2, 1]


def test_the_shipped_model_repeats_its_input_first_and_then_turns_to_the_next_word() -> None:
    """Embedding and output are one matrix, so an embedding alone says itself."""
    translator = Translator.load("checkpoints/en-fr", device="cpu")
    found = lens(translator.trace("I am a student."), translator, k=1)
    says = [tuple(tokens[0] for tokens in site) for site in found.top_tokens]
    assert says[0] == found.rows
    assert says[-1] == found.chosen
    assert found.divergence[0].min() > found.divergence[-2].max()


def test_a_k_that_cannot_be_is_refused(looked: Looked) -> None:
    for k in (0, 321):
        with pytest.raises(ValueError, match=f"k must be 1 to 320, .* not {k}"):
            lens(looked.trace, looked.translator, k)
