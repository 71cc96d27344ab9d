"""The most salient heads on one sentence: an aligner, a previous-word head, and attention sinks.

These are for a first impression and use this sentence only, except for an aligner that was measured
against gold links (`alignment.aligner_head`); `head_roles` uses a whole corpus. A head is chosen by
its weights between words without punctuation; the weights that describe it are those that pictures
show, in which punctuation belongs to the word before it.
"""

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
from transformer.measures.words import merge, plain_words, rows_of_written, words

MIN_SHARE = 0.5
"""The minimum share for a salient head. A head with uniform weights over three or more tokens never
reaches one half."""


@runtime_checkable
class LayeredTrace(AttentionTrace, Protocol):
    """The part of a trace that is used; `inference.Trace` is one."""

    def depth(self, kind: str) -> int: ...


@dataclass(frozen=True)
class SalientHead:
    """A head, and what it does most clearly.

    Attributes:
        pattern: "aligner": it aligns words with their translations; "previous": it attends to the
            previous word; "sink": to one end of the sentence.
        share: how clear the pattern is over the sentence, 0 to 1: by `alignment`, the mean of
            `word_before`, or the mean weight on that end.
        word, attended_word: an example: the word of the query and the one it attends to; for a
            sink "" and the token at that end.
        weight: between them; for a sink, `share`.
        rows: the pieces of `word`; empty for a sink.
        count, total: number of words with this pattern, and of words that could have it; for
            sinks, number of heads with it, and of all heads.
        target_row: for an aligner, the row that aligns a word: "output", which predicts it, or
            "input", which has it as its input.
        measured: whether the aligner was selected by gold links, not on this sentence.
    """

    pattern: Literal["aligner", "previous", "sink"]
    kind: str
    layer: int
    head: int
    share: float
    word: str
    attended_word: str
    weight: float
    rows: tuple[int, ...]
    count: int
    total: int
    target_row: Literal["output", "input"] = "output"
    measured: bool = False


def salient_heads(trace: LayeredTrace, aligner: AlignerHead | None = None) -> list[SalientHead]:
    """Return the clearest head of each pattern on this sentence.

    A pattern is missing if no head reaches `MIN_SHARE`, or if fewer than two words could show it.

    Args:
        aligner: the head that aligns words best by gold links. It is returned as the aligner even
            if its share on this sentence is low.
    """
    aligns = _measured(trace, aligner) if aligner else _aligns(trace)
    heads = (aligns, _previous_word(trace), _attention_sink(trace))
    return [head for head in heads if head is not None]


def strongest_pairs(
    weights: Float[np.ndarray, "*heads target source"],
) -> Bool[np.ndarray, "*heads target source"]:
    """Return the pairs of words that are each other's strongest: the intersection of both
    directions.

    This is a standard way to make alignments symmetric (Och and Ney 2003, from memory).
    """
    best = weights == weights.max(axis=-1, keepdims=True)
    best &= weights == weights.max(axis=-2, keepdims=True)
    best &= weights > 0
    # Equal weights would count a word twice.
    best &= (best.cumsum(axis=-1) == 1) & (best.cumsum(axis=-2) == 1)
    return np.asarray(best)


def alignment(
    weights: Float[np.ndarray, "heads target source"],
) -> tuple[Float[np.ndarray, " heads"], Bool[np.ndarray, "target source"]]:
    """Return how clearly each head aligns, 0 to 1, and the pairs it is measured on.

    The pairs are the strongest of the mean of all heads: a single head may be as clear about
    something else, such as the previous or the next word, and those differ from head to head. Their
    weights are summed and divided by the maximum number of pairs.
    """
    pairs = strongest_pairs(weights.mean(axis=0))
    return (weights * pairs).sum(axis=(-2, -1)) / max(min(weights.shape[-2:]), 1), pairs


def word_before(
    weights: Float[np.ndarray, "heads word word"], labels: Sequence[str]
) -> Float[np.ndarray, "heads row"]:
    """Return the weight of every word on the previous word, without punctuation between them."""
    rows = _rows_after_a_word(labels)
    return np.asarray(weights[:, rows, [row - 1 for row in rows]])


def _aligns(trace: LayeredTrace) -> SalientHead | None:
    rows, row_labels = plain_words(trace.predicted_tokens)
    columns, column_labels = plain_words(trace.src_tokens)
    target, source = _word_positions(row_labels), _word_positions(column_labels)
    if min(len(target), len(source)) < 2:
        return None
    word_weights = [
        merge(layer_weights, rows, columns) for _, layer_weights in _layers(trace, "cross")
    ]
    if not word_weights:
        return None
    weights = np.concatenate(word_weights)[:, target][:, :, source]
    shares, pairs = alignment(weights)
    best = int(shares.argmax())
    if shares[best] < MIN_SHARE:
        return None
    layer, head = divmod(best, len(word_weights[0]))
    shown = _shown(trace.weights("cross", layer)[head], trace, target, source)
    clear = pairs & (shown >= MIN_SHARE)
    if not clear.any():
        return None
    # Prefer long words, which are names and nouns rather than articles.
    row, column = max(
        np.argwhere(clear).tolist(),
        key=lambda cell: (len(column_labels[source[cell[1]]]), shown[cell[0], cell[1]]),
    )
    return SalientHead(
        "aligner", "cross", layer, head, float(shares[best]),
        row_labels[target[row]], column_labels[source[column]],
        float(shown[row, column]), _pieces(rows, target[row]),
        int(clear.sum()), len(target),
    )  # fmt: skip


def _measured(trace: LayeredTrace, aligner: AlignerHead) -> SalientHead | None:
    """Return the measured aligner on this sentence, with each word's largest weight."""
    rows, row_labels = plain_words(trace.predicted_tokens)
    _, column_labels = plain_words(trace.src_tokens)
    target, source = _word_positions(row_labels), _word_positions(column_labels)
    if min(len(target), len(source)) < 2:
        return None
    head_weights = trace.weights("cross", aligner.layer)[aligner.head].astype(np.float64)
    rows_by_word = rows_of_written(head_weights, aligner.weights_to)
    weights = _shown(rows_by_word, trace, target, source)
    best = weights.max(axis=-1)
    # Prefer a long one of the clearest words: names and nouns rather than articles.
    row = max(
        range(len(target)),
        key=lambda index: (best[index] >= MIN_SHARE, len(row_labels[target[index]]), best[index]),
    )
    later = int(aligner.weights_to == "input")
    pieces = (min(index + later, len(rows) - 1) for index in _pieces(rows, target[row]))
    return SalientHead(
        "aligner", "cross", aligner.layer, aligner.head, float(best.mean()),
        row_labels[target[row]], column_labels[source[int(weights[row].argmax())]],
        float(best[row]), tuple(dict.fromkeys(pieces)), int((best >= MIN_SHARE).sum()), len(target),
        aligner.weights_to, True,
    )  # fmt: skip


def _previous_word(trace: LayeredTrace) -> SalientHead | None:
    best: SalientHead | None = None
    for kind, tokens in (("encoder", trace.src_tokens), ("decoder", trace.tgt_tokens)):
        numbers, labels = plain_words(tokens)
        rows = _rows_after_a_word(labels)
        if len(rows) < 2:
            continue
        for layer, weights in _layers(trace, kind):
            shares_by_word = word_before(merge(weights, numbers, numbers), labels)
            shares = shares_by_word.mean(axis=-1)
            head = int(shares.argmax())
            if shares[head] < MIN_SHARE or (best and shares[head] <= best.share):
                continue
            before = [row - 1 for row in rows]
            shown = _shown_between(weights[head], tokens, tokens, rows, before).diagonal()
            index = int(shown.argmax())
            best = SalientHead(
                "previous", kind, layer, head, float(shares[head]),
                labels[rows[index]], labels[rows[index] - 1], float(shown[index]),
                _pieces(numbers, rows[index]), int((shown >= MIN_SHARE).sum()),
                len(rows),
            )  # fmt: skip
    return best


def _attention_sink(trace: LayeredTrace) -> SalientHead | None:
    """Check the source's end first; leave out the decoder's first row, which sees only `<s>`."""
    last, first = trace.src_tokens[-1:], trace.tgt_tokens[:1]  # an encoder alone has no target
    ends = [("encoder", -1, last), ("cross", -1, last), ("decoder", 0, first)]
    candidates: list[tuple[bool, float, str, int, int, str]] = []
    for kind, column, tokens in ends:
        for layer, weights in _layers(trace, kind):
            token = tokens[0]
            rows = weights[:, 1:] if kind == "decoder" else weights
            if token not in CONTROL or rows.shape[1] < 2:
                continue
            shares = share(rows, column)
            candidates += [
                (column == -1, float(value), kind, layer, head, token)
                for head, value in enumerate(shares)
            ]
    salient = [candidate for candidate in candidates if candidate[1] >= MIN_SHARE]
    if not salient:
        return None
    _, top_share, kind, layer, head, token = max(salient, key=lambda candidate: candidate[:2])
    return SalientHead(
        "sink",
        kind,
        layer,
        head,
        top_share,
        "",
        token,
        top_share,
        (),
        len(salient),
        len(candidates),
    )


def _layers(
    trace: LayeredTrace, kind: str
) -> Iterator[tuple[int, Float[np.ndarray, "heads row column"]]]:
    """Yield nothing for a kind that the trace lacks: a file may hold only an encoder or a
    decoder."""
    for layer in range(trace.depth(kind)):
        try:
            weights = trace.weights(kind, layer)
        except ValueError:
            return
        yield layer, weights.astype(np.float64)


def _shown(
    weights: Float[np.ndarray, "row column"],
    trace: LayeredTrace,
    target: Sequence[int],
    source: Sequence[int],
) -> Float[np.ndarray, "target source"]:
    return _shown_between(weights, trace.predicted_tokens, trace.src_tokens, target, source)


def _shown_between(
    weights: Float[np.ndarray, "row column"],
    row_tokens: Sequence[str],
    column_tokens: Sequence[str],
    rows: Sequence[int],
    columns: Sequence[int],
) -> Float[np.ndarray, "rows columns"]:
    """Return the weights between words, numbered as by `plain_words`, as pictures show them:
    between `words`, which include punctuation."""
    merged = merge(weights.astype(np.float64), words(row_tokens), words(column_tokens))
    shown_rows = _shown_numbers(row_tokens, rows)
    selected: Float[np.ndarray, "rows columns"] = merged[shown_rows][
        :, _shown_numbers(column_tokens, columns)
    ]
    return selected


def _shown_numbers(tokens: Sequence[str], numbers: Sequence[int]) -> list[int]:
    """Return the number in `words` of each of these words, numbered as by `plain_words`."""
    plain, shown = plain_words(tokens)[0], words(tokens)
    return [shown[plain.index(number)] for number in numbers]


def _word_positions(labels: Sequence[str]) -> list[int]:
    return [number for number, label in enumerate(labels) if label]


def _rows_after_a_word(labels: Sequence[str]) -> list[int]:
    words = set(_word_positions(labels))
    return [number for number in sorted(words) if number - 1 in words]


def _pieces(numbers: Sequence[int], word: int) -> tuple[int, ...]:
    return tuple(position for position, number in enumerate(numbers) if number == word)
