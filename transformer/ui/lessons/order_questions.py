"""Questions about order: what is left without positions, and how long the waves are."""

from __future__ import annotations

import math

import numpy as np

from transformer.hooks import Hooks
from transformer.ui.lessons.lesson import Lacks, Looked, Option, Question, escaped, word

DOG, MAN = "The dog bit the man.", "The man bit the dog."
POSITIONS, MEMORY = "encoder.embed.hook_positions", "encoder.hook_memory"


def bag(looked: Looked) -> Question:
    """Do two sentences differ by their order, if the encoder's positions are taken away?"""
    translator = looked.model.translator
    if looked.model.translator.model.config.positions == "none":
        raise Lacks("it has no positions that could be taken away")
    away = Hooks({POSITIONS: lambda x, name: x * 0})
    with_them = _apart(looked, None)
    without = _apart(looked, away)
    if not without < 1e-3 < with_them:
        raise Lacks("its encoder does not tell the two sentences apart by their order alone")
    texts = [translator.translate(text, hooks=away).text for text in (DOG, MAN)]
    same = (
        f"Both become the same sentence: {word(texts[0])}"
        if texts[0] == texts[1]
        else f"What it writes then: {word(texts[0])} and {word(texts[1])}"
    )
    rights = [translator.translate(text).text for text in (DOG, MAN)]
    return Question(
        exhibit="  ·  ".join(
            f"{escaped(text)} → {escaped(right)}"
            for text, right in zip((DOG, MAN), rights, strict=True)
        ),
        options=(
            Option(
                "the one that is read first",
                "Nothing is read first: all words come in at once, side by side.",
            ),
            Option("it cannot know: both sentences are the same to it"),
            Option(
                "the dog: it has seen that dogs bite",
                "It might prefer that, but not see which sentence it was given.",
            ),
        ),
        right=1,
        answer=(
            "Without positions the encoder gives every word the same vector in both sentences, to "
            f"{without:.0e}, which is rounding; with them the vectors differ by up to "
            f"{with_them:.1f}. {same} Attention alone sees a bag of words."
        ),
    )


def _apart(looked: Looked, hooks: Hooks | None) -> float:
    """How far the memory of a word in one sentence is from that of the same in the other."""
    one, other = (
        looked.model.translator.trace(text, names=[MEMORY], hooks=hooks) for text in (DOG, MAN)
    )
    if sorted(one.src_tokens) != sorted(other.src_tokens):
        raise Lacks("it reads the two sentences in different pieces")
    places = [other.src_tokens.index(token) for token in one.src_tokens]
    return float(np.abs(one[MEMORY] - other[MEMORY][places]).max())


def waves(looked: Looked) -> Question:
    """How long is the longest wave, read off what the model adds to its second place?"""
    config = looked.model.translator.model.config
    if config.positions != "sinusoidal" or config.d_model < 8:
        raise Lacks("its positions are no waves")
    added = looked.trace[POSITIONS][1].astype(np.float64)
    fast, slow = (math.atan2(*added[at : at + 2]) for at in (0, config.d_model - 2))
    shortest, longest = 2 * math.pi / fast, 2 * math.pi / slow
    return Question(
        options=(
            Option(
                f"about {shortest:.1f} places",
                "That is the shortest: it turns by one radian from place to place.",
            ),
            Option(
                f"{config.d_model} places, as many as a vector has numbers",
                "The number of waves has nothing to do with how long they are.",
            ),
            Option(f"about {longest:,.0f} places"),
        ),
        right=2,
        answer=(
            f"From {shortest:.1f} places to {longest:,.0f}, read off the vector that this model "
            f"adds to its second place (d_model = {config.d_model}; the paper says 10000·2π ≈ "
            "62,832, which a wider model comes near). Whoever looks at all of them together knows "
            "near places apart and far ones too."
        ),
    )
