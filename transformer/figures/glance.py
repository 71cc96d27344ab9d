"""A translation at one glance, for `glance.js`: in whole words, each with where the model looked as
it wrote it, how sure it was, and what nearly stood there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from transformer.figures.explorer_sides import Traced
from transformer.measures.pieces import CONTROL, is_punctuation
from transformer.measures.words import merge, rows_of_written, word_labels, words

END = "</s>"
UNKNOWN = "<unk>"
BLANK = "▯"
"""Stands for a word that the model has no piece for, where the visitor's own is not known."""


@runtime_checkable
class RivalLike(Protocol):
    """A word that nearly stood there; `inference.rivals.Rival` is one."""

    @property
    def step(self) -> int: ...
    @property
    def ids(self) -> Sequence[int]: ...
    @property
    def text(self) -> str: ...
    @property
    def first(self) -> float: ...


@runtime_checkable
class AlignerLike(Protocol):
    """A cross-attention head that aligns words; `analysis.alignment.aligner_head` measures one.

    `weights_to` is the row that a word is looked up in: "output", the one that writes it, or
    "input", the next one, which reads it.
    """

    @property
    def layer(self) -> int: ...
    @property
    def head(self) -> int: ...
    @property
    def weights_to(self) -> str: ...


def glance_data(
    traced: Traced,
    rivals: Iterable[Sequence[RivalLike]] = (),
    taken: int = 0,
    aligner: AlignerLike | None = None,
) -> dict[str, Any]:
    """Words read and written, with the attention between them in one head.

    A word is what blanks stand around. Weights to its pieces are added up; from a word the rows of
    its pieces are averaged, without those of punctuation, which looks elsewhere than its word.
    `</s>` is no word: what went to it is `rest`.

    Words are compared by the pieces in which they differ, for the model chooses pieces, and a
    product over pieces falls with their number. So a word's probability `p` is that of the piece
    taken where the strongest other piece came closest (`decided_by`), and a rival's that of its
    first own piece.

    Args:
        rivals: for each word those that came close.
        taken: pieces that the translation was made to begin with; the last of them is in the word
            that somebody put there.
        aligner: the head to show; without one it is chosen by `agreeing`, on this sentence alone.

    Returns:
        source: the words read; heads, layer, head: how many there are, and which is shown; to: the
        row that words are looked up in, "output" or "input"; ids: of the translation; taken: the
        word that was put there, or -1; written: for each word `text`, `p`, `looks` (a weight for
        each word of the source), `rest`, and `rivals` (`text`, `p`, and the `step` and the `ids` to
        take).
    """
    done = traced.translation
    read, wrote = words(traced.src_tokens), words(traced.predicted_tokens)
    ends = traced.predicted_tokens[-1:] == (END,)
    count = (wrote[-1] + 1 - ends) if wrote else 0
    weights = np.stack([traced.weights("cross", i) for i in range(int(traced.config["n_layers"]))])
    to = aligner.weights_to if aligner else "output"
    merged = _by_word(rows_of_written(weights, to), traced.predicted_tokens, read)[:, :, :count]
    looks, rest = merged[..., :-1], merged[..., -1]
    layer, head = (aligner.layer, aligner.head) if aligner else agreeing(looks)
    labels, beside = word_labels(traced.predicted_tokens), [*rivals]
    return {
        "source": _source(done.source, word_labels(traced.src_tokens)[:-1]),
        "heads": int(weights.shape[0] * weights.shape[1]),
        "layer": layer,
        "head": head,
        "to": to,
        "ids": list(done.ids),
        "taken": wrote[taken - 1] if 0 < taken <= len(wrote) else -1,
        "written": [
            {
                "text": labels[number].replace(UNKNOWN, BLANK),
                "p": float(done.steps[decided_by(done.steps, wrote, number)].probability),
                "looks": np.round(looks[layer, head, number], 4).tolist(),
                "rest": round(float(rest[layer, head, number]), 4),
                "rivals": [
                    {"text": r.text, "p": r.first, "step": r.step, "ids": list(r.ids)}
                    for r in (beside[number] if number < len(beside) else ())
                ],
            }
            for number in range(count)
        ],
    }


def decided_by(steps: Sequence[Any], words_of_steps: Sequence[int], word: int) -> int:
    """The step of a word at which another came closest: where the strongest piece that was not
    taken has its greatest probability.

    Of a translation that takes the most probable piece at every step no rival's first piece is
    more probable than the one taken here.

    Args:
        steps: of decoding, with `candidates`, `chosen` and `probability`.
        words_of_steps: the number of the word that each step writes.
    """

    def closest(step: int) -> float:
        taken = steps[step].chosen.id
        others = (
            one.probability
            for one in steps[step].candidates
            if one.id != taken and one.token not in CONTROL
        )
        return max(others, default=0.0)

    own = [step for step, number in enumerate(words_of_steps) if number == word]
    return max(own, key=closest)


def _by_word(
    weights: Float[np.ndarray, "layers heads written key"],
    tokens: Sequence[str],
    read: Sequence[int],
) -> Float[np.ndarray, "layers heads written_word key_word"]:
    """`words.merge`, with the rows of punctuation left out of a word that has letters."""
    wrote = words(tokens)
    kept = [
        [at for at, word in enumerate(wrote) if word == number and not is_punctuation(tokens[at])]
        or [at for at, word in enumerate(wrote) if word == number]
        for number in range(wrote[-1] + 1 if wrote else 0)
    ]
    columns = merge(weights, range(weights.shape[-2]), read)
    rows = [columns[..., members, :].mean(axis=-2) for members in kept]
    return np.stack(rows, axis=-2) if rows else columns


def agreeing(looks: Float[np.ndarray, "layers heads written source"]) -> tuple[int, int]:
    """Layer and head that agree most with all heads together.

    The mean of all heads looks roughly where the words belong together, but faintly. Of each head
    the products of its weights and the mean's are summed: it is the head that looks most where all
    of them look most. A choice for a first sight, made on this sentence alone, and no measure of
    what a head is for.
    """
    if not looks.size:
        return 0, 0
    marks = (looks * looks.mean(axis=(0, 1))).sum(axis=(2, 3))
    layer, head = np.unravel_index(int(marks.argmax()), marks.shape)
    return int(layer), int(head)


def _source(text: str, labels: Sequence[str]) -> list[str]:
    """The words as the visitor wrote them, if they are as many as the model read."""
    own = text.split()
    if len(own) == len(labels):
        return own
    return [label.replace(UNKNOWN, BLANK) for label in labels]
