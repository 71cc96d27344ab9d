"""Comparison with `torch.nn.Transformer`: copied weights, same numbers, same gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.model.small import SRC, TGT, make_config, make_model
from transformer.model import Transformer


def make_reference(**changes: Any) -> nn.Transformer:
    """Return PyTorch's stacks without final norms, as in the paper; post-norm, ReLU."""
    config = make_config(**changes)
    sizes: dict[str, Any] = {
        "d_model": config.d_model,
        "nhead": config.n_heads,
        "dim_feedforward": config.d_ff,
        "dropout": 0.0,
        "batch_first": True,
        "norm_first": False,
    }
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**sizes), config.n_layers, enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes), config.n_layers)
    return nn.Transformer(
        config.d_model,
        config.n_heads,
        custom_encoder=encoder,
        custom_decoder=decoder,
        batch_first=True,
    ).double()


def counterparts(model: Transformer, reference: nn.Transformer) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each weight except the embedding with its counterpart in PyTorch."""
    stacks = ((model.encoder, reference.encoder), (model.decoder, reference.decoder))
    for layer, torch_layer in (
        (o, t) for a, b in stacks for o, t in zip(a.layers, b.layers, strict=True)
    ):
        attentions = [(layer.self_attn, torch_layer.self_attn)]
        norms = [
            (layer.self_attn_norm, torch_layer.norm1),
            (layer.ffn_norm, torch_layer.norm2),
        ]
        if hasattr(layer, "cross_attn"):
            attentions.append((layer.cross_attn, torch_layer.multihead_attn))
            norms[1:] = [
                (layer.cross_attn_norm, torch_layer.norm2),
                (layer.ffn_norm, torch_layer.norm3),
            ]
        for a, b in attentions:
            yield from ((a.w_qkv, b.in_proj_weight), (a.w_o, b.out_proj.weight))
        for c, d in norms:
            yield from ((c.norm.weight, d.weight), (c.norm.bias, d.bias))
        for e, f in (
            (layer.ffn.w_1, torch_layer.linear1),
            (layer.ffn.w_2, torch_layer.linear2),
        ):
            yield from ((e.weight, f.weight), (e.bias, f.bias))


def copy_weights(model: Transformer, reference: nn.Transformer) -> nn.Parameter:
    """Copy our weights into PyTorch's model, with attention biases 0; return the embedding."""
    with torch.no_grad():
        for name, weight in reference.named_parameters():
            weight.fill_(0.0 if name.endswith(("in_proj_bias", "out_proj.bias")) else math.nan)
        for our_value, torch_weight in counterparts(model, reference):
            torch_weight.copy_(our_value)
    assert not any(weight.isnan().any() for weight in reference.parameters())
    return nn.Parameter(model.embedding.weight.detach().clone())


def embed(table: Tensor, ids: Tensor, positions: str) -> Tensor:
    """Return embeddings × √d_model plus sinusoids; a cosine is a sine shifted by π/2."""
    d_model = table.shape[1]
    embedded = table[ids] * math.sqrt(d_model)
    if positions == "none":
        return embedded
    angles = [
        [pos / 10000 ** (2 * (j // 2) / d_model) + (j % 2) * math.pi / 2 for j in range(d_model)]
        for pos in range(ids.shape[1])
    ]
    return embedded + torch.tensor(angles, dtype=table.dtype).sin()


def reference_logits(
    reference: nn.Transformer, table: Tensor, src: Tensor, tgt: Tensor, positions: str
) -> Tensor:
    """Return PyTorch's logits; its masks are true where attention is not allowed."""
    length = tgt.shape[1]
    states = reference(
        embed(table, src, positions),
        embed(table, tgt, positions),
        tgt_mask=torch.ones(length, length).triu(1).bool(),
        src_key_padding_mask=src == 0,
        memory_key_padding_mask=src == 0,
        tgt_key_padding_mask=tgt == 0,
    )
    return states @ table.T


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [{}, {"n_heads": 1, "n_layers": 3}, {"n_heads": 24}])
@pytest.mark.parametrize(
    # Our table of sinusoids is float32, so results agree up to float32 rounding.
    ("positions", "tolerance"),
    [("none", 1e-10), ("sinusoidal", 2e-5)],
)
def test_outputs_and_gradients_equal_torch(
    seed: int, shape: dict[str, Any], positions: str, tolerance: float
) -> None:
    model = make_model(seed, positions=positions, **shape).train()  # no dropout
    reference = make_reference(**shape)
    table = copy_weights(model, reference)
    logits, torch_logits = (
        model(SRC, TGT),
        reference_logits(reference, table, SRC, TGT, positions),
    )
    torch.testing.assert_close(logits, torch_logits, rtol=0, atol=tolerance)

    direction = torch.randn_like(logits)
    (logits * direction).sum().backward()
    (torch_logits * direction).sum().backward()
    pairs = [*counterparts(model, reference), (model.embedding.weight, table)]
    assert {id(our_weight) for our_weight, _ in pairs} == {
        id(weight) for weight in model.parameters()
    }
    for our_weight, torch_weight in pairs:
        assert our_weight.grad is not None
        assert torch_weight.grad is not None
        scale = torch_weight.grad.abs().max().item()
        assert scale > 0
        torch.testing.assert_close(
            our_weight.grad, torch_weight.grad, rtol=0, atol=tolerance * scale
        )


@torch.no_grad()
def test_float32_equals_torch() -> None:
    model, reference = make_model(5, positions="none"), make_reference()
    table = copy_weights(model, reference)
    torch_logits = reference_logits(reference, table, SRC, TGT, "none")
    logits = model.float()(SRC, TGT)
    torch.testing.assert_close(logits.double(), torch_logits, rtol=0, atol=1e-4)
