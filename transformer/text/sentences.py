"""Example sentences, the same in English, French and German."""

from __future__ import annotations

EXAMPLE = "I am a student."
EXAMPLES = (
    EXAMPLE,
    "She has never seen the sea.",
    "If it rains, we will stay at home.",
    "Who gave you that red umbrella?",
)
PARALLEL_EXAMPLES = {
    "en": EXAMPLES,
    "fr": (
        "Je suis étudiant.",
        "Elle n'a jamais vu la mer.",
        "S'il pleut, nous resterons à la maison.",
        "Qui t'a donné ce parapluie rouge ?",
    ),
    "de": (
        "Ich bin Student.",
        "Sie hat das Meer noch nie gesehen.",
        "Wenn es regnet, bleiben wir zu Hause.",
        "Wer hat dir diesen roten Regenschirm gegeben?",
    ),
}
"""The sentences by the code of their language, in the same order."""
EXTRA_EXAMPLES = {("en", "de"): ("He says that he has bought a house.",)}
"""Further examples for one language pair: a German subordinate clause with the verb at its end."""
