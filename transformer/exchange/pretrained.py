"""Saving a model as a folder, in this package's format or Marian's."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from transformer.checkpoint import CONFIG, load_languages, read_card, read_json, save_checkpoint
from transformer.config import did_you_mean
from transformer.exchange.exporting import write_marian
from transformer.exchange.importing import is_marian
from transformer.exchange.model_card import LIBRARIES, imported_card, model_card
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.languages import Languages, check_languages, languages_from_card

FolderFormat = Literal["heads-up", "marian"]


def save_pretrained(
    model: Transformer,
    vocabulary: Vocabulary,
    out: str | os.PathLike[str],
    *,
    format: FolderFormat = "heads-up",
    languages: Sequence[str] | None = None,
    licence: str | None = None,
    loaded_from: Path | None = None,
) -> None:
    """Write a folder with weights in float32, the vocabulary and a model card.

    Args:
        format: "heads-up" for `Translator.load`, "marian" for `MarianMTModel.from_pretrained`.
        languages: codes of source and target language; if None, those of the checkpoint that the
            model was loaded from.
        licence: an identifier such as "cc-by-2.0"; if None, the checkpoint's, else "unknown".
        loaded_from: that checkpoint; its card is copied with new metadata.

    Raises:
        CheckpointError: as `save_checkpoint` and `write_marian`, for example if the folder contains
            another model.
        ValueError: for an unknown format, invalid language codes or an invalid licence identifier.
    """
    if format not in get_args(FolderFormat):
        valid_formats = " or ".join(map(repr, get_args(FolderFormat)))
        raise ValueError(
            f"format must be {valid_formats}, not {format!r}{did_you_mean(format, LIBRARIES)}"
        )
    card, codes = "", None
    if loaded_from is not None:
        card, codes = _card_and_languages(loaded_from)
    if languages is not None:
        codes = check_languages([languages] if isinstance(languages, str) else languages)
    if format == "marian":
        write_marian(model, vocabulary, out, card, codes, licence)
        return
    new_card = model_card(
        card, model.config, library=LIBRARIES[format], languages=codes, licence=licence
    )
    save_checkpoint(out, model, vocabulary, new_card)


def _card_and_languages(folder: Path) -> tuple[str, Languages | None]:
    """Return model card and languages of a folder; for a Marian folder, those that importing it
    would give."""
    if not is_marian(folder):
        return read_card(folder), load_languages(folder)
    card = imported_card(folder, read_json(folder / CONFIG), None)
    return card, languages_from_card(card)
