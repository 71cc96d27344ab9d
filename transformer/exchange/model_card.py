"""Model cards with the metadata that model hubs read: library, task, languages and licence."""

from __future__ import annotations

import re

from transformer.config import ModelConfig
from transformer.text.languages import Languages, front_matter, language_name

LIBRARIES = {"heads-up": "heads-up", "marian": "transformers"}
"""Formats that `save_pretrained` writes, and the library that opens them, as hubs call it."""
UNKNOWN_LICENCE = "unknown"
"""The hubs' identifier for an unstated licence."""

_BLOCK = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*\n", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"^([A-Za-z_]\w*)[ \t]*:.*\n(?:(?![A-Za-z_]\w*[ \t]*:).*\n)*", re.MULTILINE)
_LICENCE = re.compile(r"[\w.+-]{1,64}")
_LICENCE_ENTRY = re.compile(
    r"^license[ \t]*:[ \t]*['\"]?([\w.+-]{1,64})['\"]?[ \t]*$", re.MULTILINE
)


def licence_of(card: str) -> str | None:
    """Return the licence in a card's front matter; None if it has none."""
    block = _BLOCK.match(card)
    entry = _LICENCE_ENTRY.search(block[1]) if block else None
    return entry[1] if entry else None


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
    card = card.replace("\r\n", "\n")
    licence = licence or licence_of(card) or UNKNOWN_LICENCE
    if not _LICENCE.fullmatch(licence):
        raise ValueError(f"a licence is an identifier such as 'cc-by-2.0', not {licence!r}")
    lines = [f"library_name: {library}\n", "pipeline_tag: translation\n"]
    if languages is not None:
        lines.append(front_matter(languages).splitlines()[1] + "\n")
    lines.append(f"license: {licence}\n")
    block = _BLOCK.match(card)
    replaced = {"library_name", "pipeline_tag", "language", "license"}
    other_entries = (
        [m[0] for m in _ENTRY.finditer(block[1]) if m[1] not in replaced] if block else []
    )
    text = (card[block.end() :] if block else card).strip()
    text = text or _text(config, languages, licence)
    return f"---\n{''.join([*lines, *other_entries])}---\n\n{text}\n"


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
