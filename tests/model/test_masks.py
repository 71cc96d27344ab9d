"""Masks: no attention to later tokens, and padding without effect."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.model.small import SRC, TGT, capture, make_ids, make_model
from transformer.config import Positions, Score
from transformer.hooks import Hooks
from transformer.model import Transformer
from transformer.model.attention import causal_mask, padding_mask, target_mask

SCORES: list[Score] = ["scaled_dot", "dot", "additive"]
POSITIONS: list[Positions] = ["sinusoidal", "learned", "none"]


@given(
    rows=st.integers(1, 6).flatmap(
        lambda width: st.lists(
            st.lists(st.integers(0, 3), min_size=width, max_size=width), min_size=1, max_size=4
        )
    ),
    pad_id=st.integers(0, 3),
)
def test_masks_equal_their_rule_cell_by_cell(rows: list[list[int]], pad_id: int) -> None:
    ids = torch.tensor(rows)
    padding, target = padding_mask(ids, pad_id), target_mask(ids, pad_id)
    batch, length = ids.shape
    assert padding.shape == (batch, 1, 1, length)
    assert target.shape == (batch, 1, length, length)
    causal = causal_mask(length)
    for b, query, key in torch.cartesian_prod(*map(torch.arange, (batch, length, length))).tolist():
        real = rows[b][key] != pad_id
        assert padding[b, 0, 0, key] == real
        assert causal[query, key] == (key <= query)
        assert target[b, 0, query, key] == (real and key <= query)


def leaf_at(model: Transformer, site: str, src: Tensor, tgt: Tensor) -> tuple[Tensor, Tensor]:
    """Return the logits, and the tensor at `site` as a leaf at which gradients end."""
    leaves: list[Tensor] = []

    def detach(tensor: Tensor, name: str) -> Tensor:
        leaves.append(tensor.detach().requires_grad_())
        return leaves[0]

    return model(src, tgt, hooks=Hooks({site: detach})), leaves[0]


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("positions", POSITIONS)
def test_no_logit_depends_on_a_later_token(score: Score, positions: Positions) -> None:
    model, tgt = make_model(score=score, positions=positions), make_ids(6, 6)
    logits, tokens = leaf_at(model, "decoder.embed.hook_tokens", make_ids(5, 3), tgt)
    for t in range(6):
        (gradient,) = torch.autograd.grad(logits[:, t].square().sum(), tokens, retain_graph=True)
        reached = gradient.abs().amax(-1)
        assert (reached[:, : t + 1] > 0).all()
        assert (reached[:, t + 1 :] == 0).all()


def test_every_logit_depends_on_every_real_source_token() -> None:
    logits, tokens = leaf_at(make_model(), "encoder.embed.hook_tokens", SRC, TGT)
    for t in range(6):
        (gradient,) = torch.autograd.grad(logits[:, t].square().sum(), tokens, retain_graph=True)
        assert torch.equal(gradient.abs().amax(-1) > 0, SRC != 0)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_padding_changes_nothing(score: Score, gradients: bool, dtype: torch.dtype) -> None:
    model = make_model(dtype=dtype, score=score)
    with torch.set_grad_enabled(gradients):
        padded_batch = model(SRC, TGT)
        for row, (src, tgt) in enumerate(zip(SRC, TGT, strict=True)):
            single = model(src[src != 0][None], tgt[tgt != 0][None])[0]
            tolerance = 1e-5 if dtype == torch.float32 else 1e-10
            torch.testing.assert_close(
                padded_batch[row, : len(single)], single, rtol=tolerance, atol=tolerance
            )


@pytest.mark.parametrize("score", SCORES)
def test_weights_sum_to_1_over_unmasked_keys(score: Score) -> None:
    model = make_model(score=score)
    captured = capture(model, SRC, TGT)
    source, target = padding_mask(SRC, 0), target_mask(TGT, 0)
    n_sites = 0
    for name in model.hook_names:
        if name.endswith("hook_scores"):
            assert captured[name].isfinite().all()  # before the mask
        if name.endswith("hook_weights"):
            n_sites += 1
            allowed = target if name.startswith("decoder") and "self_attn" in name else source
            weights = captured[name]
            torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]).double())
            assert torch.equal(weights > 0, allowed.expand_as(weights))
            assert (weights >= 0).all()
    assert n_sites == 6


def test_explicit_masks_replace_the_default_ones() -> None:
    model = make_model()
    first = torch.zeros(3, 1, 1, 7, dtype=torch.bool)
    first[..., 0] = True
    alone = model(SRC[:, :1], TGT)
    torch.testing.assert_close(model(SRC, TGT, src_mask=first), alone)
    states = model.decode(TGT, model.encode(SRC, first), first)
    torch.testing.assert_close(model.project(states), alone)
    no_padding = torch.ones(3, 1, 6, 6, dtype=torch.bool)
    non_causal = model(SRC, TGT, tgt_mask=no_padding)
    assert (non_causal - model(SRC, TGT)).abs().amax(-1).min() > 1e-3
