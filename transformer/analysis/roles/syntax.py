"""Syntactic heads, measured on human-made dependency trees.

Voita et al. 2019, section 5.2: a head's accuracy on a relation, such as verb to object, is the
share of verbs whose strongest weight (without `<s>` and `</s>`) is on their object. A positional
head may reach some accuracy too, so the most frequent offset between the two words is the baseline,
and a syntactic head must be 10 percentage points better.

Unlike the paper, head and offset are chosen on one half of the sentences (the first, third, …) and
measured on the other half, because the accuracy of the best of 48 heads is too high on the
sentences it was chosen on. In the decoder, a relation counts only if the second word comes first in
the sentence, since decoder self-attention sees only earlier positions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Integer
from torch import Tensor

from transformer.analysis.corpora.gold import words_of
from transformer.analysis.corpora.passes import (
    NumberedBatch,
    Pair,
    Progress,
    no_progress,
    run_with_hooks,
)
from transformer.analysis.corpora.trees import Tree
from transformer.analysis.evidence.bootstrap import percentile_interval, resampled_counts
from transformer.analysis.roles.corpus_tokens import MARGIN, MIN_ROWS
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.trace import WEIGHTS

Stack = Literal["encoder", "decoder"]
RELATIONS: dict[str, tuple[str, bool]] = {
    "predicate to subject": ("subject", True),
    "subject to predicate": ("subject", False),
    "verb to object": ("object", True),
    "object to verb": ("object", False),
    "noun to adjective": ("adjective", True),
    "adjective to noun": ("adjective", False),
}
"""The relation in the tree, and whether the attention row is that of the governor (the column is
then the dependent)."""

Strongest = Integer[np.ndarray, "layers heads _"]  # layers, heads, query
Arc = tuple[list[int], list[int]]  # token positions of the row's word and of the related word


@dataclass(frozen=True)
class SyntaxScore:
    """The accuracies of the best head and of the best offset for one relation.

    Attributes:
        stack: the encoder's or the decoder's self-attention.
        relation: one of `RELATIONS`.
        layer, head: from 0.
        accuracy: fraction of rows whose strongest weight is on the related word.
        low, high: 95% bootstrap interval over sentences of `accuracy - offset_accuracy`.
        offset: the best fixed offset from the row to the related word.
        offset_accuracy: fraction of rows whose related word is at that offset.
        rows: number of measured rows.
    """

    stack: Stack
    relation: str
    layer: int
    head: int
    accuracy: float
    low: float
    high: float
    offset: int
    offset_accuracy: float
    rows: int

    @property
    def syntactic(self) -> bool:
        """Whether the head is at least 10 points better than the offset (Voita et al. 2019)."""
        return self.accuracy - self.offset_accuracy >= MARGIN

    def to_dict(self) -> dict[str, str | float]:
        """Return the fields as JSON values."""
        return asdict(self)


def syntax_scores(
    translator: Translator,
    sources: Sequence[Tree],
    targets: Sequence[Tree],
    progress: Progress = no_progress,
) -> list[SyntaxScore]:
    """Return the score of every relation in encoder and decoder, teacher-forced on `targets`.

    Args:
        sources, targets: the same sentences in the model's two languages, in the same order.

    Raises ValueError if the numbers of sentences differ, or a sentence is too long.
    """
    if len(sources) != len(targets):
        raise ValueError(
            f"{len(sources)} source trees and {len(targets)} target trees; both sides need the "
            "same sentences"
        )
    vocabulary = translator.vocabulary
    pairs = [
        Pair(vocabulary.encode(src.text), vocabulary.encode(tgt.text, target=True))
        for src, tgt in zip(sources, targets, strict=True)
    ]
    strongest = _strongest_tokens(translator, pairs, progress)
    scores = []
    for stack, trees in (("encoder", sources), ("decoder", targets)):
        ids = [pair.src if stack == "encoder" else pair.out for pair in pairs]
        words_by_sentence = [
            words_of(vocabulary.tokens(tokens[:-1]), tree.words)
            for tokens, tree in zip(ids, trees, strict=True)
        ]
        for relation in RELATIONS:
            arcs = [
                [] if words is None else _arcs(tree, words, relation, stack)
                for tree, words in zip(trees, words_by_sentence, strict=True)
            ]
            score = _score(stack, relation, arcs, strongest[stack])
            if score is not None:
                scores.append(score)
    return scores


def _strongest_tokens(
    translator: Translator, pairs: Sequence[Pair], progress: Progress
) -> dict[str, list[Strongest]]:
    """Return the key of the strongest weight of every row, `<s>` and `</s>` aside, by sentence."""
    config = translator.model.config
    strongest: dict[str, list[Strongest]] = {
        stack: [
            np.zeros((config.n_layers, config.n_heads, len(ids)), np.int16)
            for ids in ([p.src for p in pairs] if stack == "encoder" else [p.out for p in pairs])
        ]
        for stack in ("encoder", "decoder")
    }
    special = torch.tensor([config.bos_id, config.eos_id, config.pad_id])

    def record(stack: str, layer: int, batch: NumberedBatch) -> Callable[[Tensor, str], None]:
        keys = batch.src if stack == "encoder" else batch.tgt_in
        is_special = torch.isin(keys, special.to(keys.device))[:, None, None]

        def hook(weights: Tensor, name: str) -> None:
            best = weights.float().masked_fill(is_special, -1.0).argmax(-1).cpu().numpy()
            for row, number in enumerate(batch.numbers):
                table = strongest[stack][number]
                table[layer] = best[row, :, : table.shape[-1]]

        return hook

    def hooks(batch: NumberedBatch) -> Hooks:
        return Hooks(
            {
                WEIGHTS[stack].format(layer): record(stack, layer, batch)
                for stack in ("encoder", "decoder")
                for layer in range(config.n_layers)
            }
        )

    run_with_hooks(translator, pairs, hooks, progress)
    return strongest


def _arcs(tree: Tree, words: Sequence[int], relation: str, stack: str) -> list[Arc]:
    """Return the rows and columns of every dependency of this relation.

    Every token of a word is a row, and a weight on any token of the related word is a hit. Decoder
    positions are shifted by one, because the first is that of `<s>`.
    """
    name, from_governor = RELATIONS[relation]
    shift = 1 if stack == "decoder" else 0
    tokens: dict[int, list[int]] = {}
    for position, word in enumerate(words):
        tokens.setdefault(word, []).append(position + shift)
    arcs = []
    for relation_name, governor, dependent in tree.dependencies:
        row, column = (governor, dependent) if from_governor else (dependent, governor)
        if relation_name != name or row not in tokens or column not in tokens:
            continue
        if stack == "decoder" and column > row:
            continue
        arcs.append((tokens[row], tokens[column]))
    return arcs


def _score(
    stack: str, relation: str, arcs: Sequence[Sequence[Arc]], strongest: Sequence[Strongest]
) -> SyntaxScore | None:
    """Choose head and offset on every other sentence and measure them on the rest."""
    rows = np.array(
        [sum(len(query) for query, _ in sentence_arcs) for sentence_arcs in arcs], np.float64
    )
    if rows[1::2].sum() < MIN_ROWS:
        return None
    hits = np.stack(
        [_hits(sentence_arcs, table) for sentence_arcs, table in zip(arcs, strongest, strict=True)]
    )
    selection_hits = hits[::2].sum(0)
    layer, head = (int(n) for n in np.unravel_index(selection_hits.argmax(), selection_hits.shape))
    offset = _best_offset(arcs[::2])
    head_hits = hits[1::2, layer, head]
    offset_hits = np.array(
        [_offset_hits(sentence_arcs, offset) for sentence_arcs in arcs[1::2]], np.float64
    )
    n_rows = rows[1::2]
    counts = resampled_counts(len(n_rows))
    difference = (head_hits - offset_hits).sum() / n_rows.sum()
    sampled = (counts @ (head_hits - offset_hits)) / np.maximum(counts @ n_rows, 1)
    bounds = percentile_interval(difference, sampled)
    return SyntaxScore(
        stack="encoder" if stack == "encoder" else "decoder",
        relation=relation,
        layer=layer,
        head=head,
        accuracy=float(head_hits.sum() / n_rows.sum()),
        low=bounds.low,
        high=bounds.high,
        offset=offset,
        offset_accuracy=float(offset_hits.sum() / n_rows.sum()),
        rows=int(n_rows.sum()),
    )


def _hits(arcs: Sequence[Arc], strongest: Strongest) -> Float[np.ndarray, "layers heads"]:
    """Return how many rows of every head have their strongest weight on the related word."""
    total = np.zeros(strongest.shape[:2])
    for query, key in arcs:
        rows: npt.NDArray[np.int16] = strongest[:, :, [q for q in query if q < strongest.shape[2]]]
        total += np.isin(rows, key).sum(-1)
    return total


def _best_offset(sentences: Sequence[Sequence[Arc]]) -> int:
    """Return the offset with most hits; ties go to the offset nearest to 0."""
    counts: Counter[int] = Counter()
    for arcs in sentences:
        for query, key in arcs:
            for row in query:
                counts.update({column - row for column in key})
    return min(counts, key=lambda offset: (-counts[offset], abs(offset), offset), default=0)


def _offset_hits(arcs: Sequence[Arc], offset: int) -> int:
    return sum(row + offset in key for query, key in arcs for row in query)
