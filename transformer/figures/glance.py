"""A translation in whole words, for `glance.js`: each with its attention to the source, its
probability and the alternative words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from transformer.figures.explorer_sides import TraceLike
from transformer.measures.pieces import CONTROL, is_punctuation
from transformer.measures.words import merge, rows_of_written, word_labels, words

END = "</s>"
UNKNOWN = "<unk>"
UNKNOWN_WORD = "▯"
"""Shown for an unknown token whose original word is not known."""
MAX_STRIP_PAIRS = 2_500
"""Maximum pairs of a target and a source word for which the weights of all heads are sent."""
WEIGHT_SCALE = 10_000
"""Weights of all heads are sent as whole numbers: a weight of 1 is this number."""


@runtime_checkable
class AlternativeLike(Protocol):
    """An alternative word; `inference.alternatives.Alternative` satisfies it."""

    @property
    def step(self) -> int: ...
    @property
    def ids(self) -> Sequence[int]: ...
    @property
    def text(self) -> str: ...
    @property
    def first_piece_probability(self) -> float: ...


@runtime_checkable
class AlignerLike(Protocol):
    """A cross-attention head that aligns words, as `analysis.alignment.aligner_head` returns it.

    `weights_to` says which row belongs to a word: "output", the row that writes it, or "input", the
    next row, which reads it.
    """

    @property
    def layer(self) -> int: ...
    @property
    def head(self) -> int: ...
    @property
    def weights_to(self) -> str: ...


def glance_data(
    traced: TraceLike,
    alternatives: Iterable[Sequence[AlternativeLike]] = (),
    n_forced: int = 0,
    aligner: AlignerLike | None = None,
) -> dict[str, Any]:
    """Return the words of source and translation, with the attention of one head between them.

    Words are separated by spaces. Weights to the pieces of a word are summed; the rows of its
    pieces are averaged, without punctuation, which attends elsewhere. `</s>` is not a word: the
    weight on it is `end_weight`.

    Words are compared by the pieces in which they differ, because the model chooses pieces and a
    product over pieces falls with their number. So a word's probability `p` is that of its piece at
    the step where another piece came closest (`deciding_step`), and an alternative's is that of the
    first piece that differs.

    Args:
        alternatives: the alternatives of each word.
        n_forced: number of pieces that were forced at the start of the translation; the last of
            them belongs to the word that the reader chose.
        aligner: the head to show; without one, `head_nearest_mean` of this sentence.

    Returns:
        `source`: the source words; `n_layers`, `n_heads`: number of cross-attention layers, and of
        heads in each; `layer`, `head`: the head shown; `head_weights`: the weights of all heads in
        units of 1 / `WEIGHT_SCALE`, (layers, heads, words, source words and the end) in one list,
        empty for more than `MAX_STRIP_PAIRS` pairs of words;
        `to`: which row belongs to a word, "output" or "input"; `ids`: ids of the translation;
        `forced_word`: index of the word that the reader chose, or -1; `words`: for each word
        `text`, `p`, `weights` (one for each source word), `end_weight`, and `alternatives` (each
        with `text`, `p`, and the `step` and `ids` that choose it).
    """
    translation = traced.translation
    source_words, target_words = words(traced.src_tokens), words(traced.predicted_tokens)
    ends = traced.predicted_tokens[-1:] == (END,)
    count = (target_words[-1] + 1 - ends) if target_words else 0
    weights = np.stack([traced.weights("cross", i) for i in range(int(traced.config["n_layers"]))])
    to = aligner.weights_to if aligner else "output"
    merged = _by_word(rows_of_written(weights, to), traced.predicted_tokens, source_words)[
        :, :, :count
    ]
    source_weights, end_weights = merged[..., :-1], merged[..., -1]
    layer, head = (aligner.layer, aligner.head) if aligner else head_nearest_mean(source_weights)
    labels, alternatives_by_word = word_labels(traced.predicted_tokens), [*alternatives]
    return {
        "source": _source(translation.source, word_labels(traced.src_tokens)[:-1]),
        "n_layers": int(weights.shape[0]),
        "n_heads": int(weights.shape[1]),
        "head_weights": (
            np.rint(merged * WEIGHT_SCALE).astype(int).ravel().tolist()
            if merged.shape[2] * merged.shape[3] <= MAX_STRIP_PAIRS
            else []
        ),
        "layer": layer,
        "head": head,
        "to": to,
        "ids": list(translation.ids),
        "forced_word": target_words[n_forced - 1] if 0 < n_forced <= len(target_words) else -1,
        "words": [
            {
                "text": labels[number].replace(UNKNOWN, UNKNOWN_WORD),
                "p": float(
                    translation.steps[
                        deciding_step(translation.steps, target_words, number)
                    ].probability
                ),
                "weights": np.round(source_weights[layer, head, number], 4).tolist(),
                "end_weight": round(float(end_weights[layer, head, number]), 4),
                "alternatives": [
                    {
                        "text": r.text,
                        "p": r.first_piece_probability,
                        "step": r.step,
                        "ids": list(r.ids),
                    }
                    for r in (
                        alternatives_by_word[number] if number < len(alternatives_by_word) else ()
                    )
                ],
            }
            for number in range(count)
        ],
    }


def deciding_step(steps: Sequence[Any], words_of_steps: Sequence[int], word: int) -> int:
    """Return the step of a word at which another piece came closest: where the best piece that was
    not chosen has its greatest probability.

    In a greedy translation no alternative's first differing piece is more probable than the piece
    chosen at this step.

    Args:
        steps: decoding steps with `candidates`, `chosen` and `probability`.
        words_of_steps: the index of the word that each step writes.
    """

    def closest(step: int) -> float:
        chosen = steps[step].chosen.id
        probabilities = (
            candidate.probability
            for candidate in steps[step].candidates
            if candidate.id != chosen and candidate.token not in CONTROL
        )
        return max(probabilities, default=0.0)

    steps_of_word = [step for step, number in enumerate(words_of_steps) if number == word]
    return max(steps_of_word, key=closest)


def _by_word(
    weights: Float[np.ndarray, "layers heads written key"],
    tokens: Sequence[str],
    key_words: Sequence[int],
) -> Float[np.ndarray, "layers heads written_word key_word"]:
    """Merge as `words.merge` does, but skip rows of punctuation in a word that has letters."""
    written = words(tokens)
    pieces_by_word = [
        [
            position
            for position, word in enumerate(written)
            if word == number and not is_punctuation(tokens[position])
        ]
        or [position for position, word in enumerate(written) if word == number]
        for number in range(written[-1] + 1 if written else 0)
    ]
    columns = merge(weights, range(weights.shape[-2]), key_words)
    rows = [columns[..., members, :].mean(axis=-2) for members in pieces_by_word]
    return np.stack(rows, axis=-2) if rows else columns


def head_nearest_mean(weights: Float[np.ndarray, "layers heads written source"]) -> tuple[int, int]:
    """Return layer and head whose weights agree most with the mean over all heads.

    The mean roughly follows the alignment, but faintly. The score of a head is the sum of the
    products of its weights with the mean. It only chooses a head to show first, from this sentence
    alone; it does not measure what a head does.
    """
    if not weights.size:
        return 0, 0
    scores = (weights * weights.mean(axis=(0, 1))).sum(axis=(2, 3))
    layer, head = np.unravel_index(int(scores.argmax()), scores.shape)
    return int(layer), int(head)


def _source(text: str, labels: Sequence[str]) -> list[str]:
    """Return the words as the reader typed them, if their number matches the model's words."""
    typed_words = text.split()
    if len(typed_words) == len(labels):
        return typed_words
    return [label.replace(UNKNOWN, UNKNOWN_WORD) for label in labels]
