"""A checkpoint of ours as a folder that `transformers` opens as a Marian model."""

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
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.files import new_folder

MOST = 512
"""Longest output that its generation_config.json asks for, `</s>` counted."""


def export_marian(folder: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    """Write config.json, model.safetensors, the vocabulary's files and the card.

    Biases that the model has not are zeros. Padding, `<s>` and `<unk>` are barred from its outputs,
    as they are here. Raises CheckpointError for a checkpoint that is none, a model that Marian's is
    not, or a folder that is there already.
    """
    path, target = Path(folder), Path(out)
    model, vocabulary = load_checkpoint(path)
    _check(path, model.config)
    if target.exists():
        raise CheckpointError(f"{target} is there already; give a folder that is not")
    sides = zip(("source_lang", "target_lang"), load_languages(path) or (), strict=False)
    tokenizer = {"tokenizer_class": "MarianTokenizer", "model_max_length": MOST, **dict(sides)}
    contents = {
        "config.json": _json(_config(model.config)),
        "generation_config.json": _json(_generation(model.config)),
        WEIGHTS: save(_theirs(model), metadata={"format": "pt"}),
        **_vocabulary(vocabulary),
        "tokenizer_config.json": _json(tokenizer),
        CARD: read_card(path).encode(),
    }
    with new_folder(target) as made:
        for name, content in contents.items():
            (made / name).write_bytes(content)


def _check(path: Path, config: ModelConfig) -> None:
    for name, wanted in (("score", "scaled_dot"), ("positions", "sinusoidal")):
        has = getattr(config, name)
        if has != wanted:
            raise CheckpointError(
                f"{path} cannot be a Marian model: its {name} is {has!r}, Marian's is {wanted!r}"
            )


def _theirs(model: Transformer) -> dict[str, Tensor]:
    """Our weights under their names, in their order of channels."""
    config = model.config
    ours = {name: weight.detach().cpu().float() for name, weight in model.named_parameters()}
    if not config.biases:
        d = config.d_model
        for name in [name for name in ours if name.endswith(("w_qkv", "w_o"))]:
            path, _, end = name.rpartition("w_")
            ours[f"{path}b_{end}"] = torch.zeros(3 * d if end == "qkv" else d)
    moved = names.reordered(ours, names.theirs_of_ours(config.d_model).argsort())
    bias = moved.get("output_bias", torch.zeros(config.vocab_size))
    table = moved["embedding.weight"].contiguous()
    return {
        names.TABLE: table,
        names.BIAS: bias[None].contiguous(),
        **names.split(moved, config.n_layers),
    }


def _config(config: ModelConfig) -> dict[str, Any]:
    stacks = ("encoder", "decoder")
    sizes = {"layers": config.n_layers, "attention_heads": config.n_heads, "ffn_dim": config.d_ff}
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": config.vocab_size,
        "decoder_vocab_size": config.vocab_size,
        "d_model": config.d_model,
        **{f"{stack}_{name}": size for stack in stacks for name, size in sizes.items()},
        "activation_function": config.activation,
        "dropout": config.dropout,
        "max_position_embeddings": max(2 * MOST, config.max_len),
        "scale_embedding": config.scale_embedding,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        **_ids(config),
    }


def _ids(config: ModelConfig) -> dict[str, Any]:
    return {
        "pad_token_id": config.pad_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": config.bos_id,
        "forced_eos_token_id": config.eos_id,
    }


def _generation(config: ModelConfig) -> dict[str, Any]:
    barred = [[config.pad_id], [config.bos_id], [config.unk_id]]
    return {**_ids(config), "bad_words_ids": barred, "max_length": MOST, "num_beams": 1}


def _vocabulary(vocabulary: Vocabulary) -> dict[str, bytes]:
    """source.spm, target.spm and vocab.json; one model serves both sides where there is one."""
    pieces = vocabulary.tokens(range(len(vocabulary)))
    if len(set(pieces)) < len(pieces):
        raise CheckpointError(f"only {len(set(pieces))} of its {len(pieces)} pieces differ")
    pair = vocabulary.pair
    source, target = (vocabulary.to_bytes(),) * 2 if pair is None else pair.files
    listed = {piece: id for id, piece in enumerate(pieces)}
    return {"source.spm": source, "target.spm": target, "vocab.json": _json(listed)}


def _json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()
