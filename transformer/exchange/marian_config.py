"""Conversion of a Marian model's config.json to our `ModelConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformer.checkpoint import MAX_POSITION_NUMBERS, CheckpointError
from transformer.config import ModelConfig

ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
"""Names of activations in `transformers`, and ours."""
EQUAL_SIZES = (
    ("encoder_layers", "decoder_layers"),
    ("encoder_attention_heads", "decoder_attention_heads"),
    ("encoder_ffn_dim", "decoder_ffn_dim"),
)
"""Sizes of encoder and decoder that must be equal here."""
_PRE_NORM = "its LayerNorm before each sublayer and not after the sum"
MISSING_FEATURES = {
    "bart": "a LayerNorm on the embeddings, learned positions counted from 2 and pieces of bytes",
    "mbart": f"{_PRE_NORM}, one on the embeddings and learned positions that count from 2",
    "m2m_100": f"{_PRE_NORM} and positions that count from 2",
    "t5": f"{_PRE_NORM}, of another kind, and positions as a bias of the scores",
}
"""Features of other model types that ours does not have, from `transformers` 5.23."""
REQUIRED = {"share_encoder_decoder_embeddings": True, "tie_word_embeddings": True}
"""Required values; a missing entry has this value."""


def model_config(
    config: Mapping[str, Any], vocab_size: int, start: int, unk_id: int
) -> ModelConfig:
    """Return our config for a Marian config.

    Args:
        config: config.json, updated with generation_config.json.
        vocab_size: our vocabulary size, which may include one piece more for the start.
        start: our id of the token that the decoder reads first.
        unk_id: id of `<unk>`, which the config does not have.

    Raises:
        CheckpointError: for a model that cannot be represented, with both values.
    """
    check(config)
    try:
        ours = ModelConfig(
            vocab_size=vocab_size,
            d_model=config["d_model"],
            n_layers=config["encoder_layers"],
            n_heads=config["encoder_attention_heads"],
            d_ff=config["encoder_ffn_dim"],
            dropout=config.get("dropout", 0.1),
            max_len=config.get("max_position_embeddings", 512),
            pad_id=config["pad_token_id"],
            bos_id=start,
            eos_id=config["eos_token_id"],
            unk_id=unk_id,
            biases=True,
            activation=ACTIVATIONS[config["activation_function"]],  # type: ignore[arg-type]
            output_bias=True,
            scale_embedding=config.get("scale_embedding", False),
        )
    except KeyError as error:
        raise CheckpointError(f"its config.json has no {error.args[0]}") from error
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"its config.json does not fit: {error}") from error
    if (
        ours.max_len * ours.d_model > MAX_POSITION_NUMBERS
    ):  # sinusoids are not stored, so no file bounds their size
        raise CheckpointError(
            f"its config.json asks for {ours.max_len:,} positions of {ours.d_model:,}; all "
            f"together may be {MAX_POSITION_NUMBERS:,} numbers"
        )
    return ours


def check(config: Mapping[str, Any]) -> None:
    """Raise CheckpointError if the config is of a model that ours cannot represent."""
    kind = config.get("model_type")
    if kind != "marian":
        why = (
            f", which has {MISSING_FEATURES[kind]}"
            if isinstance(kind, str) and kind in MISSING_FEATURES
            else ""
        )
        raise CheckpointError(f"it is a model of type {kind!r}{why}; 'marian' can be imported")
    for name, value in REQUIRED.items():
        if config.get(name, value) is not value:
            raise CheckpointError(
                f"its {name} is {config[name]!r}; it must be {value}, for one table serves source, "
                "target and output here"
            )
    for encoder_key, decoder_key in EQUAL_SIZES:
        if config.get(encoder_key) != config.get(decoder_key):
            raise CheckpointError(
                f"its {encoder_key} is {config.get(encoder_key)!r} and its {decoder_key} "
                f"{config.get(decoder_key)!r}; here both stacks have the same sizes"
            )
    size, other_size = config.get("vocab_size"), config.get("decoder_vocab_size")
    if other_size not in (None, size):
        raise CheckpointError(
            f"it has {size!r} pieces for the source and {other_size!r} for the target; here one "
            "vocabulary serves both"
        )
    activation = config.get("activation_function")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise CheckpointError(
            f"its activation is {activation!r}; it must be one of {', '.join(ACTIVATIONS)}"
        )
