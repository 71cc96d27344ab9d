"""Without the folder `inference/fast`, translations are the same: greedy, sampling and beam
search."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

from tests.inference import models
from transformer.inference.acceleration import fast_products
from transformer.inference.backend import Backend
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding

FAST = "transformer.inference.fast"
OPTIONS = [
    {"max_len": 14},
    {"max_len": 14, "beam_size": 4},
    {"max_len": 14, "method": "sample", "seed": 3, "top_k": 5},
]


def block_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that the folder is missing: a module that is None cannot be imported."""
    for name in [name for name in sys.modules if name.startswith(f"{FAST}.")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, FAST, None)


@pytest.mark.parametrize("options", OPTIONS)
def test_the_plain_backend_decodes_the_same(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, sources = models.copier(), models.many_sources(12)
    default = SequenceDecoder(model, "fp32").run(sources, Decoding(**options))
    block_fast(monkeypatch)
    plain = SequenceDecoder(model, "fp32")
    assert type(plain.backend) is Backend
    for output, expected in zip(plain.run(sources, Decoding(**options)), default, strict=True):
        models.assert_same_output(output, expected)
    for source, expected in zip(sources, default, strict=True):
        models.assert_same_output(plain.run([source], Decoding(**options))[0], expected)


def test_products_equal_those_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    block_fast(monkeypatch)
    layer, x = torch.nn.Linear(70, 80), torch.ones(40, 70)
    with fast_products(), torch.no_grad():
        assert torch.equal(layer(x), torch.nn.functional.linear(x, layer.weight, layer.bias))
