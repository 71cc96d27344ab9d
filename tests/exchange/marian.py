"""Small random Marian models as `transformers` builds and saves them, with a vocabulary."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from torch.nn import functional
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

ENGLISH = [
    f"{subject} {verb} {noun} {adverb}."
    for subject in ("The baker", "My aunt", "A pilot", "She")
    for verb in ("paints", "sells", "hides", "finds")
    for noun in ("a boat", "the lamp", "bread", "books")
    for adverb in ("today", "at night", "again", "first")
]
FRENCH = [
    f"{subject} {verb} {noun} {adverb}."
    for subject in ("Le boulanger", "Ma tante", "Un pilote", "Elle")
    for verb in ("peint", "vend", "cache", "trouve")
    for noun in ("un bateau", "la lampe", "du pain", "des livres")
    for adverb in ("aujourd'hui", "la nuit", "encore", "d'abord")
]
LANGUAGES = (">>fra<<", ">>deu<<")


def sentencepiece_model(sentences: list[str], size: int = 120) -> bytes:
    """Return a SentencePiece model like Marian's: without padding, `</s>` before `<unk>`."""
    model_file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=model_file,
        vocab_size=size,
        hard_vocab_limit=False,
        eos_id=0,
        unk_id=1,
        bos_id=-1,
        pad_id=-1,
        minloglevel=2,
        num_threads=1,
    )
    return model_file.getvalue()


def vocab_json(*sentencepiece_models: bytes) -> dict[str, int]:
    """Return vocab.json: `</s>`, `<unk>`, the languages, the pieces of both models, `<pad>`
    last."""
    pieces = ["</s>", "<unk>", *LANGUAGES]
    for data in sentencepiece_models:
        model = sentencepiece.SentencePieceProcessor(model_proto=data)
        pieces += [model.id_to_piece(id) for id in range(len(model))]
    return {piece: id for id, piece in enumerate(dict.fromkeys([*pieces, "<pad>"]))}


def model(vocab_size: int, seed: int = 0, **changes: Any) -> MarianMTModel:
    """Return a model with random weights, biases and LayerNorm parameters. It generates one token
    repeatedly; see `partly_trained`."""
    shape: dict[str, Any] = {
        "d_model": 24,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 40,
        "decoder_ffn_dim": 40,
        "activation_function": "swish",
        "scale_embedding": True,
        "max_position_embeddings": 64,
        "dropout": 0.1,
    }
    ids = {
        "vocab_size": vocab_size,
        "pad_token_id": vocab_size - 1,
        "decoder_start_token_id": vocab_size - 1,
        "eos_token_id": 0,
        "forced_eos_token_id": None,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        marian = MarianMTModel(MarianConfig(**{**shape, **ids, **changes})).eval()
        with torch.no_grad():
            for name, weight in marian.named_parameters():
                if "embed_positions" not in name:
                    weight.add_(torch.randn_like(weight), alpha=0.2)
            marian.final_logits_bias.normal_()
    marian.generation_config.bad_words_ids = [[1], [vocab_size - 1]]
    marian.generation_config.max_length = 48
    return marian


def partly_trained(marian: MarianMTModel, steps: int = 120) -> MarianMTModel:
    """Train the model until it partly copies its source, so that outputs differ and most end."""
    config = marian.config
    start = torch.full((32, 1), config.decoder_start_token_id)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        optimizer = torch.optim.Adam(marian.parameters(), lr=5e-3)
        for _ in range(steps):
            length = int(torch.randint(1, 8, ()))
            tokens = torch.randint(2, 20, (32, length))
            token_ids = torch.cat([tokens, torch.zeros(32, 1, dtype=torch.long)], dim=1)
            logits = marian(
                input_ids=token_ids, decoder_input_ids=torch.cat([start, token_ids[:, :-1]], 1)
            ).logits
            optimizer.zero_grad()
            functional.cross_entropy(logits.flatten(0, 1), token_ids.flatten()).backward()
            optimizer.step()
    return marian.eval()


def tokenizer(folder: Path) -> MarianTokenizer:
    """Return the MarianTokenizer of a folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it recommends sacremoses but does not use it
        return MarianTokenizer.from_pretrained(folder)


def save(folder: Path, *, trained: bool = False, **changes: Any) -> MarianMTModel:
    """Write a complete folder: the files of `save_pretrained` and the three vocabulary files."""
    files = [sentencepiece_model(ENGLISH), sentencepiece_model(FRENCH)]
    pieces = vocab_json(*files)
    marian = model(len(pieces), **changes)
    if trained:
        partly_trained(marian)
    marian.save_pretrained(folder)
    for name, data in zip(("source.spm", "target.spm"), files, strict=True):
        (folder / name).write_bytes(data)
    (folder / "vocab.json").write_text(json.dumps(pieces), encoding="utf-8")
    return marian
