"""The stack of the race of layers: receptive field, size, and blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from transformer.config import ModelConfig
from transformer.model.tagger import Tagger, count_weights, match_parameters, receptive_field

SHAPE = ModelConfig(vocab_size=9, d_model=8, n_layers=2, n_heads=2, d_ff=16, dropout=0.0)
LAYERS: dict[str, dict[str, int]] = {
    "self-attention": {},
    "recurrent": {},
    "convolutional": {"k": 7},
    "restricted": {"r": 9},
    "dilated": {"k": 7},
    "lstm": {},
    "gru": {},
}


def make_tagger(layer: str, config: ModelConfig = SHAPE, **sizes: int) -> Tagger:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return Tagger(layer, config, 5, **sizes).eval()


@pytest.mark.parametrize(("layer", "sizes"), LAYERS.items())
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_a_stack_depends_on_inputs_within_its_reach_only(
    layer: str, sizes: dict[str, int], n_layers: int
) -> None:
    model = make_tagger(layer, replace(SHAPE, n_layers=n_layers), **sizes).double()
    length = 80
    embedded = torch.randn(1, length, 8, dtype=torch.float64, requires_grad=True)
    ids = torch.zeros(1, length, dtype=torch.long)
    # A separate embedding per position, so that the gradient shows which positions have an
    # effect.
    model.embedding.forward = lambda _: embedded  # type: ignore[method-assign]
    logits = model(ids)[0, -1]
    (gradient,) = torch.autograd.grad(logits.square().sum(), embedded)
    reached = gradient[0].abs().sum(-1) > 0
    furthest = length - 1 - int(reached.nonzero()[0])
    assert furthest == min(receptive_field(layer, n_layers, **sizes), length - 1)


def test_a_self_attention_block_equals_an_encoder_layer() -> None:
    """With copied weights it is torch's own post-norm encoder layer."""
    model = make_tagger("self-attention", replace(SHAPE, n_layers=1))
    torch_layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    attention, ffn = model.mixers[0].attention, model.ffns[0]
    copied: list[tuple[Any, Any]] = [
        (torch_layer.self_attn.in_proj_weight, attention.w_qkv),
        (torch_layer.self_attn.out_proj.weight, attention.w_o),
        (torch_layer.linear1.weight, ffn.w_1.weight),
        (torch_layer.linear1.bias, ffn.w_1.bias),
        (torch_layer.linear2.weight, ffn.w_2.weight),
        (torch_layer.linear2.bias, ffn.w_2.bias),
    ]
    with torch.no_grad():
        for torch_weight, our_weight in copied:
            torch_weight.copy_(our_weight)
        torch_layer.self_attn.in_proj_bias.zero_()
        torch_layer.self_attn.out_proj.bias.zero_()
    ids = torch.randint(0, 9, (3, 11))
    with torch.no_grad():
        x = model.embed(model.embedding(ids) * 8**0.5)
        expected = model.output(torch_layer.train()(x))
        torch.testing.assert_close(model(ids), expected)


@pytest.mark.parametrize(("layer", "sizes"), LAYERS.items())
def test_all_layers_have_as_many_weights_as_self_attention(
    layer: str, sizes: dict[str, int]
) -> None:
    config = replace(SHAPE, d_model=32, d_ff=128)
    expected = count_weights("self-attention", config, 5)
    tagger = make_tagger(layer, match_parameters(layer, config, 5, expected, **sizes), **sizes)
    weights = sum(weight.numel() for weight in tagger.parameters())
    assert abs(weights / expected - 1) < 0.005
    assert count_weights(layer, tagger.config, 5, **sizes) == weights


def test_a_layer_that_cannot_be_matched_in_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"convolutional has [\d,]+ weights without an FFN, more"):
        match_parameters("convolutional", SHAPE, 5, 1000, k=31)
    with pytest.raises(ValueError, match="no layer 'pooling'"):
        Tagger("pooling", SHAPE, 5)
