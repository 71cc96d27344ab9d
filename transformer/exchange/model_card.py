"""Model cards with the metadata that model hubs read: library, task, languages and licence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from transformer.checkpoint import read_card
from transformer.config import ModelConfig
from transformer.exchange.folder import optional_json
from transformer.text.languages import (
    Languages,
    card_values,
    check_languages,
    front_matter,
    language_name,
    languages_from_card,
    languages_from_name,
    read_front_matter,
)

LIBRARIES = {"heads-up": "heads-up", "marian": "transformers"}
"""Formats that `save_pretrained` writes, and the library that opens them, as hubs call it."""
UNKNOWN_LICENCE = "unknown"
"""The hubs' identifier for an unstated licence."""

_LICENCE = re.compile(r"[\w.+-]{1,64}")
_REPOSITORY = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")


def licence_of(card: str) -> str | None:
    """Return the licence in a card's front matter; None if it has none."""
    match card_values(card, "license"):
        case [[licence]] if _LICENCE.fullmatch(licence):
            return licence
    return None


def model_card(
    card: str,
    config: ModelConfig,
    *,
    library: str,
    languages: Languages | None,
    licence: str | None = None,
) -> str:
    """Return `card` with the metadata of a translation model; other entries and text are kept.

    Args:
        card: Markdown, with or without front matter; if it has no text, a short one is added.
        library: the name of the library that opens the folder.
        languages: source and target language; omitted from the card if None.
        licence: an identifier such as "cc-by-2.0"; if None, the card's own, else "unknown".

    Raises:
        ValueError: for an invalid licence identifier or invalid language codes.
    """
    licence = licence or licence_of(card) or UNKNOWN_LICENCE
    if not _LICENCE.fullmatch(licence):
        raise ValueError(f"a licence is an identifier such as 'cc-by-2.0', not {licence!r}")
    entries, text = read_front_matter(card)
    replaced = {"library_name", "pipeline_tag", "language", "license"}
    front = front_matter(
        languages,
        f"library_name: {library}",
        "pipeline_tag: translation",
        f"license: {licence}",
        *chain.from_iterable(lines for name, lines in entries if name not in replaced),
    )
    return f"{front}{text or _text(config, languages, licence)}\n"


def _text(config: ModelConfig, languages: Languages | None, licence: str) -> str:
    pair = (
        ""
        if languages is None
        else f", {language_name(languages[0])} to {language_name(languages[1])}"
    )
    stated = "No licence is stated." if licence == UNKNOWN_LICENCE else f"Licence: {licence}."
    return (
        f"# A translation model{pair}\n\n"
        f'The encoder-decoder Transformer of "Attention Is All You Need": {config.n_layers} layers '
        f"in each stack, {config.n_heads} heads, d_model {config.d_model}, d_ff {config.d_ff}, "
        f"{config.vocab_size:,} pieces. Nothing else is known about its training.\n\n{stated}"
    )


def imported_card(path: Path, marian_config: Mapping[str, Any], languages: Languages | None) -> str:
    """Return the card of an imported model: front matter, origin, and the original card.

    Args:
        marian_config: its config.json, which may contain the name of its repository.
    """
    original_card = read_card(path)
    licence = licence_of(original_card)
    codes = languages or _languages(path, original_card)
    front = front_matter(codes, *([f"license: {licence}"] if licence else []))
    name = marian_config.get("_name_or_path")
    has_repository = isinstance(name, str) and _REPOSITORY.fullmatch(name)
    lines = [
        f"# {_model_name(path)}",
        "A Marian model, imported by `python -m transformer import`. Its weights are those of "
        f"{f'`{name}`' if has_repository else 'the original folder'}; it was not trained further.",
        f"Licence according to its card: {licence}."
        if licence
        else "Its card does not name a licence.",
    ]
    if card_text := read_front_matter(original_card)[1]:
        lines += ["## Original model card", card_text]
    return front + "\n\n".join(lines) + "\n"


def _model_name(folder: Path) -> str:
    """Return the folder's name; for a folder of the hub's cache, such as
    `models--OWNER--NAME/snapshots/COMMIT`, return NAME."""
    path = folder.absolute()
    return path.parents[1].name.split("--")[-1] if path.parent.name == "snapshots" else path.name


def _languages(path: Path, card: str) -> Languages | None:
    """Return the languages from the card, the tokenizer, or the folder's name "opus-mt-en-fr"."""
    tokenizer = optional_json(path, "tokenizer_config.json")
    sources: tuple[Callable[[], Languages | None], ...] = (
        lambda: languages_from_card(card),
        lambda: check_languages([tokenizer["source_lang"], tokenizer["target_lang"]]),
        lambda: languages_from_name("-".join(_model_name(path).split("-")[-2:])),
    )
    for read_source in sources:
        try:
            if codes := read_source():
                return codes
        except (ValueError, KeyError):  # a multilingual model, or no language
            continue
    return None
