"""Cards of models that came from elsewhere or go there: languages, licence, source."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transformer.checkpoint import CARD, CARD_BYTES
from transformer.exchange.folder import optional_json
from transformer.languages import Languages, checked, front_matter, of_card, of_name

_LICENCE = re.compile(r"^license\s*:\s*['\"]?([\w.+-]{1,64})['\"]?\s*$", re.MULTILINE)
_REPOSITORY = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")


def imported_card(path: Path, said: Mapping[str, Any], languages: Languages | None) -> str:
    """Front matter of ours, where the model is from, and the card that it came with.

    Args:
        said: its config.json, which may name where it was published.
    """
    theirs = read_card(path)
    licence = _LICENCE.search(theirs)
    known = languages or _languages(path, theirs)
    head = front_matter(known).removesuffix("---\n\n") if known else "---\n"
    if licence:
        head += f"license: {licence[1]}\n"
    name = said.get("_name_or_path")
    named = isinstance(name, str) and _REPOSITORY.fullmatch(name)
    lines = [
        f"# {path.absolute().name}",
        "A Marian model, imported by `python -m transformer import`. Its numbers are those of "
        f"{f'`{name}`' if named else 'the folder it came from'}; nothing was trained here.",
        f"Licence: {licence[1]}, as its card says." if licence else "Its card names no licence.",
    ]
    body = _body(theirs)
    if body:
        lines += ["## The card it came with", body]
    return f"{head}---\n\n" + "\n\n".join(lines) + "\n"


def read_card(folder: Path) -> str:
    """The card of a folder as it is, or nothing."""
    try:
        with (folder / CARD).open("rb") as file:
            return file.read(CARD_BYTES).decode("utf-8-sig", errors="replace")
    except OSError:
        return ""


def _body(card: str) -> str:
    """A card without its front matter."""
    parts = re.split(r"^---\s*$", card, maxsplit=2, flags=re.MULTILINE)
    whole = len(parts) == 3 and not parts[0].strip()
    return (parts[2] if whole else card).strip()


def _languages(path: Path, card: str) -> Languages | None:
    """By the card, by its tokenizer, or by the end of the folder's name: "opus-mt-en-fr"."""
    said = optional_json(path, "tokenizer_config.json")
    ways: tuple[Callable[[], Languages | None], ...] = (
        lambda: of_card(card),
        lambda: checked([said["source_lang"], said["target_lang"]]),
        lambda: of_name("-".join(path.absolute().name.split("-")[-2:])),
    )
    for find in ways:
        try:
            if found := find():
                return found
        except (ValueError, KeyError):  # many languages, or none
            continue
    return None
