"""What a model adds: against its own first layer, and fits against least squares."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.analysis.made import TEXTS, small
from transformer import Translator
from transformer.analysis import positions
from transformer.model import Transformer
from transformer.model.positions import sinusoidal as models_own
from transformer.text import Vocabulary


def test_what_is_added_is_what_the_first_layer_reads(
    tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    trace = Translator(tiny_model, vocabulary).trace(TEXTS[0])
    for side, stack in positions.STACKS.items():
        found = positions.added(trace, side)
        own = tiny_model.embedding.weight[
            list(getattr(trace, f"{side[:1]}{'rc' if side == 'source' else 'gt'}_ids"))
        ]
        own = own.detach() * math.sqrt(tiny_model.config.d_model)
        places = models_own(len(own), tiny_model.config.d_model)
        np.testing.assert_allclose(found["embedding"], own.norm(dim=1), rtol=1e-5)
        np.testing.assert_allclose(found["encoding"], math.sqrt(64 / 2), rtol=1e-6)
        cosine = torch.cosine_similarity(own, places, dim=1)
        np.testing.assert_allclose(found["cosine"], cosine, atol=1e-5)
        read = np.linalg.norm(trace[f"{stack}.embed.hook_output"], axis=1)
        np.testing.assert_allclose(found["sum"], read, rtol=1e-5)
        # The law of cosines, which ties the four.
        square = found["embedding"] ** 2 + found["encoding"] ** 2
        square += 2 * found["embedding"] * found["encoding"] * found["cosine"]
        np.testing.assert_allclose(found["sum"] ** 2, square, rtol=1e-5)
    assert tuple(positions.added(trace, "target")["token"]) == trace.tgt_tokens
    with pytest.raises(ValueError, match="side must be 'source' or 'target', not 'encoder'"):
        positions.added(trace, "encoder")


def test_a_model_without_positions_adds_nothing(vocabulary: Vocabulary) -> None:
    translator = small(vocabulary, positions="none")
    found = positions.added(translator.trace(TEXTS[0]), "source")
    assert not found["encoding"].any()
    assert not found["cosine"].any()
    np.testing.assert_allclose(found["sum"], found["embedding"])
    assert not positions.table(translator.model, "source", 5).any()


def test_the_table_of_a_model_is_its_own_and_a_copy(vocabulary: Vocabulary) -> None:
    model = small(vocabulary, positions="learned", max_len=12).model
    for side, stack in positions.STACKS.items():
        weight = getattr(model, stack).embed.positions.weight
        found = positions.table(model, side, 4, start=8)
        np.testing.assert_array_equal(found, weight[8:].detach().numpy())
        found[:] = 0
        assert weight[8:].any()
    with pytest.raises(
        ValueError, match="learned 12 positions; a sequence of 13 tokens needs more"
    ):
        positions.table(model, "target", 13)


def test_a_sinusoid_is_found_again_and_noise_is_not_taken_for_one() -> None:
    places = np.arange(40)[:, None]
    lengths = np.array([7.3, 12.0, 31.0])
    waves = 3 * np.sin(2 * np.pi * places / lengths + [0.1, 1.0, 2.0]) + [5, -5, 0]
    fit = positions.sinusoid_fit(waves)
    np.testing.assert_allclose(fit.wavelength, lengths, rtol=0.03)
    assert fit.r2.min() > 0.98
    noise = positions.sinusoid_fit(positions.noise_like(np.empty((40, 400)))).r2
    # By chance alone two of 39 directions hold about 2/39, and the best of many more.
    assert 2 / 39 < np.median(noise) < 0.4
    assert np.median(positions.sinusoid_fit(positions.noise_like(np.empty((11, 400)))).r2) > 0.4


def test_the_fit_is_that_of_least_squares() -> None:
    """The same wavelengths, one after the other, by numpy's lstsq with a constant column."""
    rows = np.random.default_rng(3).normal(size=(15, 4))
    fit = positions.sinusoid_fit(rows, steps=50)
    best = np.zeros(4)
    for wavelength in np.geomspace(2, 60, 50):
        angle = 2 * np.pi * np.arange(15) / wavelength
        design = np.stack([np.sin(angle), np.cos(angle), np.ones(15)], axis=1)
        left = rows - design @ np.linalg.lstsq(design, rows, rcond=1e-9)[0]
        best = np.maximum(
            best, 1 - (left**2).sum(axis=0) / (rows - rows.mean(axis=0)).__pow__(2).sum(axis=0)
        )
    np.testing.assert_allclose(fit.r2, best, atol=1e-6)


def test_a_dimension_that_never_changes_is_explained_by_nothing() -> None:
    assert positions.sinusoid_fit(np.ones((10, 2))).r2.tolist() == [0, 0]
    with pytest.raises(ValueError, match="6 positions or more, not 5"):
        positions.sinusoid_fit(np.ones((5, 2)))
