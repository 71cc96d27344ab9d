"""Source and target language of a model, read from its model card.

A card is a README.md that may begin with a block of YAML between two lines of `---` (the front
matter of the model hub's cards, huggingface.co/docs/hub/model-cards). One entry matters here: the
source language, then the target language.

    ---
    language: [en, fr]
    license: cc-by-2.0
    ---

It is parsed without a YAML library, which is not needed for two words and safe for any card.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

_NAMES = """
af Afrikaans, ar Arabic, be Belarusian, bg Bulgarian, bn Bengali, br Breton, ca Catalan,
cs Czech, cy Welsh, da Danish, de German, el Greek, en English, eo Esperanto, es Spanish,
et Estonian, eu Basque, fa Persian, fi Finnish, fr French, ga Irish, gl Galician, he Hebrew,
hi Hindi, hr Croatian, hu Hungarian, hy Armenian, id Indonesian, is Icelandic, it Italian,
ja Japanese, ka Georgian, ko Korean, la Latin, lt Lithuanian, lv Latvian, mk Macedonian,
ms Malay, mt Maltese, nb Norwegian, nl Dutch, no Norwegian, pl Polish, pt Portuguese,
ro Romanian, ru Russian, sk Slovak, sl Slovene, sq Albanian, sr Serbian, sv Swedish, sw Swahili,
ta Tamil, te Telugu, th Thai, tr Turkish, uk Ukrainian, ur Urdu, vi Vietnamese, zh Chinese
"""
NAMES: dict[str, str] = dict(re.findall(r"(\w+) (\w+)", _NAMES))
"""English names of the known ISO 639-1 codes."""

Languages = tuple[str, str]
"""Codes of source and target language."""

_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}")
_ENTRY = re.compile(r"([A-Za-z_]\w*)\s*:(.*)")
_ITEM = re.compile(r"\s*-\s+(.*)")


def check_languages(codes: Sequence[Any]) -> Languages:
    """Return two codes such as "en" or "pt-BR". Raises ValueError for anything else."""
    valid = [code for code in codes if isinstance(code, str) and _CODE.fullmatch(code)]
    if len(codes) != 2 or len(valid) != 2:
        code_list = ", ".join(repr(code)[:20] for code in codes[:4]) or "nothing"
        raise ValueError(
            f"languages are two codes, source and target, such as en fr; not {code_list}"
        )
    return valid[0], valid[1]


def read_front_matter(card: str) -> tuple[list[tuple[str, list[str]]], str]:
    """Return the entries of a card's front matter, each as its name and its lines, and the text
    after it."""
    lines = card.replace("\r\n", "\n").split("\n")
    ends = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if len(ends) < 2 or ends[0] > 0:
        return [], "\n".join(lines).strip()
    entries: list[tuple[str, list[str]]] = []
    for line in lines[1 : ends[1]]:
        if entry := _ENTRY.match(line):
            entries.append((entry[1], [line]))
        elif entries:
            entries[-1][1].append(line)
    return entries, "\n".join(lines[ends[1] + 1 :]).strip()


def card_values(card: str, name: str) -> list[list[str]]:
    """Return the values of every entry with this name in a card's front matter: `name: a`,
    `name: [a, b]` or a block list."""
    return [_values(lines) for entry, lines in read_front_matter(card)[0] if entry == name]


def _values(lines: list[str]) -> list[str]:
    inline = _without_comment(lines[0].partition(":")[2])
    if inline.startswith("[") and inline.endswith("]"):
        return [_unquoted(item) for item in inline[1:-1].split(",")]
    if inline:
        return [_unquoted(inline)]
    items = map(_ITEM.fullmatch, map(_without_comment, lines[1:]))
    return [_unquoted(item[1]) for item in takewhile(bool, items) if item]


def languages_from_card(card: str) -> Languages | None:
    """Return the languages in the card's front matter; None if it has none. Raises ValueError if it
    names anything but two languages."""
    entries = card_values(card, "language")
    if len(entries) > 1:
        raise ValueError(f"a card must have one entry of languages, not {len(entries)}")
    return check_languages(entries[0]) if entries else None


def languages_from_name(name: str) -> Languages | None:
    """Return the languages of a checkpoint called "en-fr"; None unless both codes are known."""
    codes = name.split("-")
    both_known = len(codes) == 2 and all(code in NAMES for code in codes)
    return (codes[0], codes[1]) if both_known else None


def front_matter(languages: Sequence[str] | None, *other_lines: str) -> str:
    """Return front matter for a card; `languages_from_card` reads the languages, if there are any.
    Raises ValueError as `check_languages`."""
    lines = [*other_lines]
    if languages is not None:
        # Quoted because YAML reads an unquoted no as false.
        src, tgt = (f'"{code}"' if code == "no" else code for code in check_languages(languages))
        lines.insert(0, f"language: [{src}, {tgt}]")
    return "".join(f"{line}\n" for line in ("---", *lines, "---", ""))


def language_name(code: str) -> str:
    """Return the English name, "Portuguese (BR)" for "pt-BR"; the code itself if it is unknown."""
    language, _, region = code.partition("-")
    if language not in NAMES:
        return code
    return f"{NAMES[language]} ({region})" if region else NAMES[language]


def _without_comment(text: str) -> str:
    return re.sub(r"(^|\s)#.*", "", text).strip()


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
