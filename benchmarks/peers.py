"""The engines that benchmarks compare with, with random weights of a given shape."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from transformer.config import ModelConfig

try:
    import ctranslate2
    from ctranslate2.converters.transformers import MarianMTLoader
    from transformers import MarianConfig, MarianMTModel
    from transformers.utils import logging
except ImportError as error:
    sys.exit(f"{error.name} is missing: pip install -r requirements-benchmarks.txt")

DecodeBatch = Callable[[list[list[int]]], Any]
"""Decodes a fixed number of tokens for each sentence of a batch, given as source ids."""

logging.set_verbosity_error()


def random_marian(config: ModelConfig) -> Any:
    """Return a random MarianMTModel in the shape of `config`; `</s>` is 0, padding comes last."""
    size = config.vocab_size
    shape = MarianConfig(
        vocab_size=size + 1,
        d_model=config.d_model,
        encoder_layers=config.n_layers,
        decoder_layers=config.n_layers,
        encoder_attention_heads=config.n_heads,
        decoder_attention_heads=config.n_heads,
        encoder_ffn_dim=config.d_ff,
        decoder_ffn_dim=config.d_ff,
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=512,
        eos_token_id=0,
        forced_eos_token_id=None,
        pad_token_id=size,
        decoder_start_token_id=size,
    )
    return MarianMTModel(shape).eval()


def marian_decoder(model: Any, tokens: int, **options: Any) -> DecodeBatch:
    """Return a function that decodes greedily by `model.generate` with these options."""

    @torch.inference_mode()
    def run(sources: list[list[int]]) -> Any:
        longest = max(map(len, sources))
        pad = model.config.pad_token_id
        ids = torch.tensor([row + [pad] * (longest - len(row)) for row in sources])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            output = model.generate(
                ids,
                attention_mask=ids != pad,
                num_beams=1,
                do_sample=False,
                min_new_tokens=tokens,
                max_new_tokens=tokens,
                **options,
            )
        return output

    return run


def convert_to_ctranslate(model: Any, folder: Path, threads: int) -> ctranslate2.Translator:
    """Convert the model to CTranslate2's int8 format."""
    spec = MarianMTLoader().get_model_spec(model)
    size = model.config.vocab_size - 1
    pieces = ["</s>", "<unk>", *(f"t{number}" for number in range(2, size))]
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.eos_token = spec.config.decoder_start_token = "</s>"
    spec.config.unk_token = "<unk>"
    spec.validate()
    spec.optimize(quantization="int8")
    folder.mkdir(parents=True)
    spec.save(str(folder))
    return ctranslate2.Translator(
        str(folder), device="cpu", compute_type="int8", inter_threads=1, intra_threads=threads
    )


def ctranslate_decoder(
    translator: ctranslate2.Translator, tokens: int, beam_size: int = 1
) -> DecodeBatch:
    def run(sources: list[list[int]]) -> Any:
        pieces = [[f"t{max(id, 2)}" for id in row[:-1]] + ["</s>"] for row in sources]
        return translator.translate_batch(
            pieces, beam_size=beam_size, min_decoding_length=tokens, max_decoding_length=tokens
        )

    return run
