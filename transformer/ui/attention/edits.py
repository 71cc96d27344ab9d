"""A sentence with one word changed, to see what that changes in the attention."""

from __future__ import annotations

import re

# Words that can stand in each other's place without another word changing with them.
_EITHER = {
    "en": (
        "red black", "umbrella hat", "rains snows", "never often", "sea city", "home school",
        "student doctor", "house car", "dog cat", "man boy", "woman girl", "big small",
        "old young", "good bad", "here there", "today tomorrow", "he she", "the a",
        "this that",
    ),
    "fr": (
        "rouge noir", "parapluie chapeau", "pleut neige", "jamais souvent", "mer ville",
        "étudiant médecin", "chien chat", "grand petit", "il elle", "le un", "la une",
    ),
    "de": (
        "roten schwarzen", "Regenschirm Hut", "regnet schneit", "nie oft", "Meer Haus",
        "Student Arzt", "Hund Mann", "er sie", "der ein",
    ),
}  # fmt: skip


def one_word_changed(text: str, language: str) -> str:
    """`text` with the first word changed of which we know another; words that say most are tried
    first. "" if there is none."""
    for pair in _EITHER.get(language, ()):
        one, other = pair.split()
        for old, new in ((one, other), (other, one)):
            found = re.search(rf"\b{old}\b", text)
            if found:
                return text[: found.start()] + new + text[found.end() :]
            found = re.search(rf"\b{old.capitalize()}\b", text)
            if found:
                return text[: found.start()] + new.capitalize() + text[found.end() :]
    return ""
