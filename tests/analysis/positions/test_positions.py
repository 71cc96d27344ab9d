"""Positional encodings: the formula compared with closed forms and torch, and what a model adds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.analysis.small_models import TEXTS, small_translator
from transformer import Translator
from transformer.analysis import positions
from transformer.model import Transformer
from transformer.model.positions import sinusoidal as model_sinusoids
from transformer.text import Vocabulary


def test_wavelengths_range_from_2_pi_to_below_20000_pi() -> None:
    lengths = positions.wavelengths(512)
    assert lengths[0] == pytest.approx(2 * math.pi)
    assert lengths[-1] == pytest.approx(2 * math.pi * 10_000 ** (510 / 512))
    # A geometric progression (section 3.5): each a fixed factor longer than the one before.
    np.testing.assert_allclose(lengths[1:] / lengths[:-1], 10_000 ** (2 / 512))


def test_a_wave_repeats_after_its_wavelength() -> None:
    """Column 2i has the wavelength 2π·10000^(2i/d), taken as a distance."""
    width = 8
    for i, wavelength in enumerate(positions.wavelengths(width)):
        angle = 2 * math.pi / wavelength
        column = positions.sinusoidal(40, width)[:, 2 * i]
        np.testing.assert_allclose(column, [math.sin(p * angle) for p in range(40)], atol=1e-12)


@pytest.mark.parametrize(("width", "start"), [(6, 0), (7, 3), (64, 1000)])
def test_the_table_equals_the_models(width: int, start: int) -> None:
    expected = model_sinusoids(50, width, start).numpy()
    np.testing.assert_allclose(positions.sinusoidal(50, width, start), expected, atol=1e-6)


@pytest.mark.parametrize("width", [6, 7])
def test_the_common_error_changes_only_cosines(width: int) -> None:
    by_hand = [
        [
            math.sin(p / 10_000 ** (j / width))
            if j % 2 == 0
            else math.cos(p / 10_000 ** (j / width))
            for j in range(width)
        ]
        for p in range(30)
    ]
    np.testing.assert_allclose(positions.misprinted(30, width), by_hand, atol=1e-12)
    np.testing.assert_array_equal(
        positions.misprinted(30, width)[:, 0::2], positions.sinusoidal(30, width)[:, 0::2]
    )


def test_distances_equal_those_of_all_pairs() -> None:
    rows = np.random.default_rng(0).normal(size=(9, 5))
    statistics = positions.dot_product_statistics(rows, 8)
    for k in range(9):
        products = [rows[p] @ rows[p + k] for p in range(9 - k)]
        expected = [k, np.mean(products), min(products), max(products)]
        np.testing.assert_allclose(
            statistics.loc[k, ["k", "mean", "least", "most"]].to_list(), expected
        )
    with pytest.raises(ValueError, match="the distance must be 0 to 8 for 9 rows, not 9"):
        positions.dot_product_statistics(rows, 9)


def test_no_matrix_shifts_the_pairs_of_the_erroneous_table() -> None:
    width = 16
    paper, erroneous = positions.sinusoidal(400, width), positions.misprinted(400, width)
    for k in (1, 7, -7):
        assert positions.pair_residuals(paper, k).max() < 1e-12
        residual = positions.pair_residuals(erroneous, k)
        assert residual[:3].min() > 0.1
        # The slowest pairs hardly rotate in 400 positions, so almost any matrix fits them.
        assert residual[-1] < 1e-3
    # Compared with torch's least squares, pair by pair.
    before_shift, after_shift = torch.tensor(erroneous[:-7]), torch.tensor(erroneous[7:])
    for i, result in enumerate(positions.pair_residuals(erroneous, 7)):
        a, b = before_shift[:, 2 * i : 2 * i + 2], after_shift[:, 2 * i : 2 * i + 2]
        residual = a @ torch.linalg.lstsq(a, b).solution - b
        assert result == pytest.approx(residual.abs().max().item(), rel=1e-6)


def test_the_sum_equals_the_input_of_the_first_layer(
    tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    trace = Translator(tiny_model, vocabulary).trace(TEXTS[0])
    for side, stack in positions.STACKS.items():
        norms_table = positions.embedding_norms(trace, side)
        embeddings = tiny_model.embedding.weight[
            list(getattr(trace, f"{side[:1]}{'rc' if side == 'source' else 'gt'}_ids"))
        ]
        embeddings = embeddings.detach() * math.sqrt(tiny_model.config.d_model)
        encodings = model_sinusoids(len(embeddings), tiny_model.config.d_model)
        np.testing.assert_allclose(norms_table["embedding"], embeddings.norm(dim=1), rtol=1e-5)
        np.testing.assert_allclose(norms_table["encoding"], math.sqrt(64 / 2), rtol=1e-6)
        cosine = torch.cosine_similarity(embeddings, encodings, dim=1)
        np.testing.assert_allclose(norms_table["cosine"], cosine, atol=1e-5)
        input_norms = np.linalg.norm(trace[f"{stack}.embed.hook_output"], axis=1)
        np.testing.assert_allclose(norms_table["sum"], input_norms, rtol=1e-5)
        # The law of cosines relates the four columns.
        square = norms_table["embedding"] ** 2 + norms_table["encoding"] ** 2
        square += 2 * norms_table["embedding"] * norms_table["encoding"] * norms_table["cosine"]
        np.testing.assert_allclose(norms_table["sum"] ** 2, square, rtol=1e-5)
    assert tuple(positions.embedding_norms(trace, "target")["token"]) == trace.tgt_tokens
    with pytest.raises(ValueError, match="side must be 'source' or 'target', not 'encoder'"):
        positions.embedding_norms(trace, "encoder")


def test_the_table_of_a_model_is_its_own_and_a_copy(vocabulary: Vocabulary) -> None:
    model = small_translator(vocabulary, positions="learned", max_len=12).model
    for side, stack in positions.STACKS.items():
        weight = getattr(model, stack).embed.positions.weight
        vectors = positions.table(model, side, 4, start=8)
        np.testing.assert_array_equal(vectors, weight[8:].detach().numpy())
        vectors[:] = 0
        assert weight[8:].any()
    with pytest.raises(
        ValueError, match="learned 12 positions; a sequence of 13 tokens needs more"
    ):
        positions.table(model, "target", 13)
