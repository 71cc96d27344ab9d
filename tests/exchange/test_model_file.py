"""A model that a browser saved as one file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from transformer import Translator
from transformer.checkpoint import CheckpointError, save_checkpoint
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text import Vocabulary

SYMBOLS = ["b", "a", "c"]


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(0)
    return Transformer(
        ModelConfig(vocab_size=7, d_model=16, n_layers=1, n_heads=2, d_ff=32, max_len=32)
    )


def write(path: Path, model: Transformer, **changes: str) -> Path:
    metadata = {"config": json.dumps(model.config.to_dict()), "symbols": json.dumps(SYMBOLS)}
    weights = {name: p.detach() for name, p in model.named_parameters()}
    save_file(weights, path, {**metadata, **changes})
    return path


def test_the_file_loads_like_the_same_checkpoint(tmp_path: Path, model: Transformer) -> None:
    save_checkpoint(tmp_path / "folder", model, Vocabulary.from_symbols(SYMBOLS), "")
    expected = Translator.load(tmp_path / "folder", "cpu")
    translator = Translator.load(write(tmp_path / "reverse.safetensors", model), "cpu")
    assert translator.vocabulary.encode("b a c") == [4, 5, 6, 2]
    trace, expected_trace = (each.trace("b a c", target="a b") for each in (translator, expected))
    assert np.array_equal(trace.weights("cross", 0), expected_trace.weights("cross", 0))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"symbols": "["}, "its symbols is not JSON"),
        ({"symbols": '["a", "a", "b"]'}, 'The symbol "a" occurs twice'),
        ({"symbols": '["a"]'}, "vocabulary"),
        ({"config": '{"d_model": 8}'}, "vocab_size"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(
    tmp_path: Path, model: Transformer, changes: dict[str, str], problem: str
) -> None:
    path = write(tmp_path / "reverse.safetensors", model, **changes)
    with pytest.raises(CheckpointError, match=problem) as error:
        Translator.load(path, "cpu")
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
