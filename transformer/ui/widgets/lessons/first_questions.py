"""Questions about one sentence: word alignment, weights that sum to 1, decoding steps, softmax."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch

from transformer.analysis.roles.sentence_heads import MIN_SHARE, alignment
from transformer.inference import Trace
from transformer.measures.words import words as word_numbers
from transformer.ui.widgets.lessons.lesson import (
    LessonCase,
    LessonUnavailable,
    Option,
    Question,
    TraceWords,
    bold,
    escaped,
    rounded_percent,
)

OWNED_NOUN = "umbrella"
OTHER_OWNER = {"her": "his", "his": "her"}


def owner_link(case: LessonCase) -> Question:
    """Ask which source word the aligner head links to the translation's possessive."""
    words = case.words
    owner = next((n for n, word in enumerate(words.source) if word in OTHER_OWNER), -1)
    if owner < 0 or OWNED_NOUN not in words.source:
        raise LessonUnavailable("its sentence names no owner of an umbrella")
    for layer, head, word_row in aligners(case):
        weights = words.cross_heads(word_row)[layer, head]
        position = int(weights[:, owner].argmax())
        row = weights[position]
        if int(row.argmax()) == owner and row[owner] >= MIN_SHARE:
            break
    else:
        raise LessonUnavailable("its aligner head links no word of the translation to the owner")
    candidates = [owner, words.source.index(OWNED_NOUN), *(int(n) for n in np.argsort(-row))]
    options = sorted([*dict.fromkeys(candidates)][:4])
    row_position = words.first_row(position) + (word_row == "input")
    return Question(
        exhibit=f"{escaped(case.text)}  →  {_with_bold(words, position)}",
        options=tuple(
            Option(
                escaped(words.source[n]),
                f"This head gives {bold(words.source[n])} {rounded_percent(row[n])} there.",
            )
            for n in options
        ),
        correct=options.index(owner),
        answer=(
            f"The head ({case.head_name(layer, head)}) links {bold(words.target[position])} to "
            f"{bold(words.source[owner])} with {rounded_percent(row[owner])} of its attention. "
            f"{_with_other_owner(case, words.source[owner])}"
        ),
        answer_fields={
            "view": "heads", "kind": "cross", "layer": layer, "head": head,
            "pin": "", "way": "from", "tokens": f"q{row_position}",
            "word_row": word_row,
        },
    )  # fmt: skip


def aligners(case: LessonCase) -> Iterator[tuple[int, int, str]]:
    """Yield layer, head and row ("output" or "input") of the model's measured aligner head, or, if
    none was measured, of all heads, those first that align this sentence most clearly."""
    measured = case.model.aligner
    if measured is not None:
        yield measured.layer, measured.head, measured.weights_to
        return
    candidates = []
    for word_row in ("output", "input"):
        heads = case.words.cross_heads(word_row)
        shares = alignment(heads.reshape(-1, *heads.shape[2:]))[0]
        for number, share in enumerate(shares.tolist()):
            candidates.append((-share, *divmod(number, heads.shape[1]), word_row))
    for _, layer, head, word_row in sorted(candidates):
        yield layer, head, word_row


def _with_other_owner(case: LessonCase, owner: str) -> str:
    """Return a sentence on what the model writes if the owner of the umbrella changes."""
    other_text = case.text.replace(f" {owner} ", f" {OTHER_OWNER[owner]} ")
    translation = case.model.translator.translate(other_text).text
    change = f"Replace {bold(owner)} by {bold(OTHER_OWNER[owner])}, and the translation"
    if translation == case.trace.text:
        return f"{change} stays the same: in this language the possessive does not name the owner."
    return f"{change} changes: {escaped(translation)}"


def row_sum(case: LessonCase) -> Question:
    """Ask what the weights of a row sum to."""
    words, trace = case.words, case.trace
    if len(words.target) < 2:
        raise LessonUnavailable("its translation is shorter than two words")
    # A row whose largest weight is about one half, so that the others matter for the sum.
    distances = np.abs(words.cross.max(axis=-1) - 0.5)
    layer, head, position = np.unravel_index(int(distances.argmin()), distances.shape)
    sums = np.concatenate(
        [
            trace.weights(kind, i).sum(axis=-1).ravel()
            for kind in ("encoder", "decoder", "cross")
            for i in range(trace.n_layers)
        ]
    )
    error = float(np.abs(sums - 1).max())
    if error > 1e-3:
        raise LessonUnavailable("the weights of its rows do not sum to 1")
    weights = trace.weights("cross", int(layer))[int(head), words.first_row(int(position))]
    best = int(weights.argmax())
    listed = " · ".join(
        f"{case.token(trace.src_tokens, n)} {'?' if n == best else f'{100 * weight:.1f}%'}"
        for n, weight in enumerate(weights)
    )
    return Question(
        exhibit=f"One head, writing {bold(words.target[int(position)])}: {listed}",
        options=(
            Option(
                "The number of words",
                "A longer sentence does not add attention: the same total is divided further.",
            ),
            Option(
                "More for important words, less for others",
                "Every row has the same total. Rows differ only in how they divide it.",
            ),
            Option("100%, in every row of every head"),
        ),
        correct=2,
        answer=(
            f"All {len(sums):,} rows of this model's heads sum to 1, up to a rounding error of "
            f"{error:.0e}. So the missing number is {100 * weights[best]:.1f}%: weight given to "
            "one token is taken from the others."
        ),
        answer_fields={
            "view": "heatmap", "kind": "cross", "layer": int(layer), "head": int(head),
            "pin": "", "way": "from", "tokens": words.rows(int(position)),
        },
    )  # fmt: skip


def decoder_steps(case: LessonCase) -> Question:
    """Ask how many decoder steps a translation takes."""
    *written, last = case.trace.translation.steps
    if len(written) < 2:
        raise LessonUnavailable("its translation is shorter than two tokens")
    count = len(written)
    tokens = [step.chosen.token for step in (*written, last)]
    n_words = word_numbers(tokens)[-1] + 1  # with the end token
    joined = (
        f" A table in whole words joins these steps into {n_words} rows; *Show tokens* shows all "
        f"{count + 1}."
    )
    return Question(
        exhibit=f"{escaped(case.text)}  →  {case.tokens(tokens[:-1])}",
        options=(
            Option("Once: all of it at the same time", "Each token depends on those before it."),
            Option(
                f"{count} times, once for each token",
                "Then nothing would have ended the translation: stopping is a choice, too.",
            ),
            Option(f"{count + 1} times, once more than there are tokens"),
        ),
        correct=2,
        answer=(
            f"{count + 1} times: {case.tokens(tokens[:-1])} and then {case.token(tokens, count)}, "
            "the token that ends a sentence. The model chooses it like any other token, when it is "
            f"the most probable one: here with {rounded_percent(last.probability)}."
            f"{joined if n_words <= count and not case.exact else ''}"
        ),
    )


def highest_score(case: LessonCase) -> Question:
    """Ask which weight the softmax gives to the highest score."""
    words, trace = case.words, case.trace
    layer, head, position = _weight_near_three_quarters(trace, words)
    prefix = f"decoder.layers.{layer}.cross_attn.hook_"
    row = words.first_row(position)
    scores = trace[f"{prefix}scores"][head, row].astype(np.float64)
    weights = torch.from_numpy(scores).softmax(-1).numpy()
    if np.abs(weights - trace[f"{prefix}weights"][head, row]).max() > 1e-4:
        raise LessonUnavailable("its weights are not the softmax of its scores")
    best, second = (int(n) for n in np.argsort(-scores)[:2])
    shown = [round(float(score), 2) for score in scores]
    gap = shown[best] - shown[second]
    listed = " · ".join(
        f"{case.token(trace.src_tokens, n)} {score:.2f}".replace(" -", " −")
        for n, score in enumerate(shown)
    )
    share = rounded_percent(float(weights[best]))
    return Question(
        exhibit=f"Scores of one head, writing {bold(words.target[position])}: {listed}",
        options=(
            Option(
                f"{rounded_percent(1 / len(scores))}: the same as each of the {len(scores)} tokens",
                "Then the scores would make no difference.",
            ),
            Option(share),
            Option(
                "100%: the highest score takes everything",
                "The softmax is never exactly 0: every token keeps a little weight.",
            ),
        ),
        correct=1,
        answer=(
            f"{case.token(trace.src_tokens, best)} gets {share}. The softmax raises e to the power "
            "of each score and divides by the sum. The score of "
            f"{case.token(trace.src_tokens, second)} is lower by {gap:.2f}, so its weight is "
            f"e^{gap:.2f} ≈ {_factor(math.exp(gap))} times smaller. The page shows every step: "
            "query times key, division by √d_k, softmax."
        ),
        answer_fields={
            "view": "query-key", "kind": "cross", "layer": layer, "head": head, "row": row,
            "column": best,
        },
    )  # fmt: skip


def _factor(value: float) -> str:
    """Format a factor with at least two significant digits."""
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def _weight_near_three_quarters(trace: Trace, words: TraceWords) -> tuple[int, int, int]:
    """Return layer, head and target word whose largest weight is on a word and closest to 75%."""
    candidates: list[tuple[float, int, int, int]] = []
    for layer in range(trace.n_layers):
        weights = trace.weights("cross", layer)
        for position in range(len(words.target)):
            rows = weights[:, words.first_row(position)]
            for head, best in enumerate(rows.argmax(axis=-1)):
                if trace.src_tokens[best].strip("▁").isalpha():
                    distance = abs(float(rows[head, best]) - 0.75)
                    candidates.append((distance, layer, head, position))
    if not candidates or min(candidates)[0] > 0.2:
        raise LessonUnavailable("none of its heads gives a word between 55% and 95% of a row")
    return min(candidates)[1:]


def _with_bold(words: TraceWords, position: int) -> str:
    """Return the translation with one of its words in bold."""
    return " ".join(
        bold(word) if n == position else escaped(word) for n, word in enumerate(words.target)
    )
