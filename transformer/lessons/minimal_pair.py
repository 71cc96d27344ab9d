"""A question about two sentences that differ only in their pronoun."""

from __future__ import annotations

from typing import Any

import numpy as np

from transformer.figures.packed_trace import PackedTrace, aligner_fields
from transformer.inference import Trace
from transformer.lessons.lesson import (
    LessonCase,
    LessonUnavailable,
    Option,
    Question,
    bold,
    escaped,
    table_picture,
)
from transformer.measures.words import plain_words

NOUN = "American"
OTHER_SENTENCE = "She is a student."


def changed_words(case: LessonCase) -> Question:
    """Ask which words of the translation change if "He" becomes "She"."""
    with_she = "She" + case.text.removeprefix("He")
    before, after = _words(case.trace), _words(case.trace_of(with_she))
    if not before or len(before) != len(after):
        raise LessonUnavailable("its translations with he and with she differ in length")
    changes = [first != second for first, second in zip(before, after, strict=True)]
    if not (changes[0] and changes[-1]) or all(changes):
        raise LessonUnavailable("its translation of the noun does not follow the pronoun")
    changed_words = [word for word, change in zip(before, changes, strict=True) if change]
    same_words = [word for word, change in zip(before, changes, strict=True) if not change]
    marked = " ".join(
        bold(word) if change else escaped(word) for word, change in zip(after, changes, strict=True)
    )
    return Question(
        exhibit=f"{escaped(case.text)}  →  {escaped(case.trace.text)}",
        options=(
            Option(escaped(", ".join(changed_words))),
            Option(
                f"Only {escaped(before[0])}",
                "Other words agree with the pronoun, and the model has learned some of that.",
            ),
            Option(
                escaped(", ".join(before)),
                f"{bold(', '.join(same_words))} stays the same.",
            ),
        ),
        correct=0,
        answer=(
            f"With *She* the model writes: {marked}. Only the pronoun differs, so it caused every "
            f"difference: this is a **minimal pair**. English *{NOUN}* has no grammatical "
            f"gender, but its translation does. Does the gender always follow? For "
            f"*{escaped(OTHER_SENTENCE)}* the model writes: "
            f"{bold(case.translator.translate(OTHER_SENTENCE, method='greedy').text)}"
        ),
        picture=table_picture(
            "Words of the translation that are different with She",
            ["changed"],
            before,
            np.array([changes], dtype=float),
            [True],
        ),
        answer_fields={
            "view": "compare", "kind": "cross", "other": with_she, **_aligner(case),
        },
    )  # fmt: skip


def _words(trace: Trace) -> list[str]:
    """Return the words of the translation, without punctuation."""
    return [label for label in plain_words(trace.predicted_tokens)[1] if label]


def _aligner(case: LessonCase) -> dict[str, Any]:
    """Return the view's fields of the model's aligner head, or of the clearest head."""
    fields = aligner_fields(case.aligner)
    if fields is None:
        layer, head = PackedTrace(case.trace).clearest("cross")
        return {"layer": layer, "head": head}
    return {"layer": fields["layer"], "head": fields["head"], "word_row": fields["weights_to"]}
