"""Export of a checkpoint as a Marian folder for `transformers`.

Marian's decoder starts with the embedding of `<pad>`, the last token of the vocabulary. So `<s>` is
left out, and its embedding becomes that of `<pad>`, where it remains when `transformers` saves the
model again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from transformer.checkpoint import CARD, CheckpointError, load_checkpoint, load_languages, read_card
from transformer.config import ModelConfig
from transformer.exchange import names
from transformer.exchange.folder import WEIGHTS
from transformer.exchange.model_card import LIBRARIES, model_card
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.files import new_folder
from transformer.text.languages import Languages

MAX_OUTPUT_LENGTH = 512
"""Maximum output length in generation_config.json, including `</s>`."""
PAD_BIAS = -1000.0
"""Output bias of `<pad>`, whose embedding is the start vector: its probability, e^-1000, is 0."""


def export_marian(folder: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    """Write a checkpoint as a Marian folder, with its card; see `write_marian`."""
    path = Path(folder)
    languages = load_languages(path)
    write_marian(*load_checkpoint(path), out, read_card(path), languages, model_name=str(path))


def write_marian(
    model: Transformer,
    vocabulary: Vocabulary,
    out: str | os.PathLike[str],
    card: str = "",
    languages: Languages | None = None,
    licence: str | None = None,
    *,
    model_name: str = "the model",
) -> None:
    """Write config.json, model.safetensors, the vocabulary's files and the card.

    The ids of the folder differ: `<s>` is left out and `<pad>`, with its embedding, is last.
    Missing biases become zeros. `<pad>` and `<unk>` are excluded from outputs, as in this package.

    Args:
        card: the card to extend; see `model_card`, also for `languages` and `licence`.
        model_name: name of the model in error messages.

    Raises:
        CheckpointError: for a model that cannot be a Marian model, or a folder that exists already.
        ValueError: as `model_card`.
    """
    target = Path(out)
    _check(model_name, model.config)
    if target.exists():
        raise CheckpointError(f"{target} already exists; give the path of a new folder")
    sides = zip(("source_lang", "target_lang"), languages or (), strict=False)
    tokenizer = {
        "tokenizer_class": "MarianTokenizer",
        "model_max_length": MAX_OUTPUT_LENGTH,
        **dict(sides),
    }
    new_card = model_card(
        card, model.config, library=LIBRARIES["marian"], languages=languages, licence=licence
    )
    contents = {
        "config.json": _json(_config(model.config)),
        "generation_config.json": _json(_generation(model.config)),
        WEIGHTS: save(_marian_weights(model), metadata={"format": "pt"}),
        **_vocabulary(vocabulary, model.config),
        "tokenizer_config.json": _json(tokenizer),
        CARD: new_card.encode(),
    }
    with new_folder(target) as folder:
        for name, content in contents.items():
            (folder / name).write_bytes(content)


def _check(model_name: str, config: ModelConfig) -> None:
    for name, required in (("score", "scaled_dot"), ("positions", "sinusoidal")):
        value = getattr(config, name)
        if value != required:
            raise CheckpointError(
                f"{model_name} cannot be a Marian model: its {name} is {value!r}, Marian's "
                f"is {required!r}"
            )


def _marian_weights(model: Transformer) -> dict[str, Tensor]:
    """Return the weights with Marian's names and order of channels."""
    config = model.config
    weights_by_name = {
        name: weight.detach().cpu().float() for name, weight in model.named_parameters()
    }
    if not config.biases:
        d = config.d_model
        for name in [name for name in weights_by_name if name.endswith(("w_qkv", "w_o"))]:
            path, _, end = name.rpartition("w_")
            weights_by_name[f"{path}b_{end}"] = torch.zeros(
                3 * d if end == "qkv" else d, device="cpu"
            )
    reordered = names.reorder_channels(
        weights_by_name, names.marian_channels(config.d_model).argsort()
    )
    exported_ids = _exported_ids(config)
    table = reordered["embedding.weight"][exported_ids]
    start = reordered["embedding.weight"][config.bos_id]
    bias = reordered.get("output_bias", torch.zeros(config.vocab_size, device="cpu"))[exported_ids]
    if not torch.equal(table[-1], start):  # they are equal in an imported Marian model
        table[-1], bias[-1] = start, PAD_BIAS
    return {
        names.EMBEDDING_TABLE: table,
        names.OUTPUT_BIAS: bias[None],
        **names.to_marian(reordered, config.n_layers),
    }


def _exported_ids(config: ModelConfig) -> list[int]:
    """Return the vocabulary's ids in the order of the folder's ids: without `<s>`, `<pad>` last."""
    special = (config.bos_id, config.pad_id)
    return [id for id in range(config.vocab_size) if id not in special] + [config.pad_id]


def _n_positions(config: ModelConfig) -> int:
    return max(2 * MAX_OUTPUT_LENGTH, config.max_len)


def _config(config: ModelConfig) -> dict[str, Any]:
    stacks = ("encoder", "decoder")
    sizes = {"layers": config.n_layers, "attention_heads": config.n_heads, "ffn_dim": config.d_ff}
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": len(_exported_ids(config)),
        "decoder_vocab_size": len(_exported_ids(config)),
        "d_model": config.d_model,
        **{f"{stack}_{name}": size for stack in stacks for name, size in sizes.items()},
        "activation_function": config.activation,
        "dropout": config.dropout,
        "max_position_embeddings": _n_positions(config),
        "scale_embedding": config.scale_embedding,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        **_special_ids(config),
    }


def _special_ids(config: ModelConfig) -> dict[str, Any]:
    exported_ids = _exported_ids(config)
    pad, eos = exported_ids.index(config.pad_id), exported_ids.index(config.eos_id)
    return {
        "pad_token_id": pad,
        "eos_token_id": eos,
        "decoder_start_token_id": pad,
        "forced_eos_token_id": eos,
    }


def _generation(config: ModelConfig) -> dict[str, Any]:
    exported_ids = _exported_ids(config)
    forbidden = [[exported_ids.index(config.pad_id)], [exported_ids.index(config.unk_id)]]
    return {
        **_special_ids(config),
        "bad_words_ids": forbidden,
        "max_length": MAX_OUTPUT_LENGTH,
        "num_beams": 1,
    }


def _vocabulary(vocabulary: Vocabulary, config: ModelConfig) -> dict[str, bytes]:
    """Return source.spm, target.spm and vocab.json; a single model is used for both sides."""
    pieces = vocabulary.tokens(_exported_ids(config))
    if len(set(pieces)) < len(pieces):
        raise CheckpointError(
            f"the vocabulary has {len(pieces)} pieces but only {len(set(pieces))} different ones; "
            "pieces must be unique"
        )
    pair = vocabulary.pair
    source, target = (vocabulary.to_bytes(),) * 2 if pair is None else pair.files
    ids = {piece: id for id, piece in enumerate(pieces)}
    return {"source.spm": source, "target.spm": target, "vocab.json": _json(ids)}


def _json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()
