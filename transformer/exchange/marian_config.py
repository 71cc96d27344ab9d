"""Conversion of a Marian model's config.json to a `ModelConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformer.checkpoint import MAX_POSITION_NUMBERS, CheckpointError
from transformer.config import ModelConfig

ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
"""Names of activations in `transformers`, and in `ModelConfig`."""
EQUAL_SIZES = (
    ("encoder_layers", "decoder_layers"),
    ("encoder_attention_heads", "decoder_attention_heads"),
    ("encoder_ffn_dim", "decoder_ffn_dim"),
)
"""Sizes of encoder and decoder that must be equal in `ModelConfig`."""
_PRE_NORM = "LayerNorm before each sublayer (pre-norm)"
MISSING_FEATURES = {
    "bart": "LayerNorm on the embeddings, learned positions from 2, and byte-level pieces",
    "mbart": f"{_PRE_NORM} and on the embeddings, and learned positions from 2",
    "m2m_100": f"{_PRE_NORM}, and positions from 2",
    "t5": f"{_PRE_NORM} without a mean, and positions as a bias of the scores",
}
"""Features of other model types that `Transformer` does not have, from `transformers` 5.23."""
REQUIRED = {"share_encoder_decoder_embeddings": True, "tie_word_embeddings": True}
"""Required values; a missing entry has this value."""


def model_config(
    config: Mapping[str, Any], vocab_size: int, start: int, unk_id: int
) -> ModelConfig:
    """Return the `ModelConfig` for a Marian config.

    Args:
        config: config.json, updated with generation_config.json.
        vocab_size: size of the converted vocabulary, which may have an additional start token.
        start: id of the decoder's start token.
        unk_id: id of `<unk>`, which the config does not have.

    Raises:
        CheckpointError: for a missing or invalid value; `check` refuses models that cannot be
            represented.
    """
    try:
        converted = ModelConfig(
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
        raise CheckpointError(f"its config.json cannot be converted: {error}") from error
    if (
        converted.max_len * converted.d_model > MAX_POSITION_NUMBERS
    ):  # sinusoids are not stored, so no file bounds their size
        raise CheckpointError(
            f"its config.json has {converted.max_len:,} positions of {converted.d_model:,} "
            f"numbers; "
            f"the limit is {MAX_POSITION_NUMBERS:,} numbers"
        )
    return converted


def check(config: Mapping[str, Any]) -> None:
    """Raise CheckpointError for the config of a model that `Transformer` cannot represent."""
    kind = config.get("model_type")
    if kind != "marian":
        reason = (
            f", which has {MISSING_FEATURES[kind]}"
            if isinstance(kind, str) and kind in MISSING_FEATURES
            else ""
        )
        raise CheckpointError(f"its model type is {kind!r}{reason}; only 'marian' can be imported")
    for name, value in REQUIRED.items():
        if config.get(name, value) is not value:
            raise CheckpointError(
                f"its {name} is {config[name]!r}; it must be {value}, because here one table "
                "serves source, target and output"
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
