"""ONNX Runtime's copies of the weights: renewed after an edit, and freed with the model."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from tests.inference import models
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding
from transformer.model import Transformer

OPTIONS = Decoding(max_len=3)


def log_probabilities(decoder: SequenceDecoder) -> list[float]:
    output = decoder.run(models.SOURCES[:1], OPTIONS)[0].decoded
    return [*map(float, output.log_probabilities)]


def edit(model: Transformer, name: str, weight: torch.Tensor, how: str) -> None:
    change = torch.linspace(-0.3, 0.7, weight.numel()).view_as(weight)
    if how == "replaced":
        module, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(module), attribute, torch.nn.Parameter(weight + change))
        return
    with torch.no_grad():
        edited = weight.data if how == "through .data" else weight
        edited += change


@pytest.mark.parametrize("how", ["in place", "through .data", "replaced"])
def test_edited_weights_take_effect_in_the_next_call(how: str) -> None:
    """Edit each weight and compare with a decoder created after the edit."""
    model = models.untrained(positions="learned", biases=True, output_bias=True)
    decoder = SequenceDecoder(model)
    result = log_probabilities(decoder)
    for name, weight in list(model.named_parameters()):
        edit(model, name, weight, how)
        previous, result = result, log_probabilities(decoder)
        assert result == log_probabilities(SequenceDecoder(model)), name
        assert result != previous, f"{name}: the edit did not change the result"


@pytest.mark.parametrize("how", ["through .data", "through NumPy", "loaded"])
def test_weights_in_another_order_take_effect(how: str) -> None:
    """The sums of their values stay the same."""
    model, name = models.untrained(), "decoder.layers.0.self_attn.w_o"
    decoder = SequenceDecoder(model)
    before = log_probabilities(decoder)
    weight = model.get_parameter(name)
    if how == "through .data":
        weight.data.copy_(weight.data.flip(0))
    elif how == "through NumPy":
        weight.detach().numpy()[:] = weight.detach().numpy()[::-1].copy()
    else:
        model.load_state_dict({**model.state_dict(), name: weight.detach().flip(0)})
    assert log_probabilities(decoder) == log_probabilities(SequenceDecoder(model)) != before


@pytest.mark.cpu
def test_sessions_are_freed_with_the_model() -> None:
    model = models.untrained()
    decoder = SequenceDecoder(model)
    decoder.run(models.SOURCES, OPTIONS)
    assert decoder.onnx_model is not None
    sessions = decoder.onnx_model.loaded("encoder") + decoder.onnx_model.loaded("decoder")
    references = [weakref.ref(value) for value in (*sessions, model)]
    del decoder, model, sessions
    gc.collect()
    assert [reference() for reference in references] == [None] * 4


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_another_number_format_runs_in_pytorch(dtype: torch.dtype) -> None:
    model = models.untrained().to(dtype)
    decoder = SequenceDecoder(model)
    assert decoder.onnx_model is None
    assert decoder.encode(models.SOURCES).states.dtype == dtype
    assert len(decoder.run(models.SOURCES, OPTIONS)) == len(models.SOURCES)
