"""Configurations: invalid values are refused, and JSON keeps all fields."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import jaxtyping
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import ModelConfig, TrainingConfig

NAN, INF = math.nan, math.inf


@pytest.fixture
def without_type_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the tests' type checker, which would refuse wrong types before our code does."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.parametrize("name", ["d_model", "n_layers", "n_heads", "d_ff", "max_len"])
@pytest.mark.parametrize("value", [0, -3])
def test_sizes_below_one_are_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be at least 1, not {value}$"):
        ModelConfig(**{"vocab_size": 50, name: value})


@pytest.mark.usefixtures("without_type_checker")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 100, "n_heads": 3}, "d_model 100 must be a multiple of n_heads 3"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, not 1.0"),
        ({"dropout": -0.25}, "dropout must be at least 0 and below 1, not -0.25"),
        ({"dropout": NAN}, "dropout must be a finite number, not nan"),
        ({"dropout": "0.1"}, "dropout must be a finite number, not '0.1'"),
        ({"dropout": True}, "dropout must be a finite number, not True"),
        ({"d_model": 64.0}, "d_model must be a whole number, not 64.0"),
        ({"n_layers": True}, "n_layers must be a whole number, not True"),
        ({"vocab_size": None}, "vocab_size must be a whole number, not None"),
        ({"score": "cosine"}, "score must be one of scaled_dot, dot, additive, not 'cosine'"),
        ({"positions": 7}, "positions must be one of sinusoidal, learned, none, not 7"),
        ({"vocab_size": 3}, "four different ids below vocab_size 3, not (0, 1, 2, 3)"),
        ({"unk_id": 50}, "four different ids below vocab_size 50, not (0, 1, 2, 50)"),
        ({"pad_id": 2}, "four different ids below vocab_size 50, not (2, 1, 2, 3)"),
        ({"bos_id": -1}, "four different ids below vocab_size 50, not (0, -1, 2, 3)"),
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


@st.composite
def model_configs(draw: st.DrawFn) -> ModelConfig:
    vocab_size, n_heads = draw(st.integers(4, 10**6)), draw(st.integers(1, 64))
    special = draw(st.lists(st.integers(0, vocab_size - 1), min_size=4, max_size=4, unique=True))
    return ModelConfig(
        vocab_size=vocab_size,
        d_model=n_heads * draw(st.integers(1, 128)),
        n_layers=draw(st.integers(1, 48)),
        n_heads=n_heads,
        d_ff=draw(st.integers(1, 10**5)),
        dropout=draw(st.floats(0, 1, exclude_max=True)),
        score=draw(st.sampled_from(["scaled_dot", "dot", "additive"])),
        positions=draw(st.sampled_from(["sinusoidal", "learned", "none"])),
        max_len=draw(st.integers(1, 10**5)),
        **dict(zip(("pad_id", "bos_id", "eos_id", "unk_id"), special, strict=True)),
    )


@given(model_configs())
def test_a_model_survives_json(config: ModelConfig) -> None:
    reloaded = ModelConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert reloaded == config
    assert hash(reloaded) == hash(config)
    assert reloaded.d_k * reloaded.n_heads == reloaded.d_model


@given(
    steps=st.integers(1, 10**9),
    minutes=st.floats(0, 10**6),
    rate=st.floats(0, 10),
    smoothing=st.floats(0, 1, exclude_max=True),
    precision=st.sampled_from(["bf16", "fp32"]),
)
def test_a_run_survives_json(
    steps: int, minutes: float, rate: float, smoothing: float, precision: Any
) -> None:
    config = TrainingConfig(
        steps=steps,
        minutes=minutes,
        learning_rate=rate,
        label_smoothing=smoothing,
        precision=precision,
    )
    assert TrainingConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.usefixtures("without_type_checker")
@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (ModelConfig, {"d_modle": 8}, "no field 'd_modle'; did you mean 'd_model'"),
        (ModelConfig, {"layers": 8}, "no field 'layers'; did you mean 'n_layers'"),
        (ModelConfig, {"qqq": 8}, "no field 'qqq'"),
        (ModelConfig, {"d_model": 64}, "ModelConfig needs a value for vocab_size"),
        (ModelConfig, {"vocab_size": "50"}, "vocab_size must be a whole number, not '50'"),
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


def test_unknown_presets_and_fields_are_refused_with_suggestions() -> None:
    with pytest.raises(ValueError, match="tiny, small, base, big; did you mean 'small'"):
        ModelConfig.preset("smal", vocab_size=50)
    with pytest.raises(ValueError, match="no field 'heads'; did you mean 'n_heads'"):
        ModelConfig.preset("tiny", vocab_size=50, heads=3)
