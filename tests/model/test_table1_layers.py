"""The layers of Table 1, LSTM and GRU, compared with torch's (copied weights) and plain sums."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from transformer.model import table1_layers


def vectors(n: int, d: int = 6, batch: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(n)
    options: dict[str, Any] = {"dtype": torch.float64, "device": "cpu"}
    return torch.randn(batch, n, d, generator=generator, **options).to(torch.get_default_device())


@pytest.mark.parametrize("n_heads", [1, 3])
def test_self_attention_equals_torch(n_heads: int) -> None:
    layer = table1_layers.SelfAttention(table1_layers.LayerConfig(6, n_heads=n_heads)).double()
    torch_layer = nn.MultiheadAttention(6, n_heads, bias=False, batch_first=True).double()
    with torch.no_grad():
        torch_layer.in_proj_weight.copy_(layer.attention.w_qkv)
        torch_layer.out_proj.weight.copy_(layer.attention.w_o)
    x = vectors(7)
    torch.testing.assert_close(layer(x), torch_layer(x, x, x, need_weights=False)[0])


@pytest.mark.real_device
def test_the_recurrent_layer_equals_torch() -> None:
    layer, torch_layer = (
        table1_layers.Recurrent(table1_layers.LayerConfig(6)).double(),
        nn.RNN(6, 6, batch_first=True).double(),
    )
    with torch.no_grad():
        layer.b.normal_()
        torch_layer.weight_ih_l0.copy_(layer.w.T)
        torch_layer.weight_hh_l0.copy_(layer.u.T)
        torch_layer.bias_ih_l0.copy_(layer.b)
        torch_layer.bias_hh_l0.zero_()
    x = vectors(9)
    torch.testing.assert_close(layer(x), torch_layer(x)[0])


@pytest.mark.parametrize(("k", "dilation"), [(1, 1), (3, 1), (5, 1), (3, 2), (3, 9), (5, 5)])
def test_the_convolution_equals_the_sum_over_its_taps(k: int, dilation: int) -> None:
    layer = table1_layers.Convolutional(
        table1_layers.LayerConfig(6, k=k, dilation=dilation)
    ).double()
    x = vectors(8)
    expected = layer.convolution.bias.expand_as(x).clone()
    for position in range(8):
        for tap in range(k):
            source = position + (tap - k // 2) * dilation
            if 0 <= source < 8:
                expected[:, position] += x[:, source] @ layer.convolution.weight[:, :, tap].T
    torch.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize("r", [1, 3, 7, 21])
@pytest.mark.parametrize("n_heads", [1, 2])
def test_restricted_attention_equals_full_attention_with_a_band_mask(r: int, n_heads: int) -> None:
    config = table1_layers.LayerConfig(6, r=r, n_heads=n_heads)
    layer, self_attention = (
        table1_layers.RestrictedAttention(config).double(),
        table1_layers.SelfAttention(config).double(),
    )
    self_attention.load_state_dict(layer.state_dict())
    x, positions = vectors(9), torch.arange(9)
    band = (positions[:, None] - positions).abs() <= r // 2
    torch.testing.assert_close(layer(x), self_attention.attention(x, x, band))


def test_restricted_attention_allocates_no_full_matrix() -> None:
    layer, largest = table1_layers.RestrictedAttention(table1_layers.LayerConfig(4, r=3)), 0

    def record(tensor: Tensor) -> Tensor:
        nonlocal largest
        largest = max(largest, tensor.numel())
        return tensor

    x = torch.randn(1, 500, 4, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(record, lambda tensor: tensor):
        layer(x).sum().backward()
    assert 0 < largest <= 500 * 4 * 3


@pytest.mark.parametrize(
    "layer", [*table1_layers.TABLE1_LAYERS.values(), *table1_layers.GATED.values()]
)
def test_gradients_equal_finite_differences(layer: type[nn.Module]) -> None:
    x = vectors(5, d=4, batch=1).requires_grad_()
    assert torch.autograd.gradcheck(layer(table1_layers.LayerConfig(4, n_heads=2)).double(), (x,))


@pytest.mark.parametrize(
    ("sizes", "problem"),
    [
        ({"d": 4, "k": 4}, "k must be odd, not 4"),
        ({"d": 4, "r": 2}, "r must be odd, not 2"),
        ({"d": 0}, "d must be at least 1, not 0"),
        ({"d": 4, "dilation": 0}, "dilation must be at least 1, not 0"),
    ],
)
def test_invalid_sizes_are_refused(sizes: dict[str, int], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        table1_layers.LayerConfig(**sizes)


@pytest.mark.real_device
@pytest.mark.parametrize(
    ("layer_class", "torch_class"), [(table1_layers.Lstm, nn.LSTM), (table1_layers.Gru, nn.GRU)]
)
@pytest.mark.parametrize("n", [1, 9])
def test_lstm_and_gru_equal_torch(
    layer_class: type[table1_layers.GatedRecurrent], torch_class: type[nn.LSTM | nn.GRU], n: int
) -> None:
    layer, reference = (
        layer_class(table1_layers.LayerConfig(6)).double(),
        torch_class(6, 6, batch_first=True).double(),
    )
    with torch.no_grad():
        layer.b.normal_()
        reference.weight_ih_l0.copy_(layer.w)
        reference.weight_hh_l0.copy_(layer.u)
        reference.bias_ih_l0.copy_(layer.b)
        reference.bias_hh_l0.zero_()
    torch.testing.assert_close(layer(vectors(n)), reference(vectors(n))[0])


def test_recurrent_matrices_are_initially_orthogonal() -> None:
    for block in table1_layers.Gru(table1_layers.LayerConfig(5)).double().u.chunk(3):
        eye = torch.eye(5, dtype=torch.float64)
        torch.testing.assert_close(block @ block.T, eye, atol=1e-6, rtol=0)
