"""The loss of a model whose logits have a bias, as those of others do."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from transformer.training import loss
from transformer.training.loss import smoothed_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_equals_torch_with_its_gradients(smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "SLICE_ROWS", 4)
    target = torch.randint(1, 13, (7, 5)) * (torch.rand(7, 5) < 0.7)
    leaves = [
        torch.randn(shape, dtype=torch.float64).requires_grad_()
        for shape in ((7, 5, 8), (13, 8), (13,))
    ]
    states, weight, bias = leaves
    mine, _ = smoothed_cross_entropy(
        states, weight, target, smoothing=smoothing, pad_id=0, bias=bias
    )
    logits = (states @ weight.T + bias).flatten(0, 1)
    its = functional.cross_entropy(
        logits, target.flatten(), ignore_index=0, reduction="sum", label_smoothing=smoothing
    )
    torch.testing.assert_close(mine, its)
    for found, expected in zip(
        torch.autograd.grad(mine, leaves), torch.autograd.grad(its, leaves), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
