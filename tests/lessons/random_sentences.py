"""Random English sentences about everyday things, the same for the same seed."""

from __future__ import annotations

import random

SUBJECTS = (
    "She",
    "He",
    "My sister",
    "Tom",
    "The old man",
    "Our teacher",
    "The cat",
    "Mary",
    "They",
)
VERBS = ("lost", "took", "forgot", "has never seen", "wants", "will buy", "found", "does not like")
OWNERS = ("her", "his", "the", "that", "a", "my", "our", "your")
ADJECTIVES = ("", "", "red ", "black ", "small ", "old ", "beautiful ", "white ")
THINGS = ("umbrella", "house", "dog", "book", "car", "sea", "letter", "student", "bread", "hat")
ENDINGS = (
    "",
    "",
    " today",
    " in the city",
    " at home",
    " because it rains",
    " with me",
    " yesterday",
)
QUESTIONS = ("Who gave you", "Where is", "Why do you want", "Did she see")


def sentence(rng: random.Random) -> str:
    """Return a statement or a question."""
    thing = f"{rng.choice(OWNERS)} {rng.choice(ADJECTIVES)}{rng.choice(THINGS)}"
    if rng.random() < 0.25:
        return f"{rng.choice(QUESTIONS)} {thing}{rng.choice(ENDINGS)}?"
    return f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {thing}{rng.choice(ENDINGS)}."


def sentences(count: int, seed: int = 61) -> list[str]:
    """Return this number of different sentences; every fourth is about somebody's umbrella."""
    rng = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        if len(found) % 4 == 3:
            owner = rng.choice(("her", "his"))
            found[f"{rng.choice(SUBJECTS[:8])} {rng.choice(VERBS)} {owner} umbrella."] = None
        else:
            found[sentence(rng)] = None
    return [*found]
