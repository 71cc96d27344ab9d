"""Questions about what a model does with other heads or other training: ablation, learning."""

from __future__ import annotations

from typing import Any

from transformer.analysis.interventions import switched_off
from transformer.measures.head_codes import parse_heads, write_heads
from transformer.measures.kinds import Head
from transformer.measures.naming import layer_name
from transformer.ui.services.models import Model
from transformer.ui.widgets.lessons.lesson import (
    LessonCase,
    LessonUnavailable,
    Option,
    Question,
    bold,
    escaped,
    rounded_percent,
    table_picture,
)

MIN_SHARE = 0.5
"""Minimum weight of a clear pattern: more than all other tokens together."""


def ablation(case: LessonCase) -> Question:
    """Ask for heads whose ablation changes the translation."""
    config, source, original = case.model.translator.model.config, case.text, case.trace.text
    layer, altered = _layer_that_matters(case.model, source, original)
    off = write_heads([("cross", layer, head) for head in range(config.n_heads)])

    def check(model: Model, view: Any) -> tuple[bool, str]:
        heads, _ = parse_heads(view.off, model.n_layers, model.n_heads)
        if not heads:
            return False, "No head is switched off yet. Click a head, or the name of a layer."
        translation = _translation_without(model, source, view.off)
        start = f"Without {len(heads)} head{'' if len(heads) == 1 else 's'} the translation"
        if translation == original:
            return False, f"{start} is still the same. Switch off more heads."
        return True, f"{start} is: {escaped(translation) or '(empty)'}"

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
        start_fields={"off": ""},
        answer_fields={"off": off},
        check=check,
    )


def _layer_that_matters(model: Model, text: str, original: str) -> tuple[int, str]:
    """Return the highest layer whose cross-attention the translation needs, and the translation
    without it. Raises LessonUnavailable if there is none."""
    for layer in reversed(range(model.n_layers)):
        heads: list[Head] = [("cross", layer, head) for head in range(model.n_heads)]
        altered = _translation_without(model, text, write_heads(heads))
        if altered != original:
            return layer, altered
    raise LessonUnavailable("its translation stays the same without any layer of cross-attention")


def _translation_without(model: Model, text: str, off: str) -> str:
    """Return the translation with the heads of the address field `off` set to zero."""
    heads, _ = parse_heads(off, model.n_layers, model.n_heads)
    hooks = switched_off(model.translator.model.config, heads)
    return model.translator.translate(text, hooks=hooks).text


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
                f"It gets {rounded_percent(first)}: the output starts at the other end.",
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
            f"{rounded_percent(last)}. The film on this page shows how this was learned: nearly "
            "uniform attention at first, a clear antidiagonal at the end."
        ),
        picture=table_picture(
            "Attention of the last layer: written letters in rows, read letters in columns",
            symbols[::-1],
            symbols,
            weights[: len(symbols), : len(symbols)],
            [[row == 0] for row in range(len(symbols))],
        ),
        answer_fields={"run": case.model.name},
    )  # fmt: skip
