"""The layers of the model, each compared with an independent implementation."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tests.model.small import SRC, TGT, capture, make_config, make_model
from transformer.hooks import Hooks
from transformer.model import Transformer
from transformer.model.layers import AddAndNorm, FeedForward


def test_ffn_equals_two_convolutions_of_kernel_1() -> None:
    """Section 3.3: "two convolutions with kernel size 1"; numbers and all gradients."""
    ffn = FeedForward(make_config()).double()
    with torch.no_grad():
        ffn.w_1.bias.normal_()
        ffn.w_2.bias.normal_()
    x = torch.randn(3, 5, 24).double().requires_grad_()

    def convolutions(x: Tensor) -> Tensor:
        hidden = functional.conv1d(x.mT, ffn.w_1.weight[:, :, None], ffn.w_1.bias)
        out = functional.conv1d(hidden.clamp(min=0), ffn.w_2.weight[:, :, None], ffn.w_2.bias)
        return out.mT

    inputs = [x, *ffn.parameters()]
    output, expected = ffn(x), convolutions(x)
    torch.testing.assert_close(output, expected)
    direction = torch.randn_like(output)
    for our_gradient, their_gradient in zip(
        torch.autograd.grad(output, inputs, direction),
        torch.autograd.grad(expected, inputs, direction),
        strict=True,
    ):
        assert our_gradient.abs().max() > 0
        torch.testing.assert_close(our_gradient, their_gradient)


def test_add_and_norm_equals_an_explicit_computation() -> None:
    box = AddAndNorm(make_config()).double()
    with torch.no_grad():
        box.norm.weight.normal_()
        box.norm.bias.normal_()
    x, sublayer = torch.randn(2, 3, 24).double(), torch.randn(2, 3, 24).double()
    total = x + sublayer
    centred = total - total.mean(-1, keepdim=True)
    normed = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(box(x, sublayer), normed * box.norm.weight + box.norm.bias)


def test_dropout_applies_to_the_sublayer_and_not_to_the_residual() -> None:
    box = AddAndNorm(make_config(dropout=0.5)).double()
    box.hook_sum.name = "sum"
    x, sublayer = torch.randn(4, 9, 24).double(), torch.randn(4, 9, 24).double()
    captured: list[Tensor] = []
    box(x, sublayer, Hooks({"sum": lambda tensor, name: captured.append(tensor)}))
    share = (captured[0] - x) / sublayer
    dropped = torch.isclose(share, torch.zeros(()).double(), atol=1e-9)
    is_kept = torch.isclose(share, torch.full((), 2.0).double(), atol=1e-9)
    assert (dropped ^ is_kept).all()
    assert dropped.any()
    assert is_kept.any()


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_dropout_applies_to_embedding_sums_in_training(side: str) -> None:
    """Section 5.4: dropout on the sums of embeddings and positions, in both stacks."""
    model = make_model(dropout=0.5).train()
    captured = capture(model, SRC, TGT)
    total = captured[f"{side}.embed.hook_tokens"] + captured[f"{side}.embed.hook_positions"]
    share = captured[f"{side}.embed.hook_output"] / total
    assert share.unique().tolist() == pytest.approx([0, 2])


def test_every_box_reads_the_output_of_the_one_before() -> None:
    """Input and output of each box, written down from Figure 1."""
    model = make_model()
    captured = capture(model, SRC, TGT)
    for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "cross_attn"])):
        stream = captured[f"{side}.embed.hook_output"]
        for layer in range(2):
            for box in [*attentions, "ffn"]:
                path = f"{side}.layers.{layer}.{box}"
                total = stream + captured[f"{path}.hook_output"]
                torch.testing.assert_close(captured[f"{path}_norm.hook_sum"], total)
                norm = model.get_submodule(f"{path}_norm.norm")
                stream = captured[f"{path}_norm.hook_output"]
                torch.testing.assert_close(stream, norm(total))
        end = captured["encoder.hook_memory"] if side == "encoder" else None
        assert end is None or torch.equal(end, stream)
    torch.testing.assert_close(captured["logits"], stream @ model.embedding.weight.T)


@pytest.mark.parametrize("n_layers", [1, 6])
def test_a_new_encoder_distinguishes_positions(n_layers: int) -> None:
    """In post-norm encoders all positions can become equal; a new one must not start near that."""
    model = Transformer(make_config(vocab_size=50, d_model=64, n_layers=n_layers, n_heads=4)).eval()
    memory = model.encode(torch.randint(4, 50, (8, 20)))
    shared = memory.mean(1, keepdim=True)
    assert (memory - shared).var() > 0.6 * memory.var()
    first = model.encoder.layers[0]
    assert first.ffn.w_2.weight.std() < 1.1 * (2 * n_layers) ** -0.5 * first.ffn.w_1.weight.std()
