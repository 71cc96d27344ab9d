"""What stands out on one sentence: the head that aligns, the one that looks a word back, those at
rest. For a first look, from this sentence alone, except for the aligner where one was measured
against gold links (`alignment.aligner_head`); `head_roles` asks a whole corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from transformer.analysis.alignment.aligner_head import AlignerHead
from transformer.measures.pieces import CONTROL
from transformer.measures.registry import AttentionTrace
from transformer.measures.tokens import share
from transformer.measures.words import merge, plain_words, rows_of_written

CLEAR = 0.5
"""The least that is said to stand out. More than half of a row's attention is more than all other
tokens have together, and a head that spreads evenly has it nowhere among three tokens or more."""


@runtime_checkable
class Attended(AttentionTrace, Protocol):
    """What is read of a trace; `inference.Trace` is one."""

    def depth(self, kind: str) -> int: ...


@dataclass(frozen=True)
class StandsOut:
    """A head, and what it does most clearly.

    Attributes:
        what: "aligns" words with their translations, looks one word "back", or "rests" on an end
            of the sentence.
        share: how clear it is over the sentence, 0 to 1: by `alignment`, the mean of `word_before`,
            or the mean weight on that end.
        word, other: an example: the word that looks and the one that is looked at; of a head at
            rest "" and the token that it rests on.
        weight: between them; of a head at rest as `share`.
        rows: the pieces of the word that looks; empty for a head at rest.
        count, of: words that are aligned as clearly, of those of the translation; words that look
            back so, of those that could; heads at rest, of all.
        to: of an aligner: the row in which it looks a word up, "output", which writes the word, or
            "input", which has just read it.
        measured: whether the aligner was chosen by gold links; else on this sentence alone.
    """

    what: Literal["aligns", "back", "rests"]
    kind: str
    layer: int
    head: int
    share: float
    word: str
    other: str
    weight: float
    rows: tuple[int, ...]
    count: int
    of: int
    to: Literal["output", "input"] = "output"
    measured: bool = False


def stand_out(trace: Attended, aligner: AlignerHead | None = None) -> list[StandsOut]:
    """What stands out on this sentence, one head of each sort; none of a sort in which no head has
    `CLEAR`, or in which there are fewer than two words to see it by.

    Args:
        aligner: the head that aligns words best by gold links. It is the one that "aligns", however
            clear it is on this sentence.
    """
    aligns = _measured(trace, aligner) if aligner else _aligns(trace)
    found = (aligns, _back(trace), _rests(trace))
    return [one for one in found if one is not None]


def strongest_pairs(
    weights: Float[np.ndarray, "*heads target source"],
) -> Bool[np.ndarray, "*heads target source"]:
    """The pairs of words of which each is the other's strongest: the intersection of both
    directions, as aligners are made symmetric (Och and Ney 2003, from memory)."""
    best = weights == weights.max(axis=-1, keepdims=True)
    best &= weights == weights.max(axis=-2, keepdims=True)
    best &= weights > 0
    # Equal weights would count a word twice.
    best &= (best.cumsum(axis=-1) == 1) & (best.cumsum(axis=-2) == 1)
    return np.asarray(best)


def alignment(
    weights: Float[np.ndarray, "heads target source"],
) -> tuple[Float[np.ndarray, " heads"], Bool[np.ndarray, "target source"]]:
    """How clearly each head aligns, 0 to 1, and the pairs that it is asked for.

    The pairs are the strongest of the mean of all heads: a single head may be as decided about
    something else, the word before or the one to come, and those differ from head to head. Their
    weights are added up and divided by how many there could be.
    """
    pairs = strongest_pairs(weights.mean(axis=0))
    return (weights * pairs).sum(axis=(-2, -1)) / max(min(weights.shape[-2:]), 1), pairs


def word_before(
    weights: Float[np.ndarray, "heads word word"], labels: Sequence[str]
) -> Float[np.ndarray, "heads row"]:
    """The weight of every word on the one before; of words alone, with no sign between them."""
    rows = _after_a_word(labels)
    return np.asarray(weights[:, rows, [row - 1 for row in rows]])


def _aligns(trace: Attended) -> StandsOut | None:
    rows, row_labels = plain_words(trace.predicted_tokens)
    columns, column_labels = plain_words(trace.src_tokens)
    target, source = _spoken(row_labels), _spoken(column_labels)
    if min(len(target), len(source)) < 2:
        return None
    each = [merge(found, rows, columns) for _, found in _layers(trace, "cross")]
    if not each:
        return None
    weights = np.concatenate(each)[:, target][:, :, source]
    shares, pairs = alignment(weights)
    best = int(shares.argmax())
    if shares[best] < CLEAR:
        return None
    clear = pairs & (weights[best] >= CLEAR)
    # Long words say more than short ones: names and things rather than articles.
    row, column = max(
        np.argwhere(clear).tolist(),
        key=lambda at: (len(column_labels[source[at[1]]]), weights[best, at[0], at[1]]),
    )
    layer, head = divmod(best, len(each[0]))
    return StandsOut(
        "aligns", "cross", layer, head, float(shares[best]),
        row_labels[target[row]], column_labels[source[column]],
        float(weights[best, row, column]), _pieces(rows, target[row]),
        int(clear.sum()), len(target),
    )  # fmt: skip


def _measured(trace: Attended, aligner: AlignerHead) -> StandsOut | None:
    """What the measured aligner does on this sentence: how much each word gives its favourite."""
    rows, row_labels = plain_words(trace.predicted_tokens)
    columns, column_labels = plain_words(trace.src_tokens)
    target, source = _spoken(row_labels), _spoken(column_labels)
    if min(len(target), len(source)) < 2:
        return None
    own = trace.weights("cross", aligner.layer)[aligner.head].astype(np.float64)
    moved = rows_of_written(own, aligner.weights_to)
    weights = merge(moved, rows, columns)[target][:, source]
    best = weights.max(axis=-1)
    # Of the clearest words a long one: names and things rather than articles.
    row = max(
        range(len(target)),
        key=lambda at: (best[at] >= CLEAR, len(row_labels[target[at]]), best[at]),
    )
    later = int(aligner.weights_to == "input")
    pieces = (min(at + later, len(rows) - 1) for at in _pieces(rows, target[row]))
    return StandsOut(
        "aligns", "cross", aligner.layer, aligner.head, float(best.mean()),
        row_labels[target[row]], column_labels[source[int(weights[row].argmax())]],
        float(best[row]), tuple(dict.fromkeys(pieces)), int((best >= CLEAR).sum()), len(target),
        aligner.weights_to, True,
    )  # fmt: skip


def _back(trace: Attended) -> StandsOut | None:
    best: StandsOut | None = None
    for kind, tokens in (("encoder", trace.src_tokens), ("decoder", trace.tgt_tokens)):
        numbers, labels = plain_words(tokens)
        rows = _after_a_word(labels)
        if len(rows) < 2:
            continue
        for layer, weights in _layers(trace, kind):
            each = word_before(merge(weights, numbers, numbers), labels)
            shares = each.mean(axis=-1)
            head = int(shares.argmax())
            if shares[head] < CLEAR or (best and shares[head] <= best.share):
                continue
            at = int(each[head].argmax())
            best = StandsOut(
                "back", kind, layer, head, float(shares[head]),
                labels[rows[at]], labels[rows[at] - 1], float(each[head, at]),
                _pieces(numbers, rows[at]), int((each[head] >= CLEAR).sum()), len(rows),
            )  # fmt: skip
    return best


def _rests(trace: Attended) -> StandsOut | None:
    """The source's end is asked first; the decoder's first row sees `<s>` alone and is left out."""
    last, first = trace.src_tokens[-1:], trace.tgt_tokens[:1]  # an encoder alone has no target
    ends = [("encoder", -1, last), ("cross", -1, last), ("decoder", 0, first)]
    found: list[tuple[bool, float, str, int, int, str]] = []
    for kind, column, tokens in ends:
        for layer, weights in _layers(trace, kind):
            token = tokens[0]
            rows = weights[:, 1:] if kind == "decoder" else weights
            if token not in CONTROL or rows.shape[1] < 2:
                continue
            shares = share(rows, column)
            found += [
                (column == -1, float(one), kind, layer, head, token)
                for head, one in enumerate(shares)
            ]
    resting = [one for one in found if one[1] >= CLEAR]
    if not resting:
        return None
    _, most, kind, layer, head, token = max(resting, key=lambda one: one[:2])
    return StandsOut(
        "rests", kind, layer, head, most, "", token, most, (), len(resting), len(found)
    )


def _layers(
    trace: Attended, kind: str
) -> Iterator[tuple[int, Float[np.ndarray, "heads row column"]]]:
    """None of a kind that the trace is without: a file may be of an encoder or a decoder alone."""
    for layer in range(trace.depth(kind)):
        try:
            weights = trace.weights(kind, layer)
        except ValueError:
            return
        yield layer, weights.astype(np.float64)


def _spoken(labels: Sequence[str]) -> list[int]:
    return [number for number, label in enumerate(labels) if label]


def _after_a_word(labels: Sequence[str]) -> list[int]:
    spoken = set(_spoken(labels))
    return [number for number in sorted(spoken) if number - 1 in spoken]


def _pieces(numbers: Sequence[int], word: int) -> tuple[int, ...]:
    return tuple(place for place, number in enumerate(numbers) if number == word)
