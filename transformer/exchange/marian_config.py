"""A Marian model's config.json as a config of ours, or one sentence on what does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformer.checkpoint import MOST_PLACES, CheckpointError
from transformer.config import ModelConfig

ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
"""What `transformers` calls them, and we."""
SAME = (
    ("encoder_layers", "decoder_layers"),
    ("encoder_attention_heads", "decoder_attention_heads"),
    ("encoder_ffn_dim", "decoder_ffn_dim"),
)
"""Sizes of both stacks that are one size here."""
_BEFORE = "its LayerNorm before each sublayer and not after the sum"
LACKS = {
    "bart": "a LayerNorm on the embeddings, learned positions counted from 2 and pieces of bytes",
    "mbart": f"{_BEFORE}, one on the embeddings and learned positions that count from 2",
    "m2m_100": f"{_BEFORE} and positions that count from 2",
    "t5": f"{_BEFORE}, of another kind, and positions as a bias of the scores",
}
"""What models of other types have and ours has not, by their code in `transformers` 5.23."""
MUST = {"share_encoder_decoder_embeddings": True, "tie_word_embeddings": True}
"""What another value of these would mean is another model than ours; left out, it is so."""


def model_config(said: Mapping[str, Any], vocab_size: int, start: int, unk_id: int) -> ModelConfig:
    """Our config.

    Args:
        said: config.json, with what generation_config.json says over it.
        vocab_size: of ours, which may have a piece more for the start.
        start: id of what the decoder reads first, here.
        unk_id: of `<unk>`, which the config does not name.

    Raises:
        CheckpointError: for a model that ours is not, with both values.
    """
    check(said)
    try:
        found = ModelConfig(
            vocab_size=vocab_size,
            d_model=said["d_model"],
            n_layers=said["encoder_layers"],
            n_heads=said["encoder_attention_heads"],
            d_ff=said["encoder_ffn_dim"],
            dropout=said.get("dropout", 0.1),
            max_len=said.get("max_position_embeddings", 512),
            pad_id=said["pad_token_id"],
            bos_id=start,
            eos_id=said["eos_token_id"],
            unk_id=unk_id,
            biases=True,
            activation=ACTIVATIONS[said["activation_function"]],  # type: ignore[arg-type]
            output_bias=True,
            scale_embedding=said.get("scale_embedding", False),
        )
    except KeyError as error:
        raise CheckpointError(f"its config.json says nothing of {error.args[0]}") from error
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"its config.json does not fit: {error}") from error
    if found.max_len * found.d_model > MOST_PLACES:  # sinusoids: no file has as many numbers
        raise CheckpointError(
            f"its config.json asks for {found.max_len:,} positions of {found.d_model:,}; all "
            f"together may be {MOST_PLACES:,} numbers"
        )
    return found


def check(said: Mapping[str, Any]) -> None:
    """Raises CheckpointError for what ours is not."""
    kind = said.get("model_type")
    if kind != "marian":
        why = f", which has {LACKS[kind]}" if isinstance(kind, str) and kind in LACKS else ""
        raise CheckpointError(f"it is a model of type {kind!r}{why}; 'marian' can be imported")
    for name, value in MUST.items():
        if said.get(name, value) is not value:
            raise CheckpointError(
                f"its {name} is {said[name]!r}; it must be {value}, for one table serves source, "
                "target and output here"
            )
    for one, other in SAME:
        if said.get(one) != said.get(other):
            raise CheckpointError(
                f"its {one} is {said.get(one)!r} and its {other} {said.get(other)!r}; here both "
                "stacks are alike"
            )
    size, other_size = said.get("vocab_size"), said.get("decoder_vocab_size")
    if other_size not in (None, size):
        raise CheckpointError(
            f"it has {size!r} pieces for the source and {other_size!r} for the target; here one "
            "vocabulary serves both"
        )
    activation = said.get("activation_function")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise CheckpointError(
            f"its activation is {activation!r}; it must be one of {', '.join(ACTIVATIONS)}"
        )
