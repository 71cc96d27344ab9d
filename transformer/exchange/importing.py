"""Import of Marian folders of `transformers` as checkpoints."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer.checkpoint import CheckpointError, read_json, save_checkpoint
from transformer.config import ModelConfig
from transformer.exchange import names
from transformer.exchange.folder import optional_json, read_weights, require_file
from transformer.exchange.marian_config import check, model_config
from transformer.exchange.model_card import imported_card
from transformer.model import Transformer
from transformer.model.shapes import shapes_only
from transformer.text import Vocabulary
from transformer.text.languages import Languages
from transformer.text.pair_pieces import END, PAD, START, UNKNOWN, PairPieces

START_BIAS = -1000.0
"""Output bias of the added `<s>`: its probability, e^-1000, is 0."""
ROUNDING = 1e-2
"""Tolerance for stored sinusoids; in bfloat16 they have errors of 0.004."""
START_ID = "decoder_start_token_id"


class ImportedModel(NamedTuple):
    """A Marian model as a `Transformer`: in evaluation mode, float32, on the CPU."""

    model: Transformer
    vocabulary: Vocabulary
    card: str


def import_folder(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    languages: Languages | None = None,
    pickled: bool = False,
) -> ModelConfig:
    """Read a Marian folder and write it as a checkpoint; see `read_marian`, also for errors."""
    imported = read_marian(folder, languages=languages, pickled=pickled)
    save_checkpoint(out, *imported)
    return imported.model.config


def read_marian(
    folder: str | os.PathLike[str], *, languages: Languages | None = None, pickled: bool = False
) -> ImportedModel:
    """Read a Marian model as `save_pretrained` writes it.

    Reads config.json, generation_config.json if there, model.safetensors, source.spm, target.spm,
    vocab.json and the card. Marian's decoder starts with the row of the padding; here it becomes a
    separate piece `<s>` that no output can contain.

    Args:
        languages: codes of source and target; default: those in the folder.
        pickled: as `folder.read_weights`.

    Raises:
        CheckpointError: if a file is missing, truncated or inconsistent.
    """
    path = Path(folder)
    marian_config = read_json(require_file(path, "config.json"))
    generation = optional_json(path, "generation_config.json")
    if generation.get(START_ID) is not None:  # `generate` reads it from here
        marian_config[START_ID] = generation[START_ID]
    try:
        check(marian_config)
        piece_list = _pieces(path, marian_config)
        start = _start_id(marian_config, piece_list)
        piece_list.append(START)
        config = model_config(
            marian_config, len(piece_list), len(piece_list) - 1, piece_list.index(UNKNOWN)
        )
        weights = _converted_weights(read_weights(path, pickled=pickled), config, start)
        files = [require_file(path, f"{side}.spm").read_bytes() for side in ("source", "target")]
        pieces = PairPieces(files[0], files[1], piece_list, config.bos_id)
        with torch.random.fork_rng(devices=[]), torch.device("cpu"):
            model = Transformer(config)
        model.load_state_dict(weights)
    except ValueError as error:  # a CheckpointError is one
        raise CheckpointError(f"{path} cannot be imported: {error}") from error
    vocabulary = Vocabulary(pieces.to_bytes())
    card = imported_card(path, marian_config, languages)
    return ImportedModel(model.eval().requires_grad_(False), vocabulary, card)


def is_marian(folder: Path) -> bool:
    """Return whether a folder's config.json is that of a Marian model of `transformers`."""
    try:
        return optional_json(folder, "config.json").get("model_type") == "marian"
    except CheckpointError:
        return False


def _pieces(path: Path, marian_config: Mapping[str, Any]) -> list[str]:
    """Return the pieces by id. Raises CheckpointError if they do not match the config."""
    ids_by_piece = read_json(require_file(path, "vocab.json"))
    ids = list(ids_by_piece.values())
    if not all(type(id) is int for id in ids) or sorted(ids) != list(range(len(ids))):
        raise CheckpointError(f"the {len(ids)} ids of its vocab.json are not 0 to {len(ids) - 1}")
    if len(ids) != marian_config.get("vocab_size"):
        raise CheckpointError(
            f"its vocab.json has {len(ids)} pieces, its config.json "
            f"{marian_config.get('vocab_size')!r}"
        )
    for piece, name in ((PAD, "pad_token_id"), (END, "eos_token_id"), (UNKNOWN, None)):
        if piece not in ids_by_piece:
            raise CheckpointError(f"its vocab.json has no {piece}")
        if name and ids_by_piece[piece] != marian_config.get(name):
            raise CheckpointError(
                f"its vocab.json has {piece} as {ids_by_piece[piece]}, its config.json "
                f"{marian_config.get(name)!r}"
            )
    return sorted(ids_by_piece, key=ids_by_piece.__getitem__)


def _start_id(marian_config: Mapping[str, Any], piece_list: Sequence[str]) -> int:
    """Return the id that the decoder starts with. Raises CheckpointError if it is invalid."""
    start = marian_config.get(START_ID, marian_config.get("pad_token_id"))
    if type(start) is not int or not 0 <= start < len(piece_list):
        raise CheckpointError(
            f"its decoder starts with piece {start!r} of a vocabulary of {len(piece_list)}"
        )
    return start


def _converted_weights(
    weights: dict[str, Tensor], config: ModelConfig, start: int
) -> dict[str, Tensor]:
    """Return the weights with this package's names and order of channels, and a copy of the
    embedding of `start` as the last row."""
    size = config.vocab_size - 1
    table = _table(weights)
    if list(table.shape) != [size, config.d_model]:
        raise CheckpointError(
            f"its table of embeddings is {tuple(table.shape)}, its config.json says "
            f"{(size, config.d_model)}"
        )
    try:
        converted = names.from_marian(weights, config.n_layers)
    except KeyError as error:
        raise CheckpointError(f"its weights do not include {error.args[0]}") from error
    except RuntimeError as error:
        raise CheckpointError(f"the sizes of its weights do not match: {error}") from error
    _check_other_weights(weights, config)
    bias = weights.get(names.OUTPUT_BIAS, torch.zeros(size, device="cpu")).flatten()
    table = torch.cat([table, table[start : start + 1]])
    bias = torch.cat([bias, bias.new_tensor([START_BIAS])])
    converted |= {"embedding.weight": table, "output_bias": bias}
    order = names.marian_channels(config.d_model)
    _check_shapes(converted, config)
    return names.reorder_channels(converted, order)


def _table(weights: Mapping[str, Tensor]) -> Tensor:
    """Return the table of embeddings, which may have several names in the file."""
    stored = [name for name in (names.EMBEDDING_TABLE, *names.TIED_TABLES) if name in weights]
    if not stored:
        raise CheckpointError(f"its weights do not include {names.EMBEDDING_TABLE}")
    table = weights[stored[0]]
    for name in stored[1:]:
        if not torch.equal(weights[name], table):
            raise CheckpointError(
                f"its {stored[0]} and its {name} are not the same table; this package has one "
                f"for source, target and output"
            )
    return table


def _check_other_weights(weights: Mapping[str, Tensor], config: ModelConfig) -> None:
    """Raise CheckpointError for a weight that `Transformer` does not have, or for positions other
    than sinusoids."""
    layers = {part for parts in names.weight_names(config.n_layers).values() for part in parts}
    for name, weight in weights.items():
        if names.POSITIONS.fullmatch(name):
            _check_positions(name, weight, config)
        elif name not in layers and name not in (
            names.EMBEDDING_TABLE,
            names.OUTPUT_BIAS,
            *names.TIED_TABLES,
        ):
            raise CheckpointError(
                f"its weights have {name}, which this package's model does not have"
            )


def _check_positions(name: str, weight: Tensor, config: ModelConfig) -> None:
    shape = [config.max_len, config.d_model]
    if list(weight.shape) != shape:
        raise CheckpointError(f"its {name} is {tuple(weight.shape)}, not {tuple(shape)}")
    difference = (weight - names.marian_positions(*shape)).abs().max()
    if not difference < ROUNDING:
        raise CheckpointError(
            f"its {name} differs from the sinusoids by up to {float(difference):.2g}"
        )


def _check_shapes(weights: Mapping[str, Tensor], config: ModelConfig) -> None:
    """Raise CheckpointError if a weight does not have the shape that the config requires."""
    with shapes_only():
        expected = {name: weight.shape for name, weight in Transformer(config).named_parameters()}
    for name, weight in weights.items():
        if weight.shape != expected[name]:
            raise CheckpointError(
                f"its {name} would be {tuple(weight.shape)}, its config.json asks for "
                f"{tuple(expected[name])}"
            )
