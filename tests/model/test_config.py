"""Configurations: invalid values are refused, and JSON keeps all fields."""

from __future__ import annotations

import math
import re
from typing import Any

import jaxtyping
import pytest

from transformer.config import ModelConfig, TrainingConfig

NAN, INF = math.nan, math.inf


@pytest.fixture
def without_type_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the tests' type checker, which would refuse wrong types before our code does."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.parametrize("name", ["d_model", "n_layers", "n_heads", "d_ff", "max_len"])
def test_sizes_below_one_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be at least 1, not 0$"):
        ModelConfig(**{"vocab_size": 50, name: 0})


@pytest.mark.usefixtures("without_type_checker")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 100, "n_heads": 3}, "d_model 100 must be a multiple of n_heads 3"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, not 1.0"),
        ({"dropout": NAN}, "dropout must be a finite number, not nan"),
        ({"dropout": "0.1"}, "dropout must be a finite number, not '0.1'"),
        ({"d_model": 64.0}, "d_model must be a whole number, not 64.0"),
        ({"score": "cosine"}, "score must be one of scaled_dot, dot, additive, not 'cosine'"),
        ({"vocab_size": 3}, "four different ids below vocab_size 3, not (0, 1, 2, 3)"),
        ({"pad_id": 2}, "four different ids below vocab_size 50, not (2, 1, 2, 3)"),
    ],
)
def test_impossible_models_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        ModelConfig(**{"vocab_size": 50, **changes})


@pytest.mark.usefixtures("without_type_checker")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(
            ({name: 0}, f"{name} must be at least 1, not 0")
            for name in ("steps", "batch_tokens", "warmup", "save_every", "average")
        ),
        *(
            ({name: -1}, f"{name} must be at least 0, not -1")
            for name in ("minutes", "learning_rate", "clip_norm", "patience", "seed", "valid_every")
        ),
        *(
            ({name: value}, f"{name} must be a finite number, not {value}")
            for name in ("minutes", "learning_rate", "clip_norm")
            for value in (NAN, INF)
        ),
        ({"cooldown": 1.5}, "cooldown must be at least 0 and below 1, not 1.5"),
        ({"label_smoothing": 1.0}, "label_smoothing must be at least 0 and below 1, not 1.0"),
        ({"precision": "fp16"}, "precision must be bf16 or fp32, not 'fp16'"),
        ({"steps": 1e5}, "steps must be a whole number, not 100000.0"),
    ],
)
def test_impossible_runs_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        TrainingConfig(**changes)


@pytest.mark.usefixtures("without_type_checker")
@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (ModelConfig, {"d_modle": 8}, "no field 'd_modle'; did you mean 'd_model'"),
        (ModelConfig, {"d_model": 64}, "ModelConfig needs a value for vocab_size"),
        (TrainingConfig, {"warm_up": 8}, "no field 'warm_up'; did you mean 'warmup'"),
    ],
)
def test_unknown_and_missing_fields_are_refused(
    kind: type[ModelConfig | TrainingConfig], values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        kind.from_dict(values)


def test_presets_have_the_sizes_of_table_3() -> None:
    base = ModelConfig.preset("base", vocab_size=37_000)
    assert base == ModelConfig(vocab_size=37_000)
    assert (base.n_layers, base.d_model, base.d_ff, base.n_heads) == (6, 512, 2048, 8)
    assert (base.d_k, base.dropout) == (64, 0.1)
    big = ModelConfig.preset("big", vocab_size=37_000)
    assert (big.n_layers, big.d_model, big.d_ff, big.n_heads) == (6, 1024, 4096, 16)
    assert (big.d_k, big.dropout) == (64, 0.3)


def test_unknown_presets_are_refused_with_suggestions() -> None:
    with pytest.raises(ValueError, match="tiny, small, base, big; did you mean 'small'"):
        ModelConfig.preset("smal", vocab_size=50)
