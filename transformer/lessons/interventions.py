"""Questions about what a model does with other heads or other training: ablation, learning."""

from __future__ import annotations

from transformer.analysis.interventions import switched_off
from transformer.lessons.lesson import (
    LessonCase,
    LessonUnavailable,
    Option,
    Question,
    bold,
    escaped,
    percent,
    table_picture,
)
from transformer.measures.head_codes import write_heads
from transformer.measures.kinds import Head
from transformer.measures.naming import layer_name

MIN_SHARE = 0.5
"""Minimum weight of a clear pattern: more than all other tokens together."""


def ablation(case: LessonCase) -> Question:
    """Ask for heads whose ablation changes the translation."""
    config, original = case.translator.model.config, case.trace.text
    layer, altered = _layer_that_matters(case, original)
    result = bold(altered.rstrip(".")) if altered else "empty"
    total = 3 * config.n_layers * config.n_heads
    return Question(
        exhibit=f"With all {total} heads: {escaped(original)}",
        answer=(
            f"Without all heads of {layer_name(layer)} of cross-attention the translation is "
            f"{result}. A head with a clear pattern is not always a head that is needed: other "
            "heads may do the same work. To find out whether a head matters, remove it and "
            "compare the outputs."
        ),
        answer_fields={"off": write_heads(_cross_heads(case, layer))},
        unchanged=original,
    )


def _layer_that_matters(case: LessonCase, original: str) -> tuple[int, str]:
    """Return the highest layer whose cross-attention the translation needs, and the translation
    without it. Raises LessonUnavailable if there is none."""
    config = case.translator.model.config
    for layer in reversed(range(config.n_layers)):
        hooks = switched_off(config, _cross_heads(case, layer))
        altered = case.translator.translate(case.text, hooks=hooks).text
        if altered != original:
            return layer, altered
    raise LessonUnavailable("its translation stays the same without any layer of cross-attention")


def _cross_heads(case: LessonCase, layer: int) -> list[Head]:
    return [("cross", layer, head) for head in range(case.translator.model.config.n_heads)]


def reverse(case: LessonCase) -> Question:
    """Ask where a model that reverses its input attends to while it writes the first symbol."""
    trace = case.trace
    symbols = case.text.split()
    if trace.text.split() != symbols[::-1]:
        raise LessonUnavailable("it has not learned to reverse this")
    weights = trace.weights("cross", trace.n_layers - 1).mean(axis=0)
    first, last = float(weights[0, 0]), float(weights[0, len(symbols) - 1])
    if last < MIN_SHARE:
        raise LessonUnavailable("its last layer does not attend to the last symbol first")
    return Question(
        exhibit=f"{escaped(' '.join(symbols))}  →  {escaped(trace.text)}",
        options=(
            Option(
                f"{bold(symbols[0])}, the first letter",
                f"It gets {percent(first)}: the output starts at the other end.",
            ),
            Option(
                "All letters equally",
                "That is how attention looks before training; the film shows it.",
            ),
            Option(f"{bold(symbols[-1])}, the last letter"),
        ),
        correct=2,
        answer=(
            f"{bold(symbols[-1])}: on average the heads of the last layer give it "
            f"{percent(last)}. The film of the run shows how this was learned: nearly "
            "uniform attention at first, a clear antidiagonal at the end."
        ),
        picture=table_picture(
            "Attention of the last layer: written letters in rows, read letters in columns",
            symbols[::-1],
            symbols,
            weights[: len(symbols), : len(symbols)],
            [[row == 0] for row in range(len(symbols))],
            [(0, 0, percent(first)), (0, len(symbols) - 1, percent(last))],
        ),
        answer_fields={"run": case.model_name},
    )  # fmt: skip
