"""Questions about word order: an encoder without positions, and the wavelengths of sinusoids."""

from __future__ import annotations

import math

import numpy as np

from transformer.analysis import positions
from transformer.ui.widgets.lessons.lesson import (
    LessonCase,
    LessonUnavailable,
    Option,
    Question,
    bold,
    escaped,
)

POSITIONS = "encoder.embed.hook_positions"
SAME_VECTORS, OTHER_VECTORS = 1e-3, 1e-2
"""Vectors that differ by less are the same but for rounding; by more, they are different."""


def word_order(case: LessonCase) -> Question:
    """Can an encoder without positions tell two sentences of the same words apart?"""
    translator = case.model.translator
    if translator.model.config.positions == "none":
        raise LessonUnavailable("it has no positions that could be removed")
    pair = positions.ORDER_PAIR
    try:
        result = positions.reordered(translator, *pair)
    except ValueError as error:
        raise LessonUnavailable("it reads the two sentences in different tokens") from error
    if not (result.apart["without"] < SAME_VECTORS and result.apart["with"] > OTHER_VECTORS):
        raise LessonUnavailable("its encoder does not distinguish the two sentences by order alone")
    with_positions, without = result.written["with"], result.written["without"]
    consequence = (
        f"It translates both as {bold(without[0])}"
        if without[0] == without[1]
        else f"It translates them as {bold(without[0])} and {bold(without[1])}"
    )
    return Question(
        exhibit="  ·  ".join(
            f"{escaped(text)} → {escaped(translation)}"
            for text, translation in zip(pair, with_positions, strict=True)
        ),
        options=(
            Option(
                "The one that is read first",
                "Nothing is read first: the encoder processes all words at the same time.",
            ),
            Option("It cannot know: both sentences are the same to it"),
            Option(
                "The dog: in the training data dogs bite",
                "It may prefer that translation, but it cannot see which sentence it was given.",
            ),
        ),
        correct=1,
        answer=(
            "Without positions the encoder computes the same vector for each word in both "
            f"sentences, up to a rounding error of {result.apart['without']:.0e}. With positions "
            f"the vectors differ by up to {result.apart['with']:.1f}. {consequence} "
            "Attention alone treats a sentence as a bag of words."
        ),
    )


def waves(case: LessonCase) -> Question:
    """How long is the longest wave, computed from the vector of position 1?"""
    config = case.model.translator.model.config
    if config.positions != "sinusoidal" or config.d_model < 8:
        raise LessonUnavailable("its positions are not sinusoids")
    vector = case.trace[POSITIONS][1].astype(np.float64)
    first, last = (math.atan2(*vector[at : at + 2]) for at in (0, config.d_model - 2))
    shortest, longest = 2 * math.pi / first, 2 * math.pi / last
    return Question(
        options=(
            Option(
                f"About {shortest:.1f} positions",
                "That is the shortest wave: it turns by one radian per position.",
            ),
            Option(
                f"{config.d_model} positions, the dimension of the vectors",
                "The dimension sets how many waves there are, not how long they are.",
            ),
            Option(f"About {longest:,.0f} positions"),
        ),
        correct=2,
        answer=(
            f"The wavelengths go from {shortest:.1f} to {longest:,.0f} positions, computed from "
            f"the vector that this model adds at position 1 (d_model = {config.d_model}). In the "
            "paper the limit is 10000·2π ≈ 62,832; a wider model comes closer to it. Together the "
            "waves distinguish neighbouring positions as well as distant ones."
        ),
    )
