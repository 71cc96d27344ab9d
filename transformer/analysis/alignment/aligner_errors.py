"""Every cross-attention head as a word aligner, scored against gold links.

An alignment is computed from attention in four ways: by the weights, or by the norms of the
weighted value vectors (Kobayashi et al. 2020, section 5, https://arxiv.org/abs/2004.10102); and for
a target word from the row that predicts it ("output"), or from the next row, which has it as its
input ("input"). Some layers align a word before it is written, others after (Chen et al. 2020,
section 3, https://arxiv.org/abs/2004.14837).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer.analysis.alignment.error_rate import AlignmentCounts, Counts
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import WordLinkTables
from transformer.analysis.corpora.passes import (
    NumberedBatch,
    Progress,
    encode_corpus,
    no_progress,
    run_with_hooks,
)
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.trace import WEIGHTS
from transformer.measures.words import merge
from transformer.model.attention import MultiHeadAttention

ScoreKind = Literal["weights", "norms"]
TargetRow = Literal["output", "input"]
TARGET_ROWS: tuple[TargetRow, ...] = ("output", "input")
ALIGNMENT_METHODS: tuple[tuple[ScoreKind, TargetRow], ...] = (
    ("weights", "output"),
    ("weights", "input"),
    ("norms", "output"),
    ("norms", "input"),
)


@dataclass(frozen=True)
class AlignerErrors:
    """How well heads align words.

    Attributes:
        table: a row for each aligner and method, the lowest error first: "aligner" ("head";
            "layer", the sum over its heads; "diagonal", which links each target word to the
            source word at the same relative position), "by", "to", "layer", "head", "aer".
        counts: the counts of each sentence that these rates are computed from.
        n_sentences: number of sentences that have gold links and were counted.
        left_out: numbers of the sentences whose gold words do not match the text.
    """

    table: pd.DataFrame
    counts: AlignmentCounts
    n_sentences: int
    left_out: tuple[int, ...]


def word_scores(
    scores: Float[np.ndarray, "*heads target source"],
    source: Sequence[int],
    target: Sequence[int],
    target_row: TargetRow = "output",
) -> Float[np.ndarray, "*heads target_words source_words"]:
    """Sum the scores of pieces within each source word and average them within each target word.

    Args:
        scores: of cross-attention, a row for every predicted piece and a column for every source
            piece, both with `</s>` last; `trace.weights("cross", layer)` or
            `norms.contributions(...)`.
        source, target: the word number of every piece, without `</s>`, never decreasing:
            `gold.words_of`, or `measures.words.words` without its last. A word without a piece has
            no row or column.
        target_row: "output": word i has the rows that predict it; "input": those that have it as
            input.
    """
    first_row = 1 if target_row == "input" else 0
    rows = scores[..., first_row : first_row + len(target), : len(source)]
    word_indices = (np.unique(words, return_inverse=True)[1].tolist() for words in (target, source))
    return merge(rows, *word_indices)


def aligned_words(
    scores: Float[np.ndarray, "*heads target source"],
    source: Sequence[int],
    target: Sequence[int],
    target_row: TargetRow = "output",
) -> tuple[Int[np.ndarray, "words"], Int[np.ndarray, "*heads words"]]:
    """Return the target words, and for each the source word with the largest of `word_scores`.

    The arguments are those of `word_scores`.
    """
    merged = word_scores(scores, source, target, target_row)
    return np.unique(target), np.unique(source)[merged.argmax(axis=-1)]


def measure_aligners(
    translator: Translator,
    corpus: Corpus,
    progress: Progress = no_progress,
    *,
    allow_unaligned: bool = False,
) -> AlignerErrors:
    """Measure all heads, and all layers, over the sentences with gold links. A layer is measured by
    the mean of its heads' weights, or the norm of the sum of their vectors.

    Args:
        allow_unaligned: whether a target word with its largest score on `</s>` has no link, as in
            the program of Kobayashi et al.; otherwise `</s>` does not count and every target word
            has one.

    Raises:
        ValueError: if no sentence has gold links that fit its text, or one is too long.
    """
    with_gold = [n for n, sentence in enumerate(corpus.sentences) if sentence.gold is not None]
    if not with_gold:
        raise ValueError(
            f"{corpus.name} has no gold links; use pairs with a third column of links, such as "
            f"0-0 1-2"
        )
    gold_corpus = Corpus(corpus.name, tuple(corpus.sentences[n] for n in with_gold))
    pairs, names = encode_corpus(translator, gold_corpus), translator.vocabulary.tokens
    words = [
        WordLinkTables.from_pieces(names(pair.src[:-1]), names(pair.out[:-1]), sentence.gold)
        if sentence.gold
        else None
        for pair, sentence in zip(pairs, gold_corpus.sentences, strict=True)
    ]
    counted = [n for n, linked in enumerate(words) if linked is not None]
    if not counted:
        raise ValueError(
            f"{corpus.name}: in none of {len(with_gold)} sentences do the words of the gold links "
            "match the text as the model tokenizes it"
        )
    config = translator.model.config
    size = (3, config.n_layers, config.n_heads + 1, len(counted))
    hits: dict[tuple[str, str], npt.NDArray[Any]] = {
        method: np.zeros(size) for method in ALIGNMENT_METHODS
    }

    def hooks(batch: NumberedBatch) -> Hooks:
        functions: dict[str, Callable[[Tensor, str], None]] = {}
        for layer in range(config.n_layers):
            recorder = _LayerRecorder(
                translator, layer, lambda *scored, batch=batch: add_hits(batch, *scored)
            )
            site = WEIGHTS["cross"].format(layer)
            functions |= {
                site: recorder.weights,
                site.replace("_weights", "_value"): recorder.values,
            }
        return Hooks(functions)

    def add_hits(
        batch: NumberedBatch, layer: int, score_kind: ScoreKind, scores: npt.NDArray[Any]
    ) -> None:
        for row, number in enumerate(batch.numbers):
            sentence = words[counted[number]]
            assert sentence is not None
            sentence_scores = scores[row, :, : len(sentence.target) + 1, : len(sentence.source) + 1]
            # `</s>` counts as one more source word that has no gold links.
            end = [sentence.sure.shape[1]] if allow_unaligned else []
            for target_row in TARGET_ROWS:
                targets, best = aligned_words(
                    sentence_scores, [*sentence.source, *end], sentence.target, target_row
                )
                links = best < sentence.sure.shape[1]
                hits[score_kind, target_row][2, layer, :, number] = links.sum(axis=-1)
                for count_row, table in enumerate((sentence.sure, sentence.possible)):
                    is_correct = table[targets, np.where(links, best, 0)] & links
                    hits[score_kind, target_row][count_row, layer, :, number] = is_correct.sum(
                        axis=-1
                    )

    run_with_hooks(translator, [pairs[n] for n in counted], hooks, progress)
    sentences = [linked for linked in words if linked is not None]
    alignment_counts = AlignmentCounts(
        hits,
        _diagonal_counts(sentences),
        np.array([float(linked.sure.sum()) for linked in sentences]),
    )
    diagonal_rate = alignment_counts.error_rate(alignment_counts.diagonal)
    records: list[tuple[Any, ...]] = [("diagonal", "", "", None, None, diagonal_rate)]
    for (score_kind, target_row), counts in hits.items():
        for layer in range(config.n_layers):
            for head in range(config.n_heads + 1):
                aligner = ("head", head) if head < config.n_heads else ("layer", None)
                rate = alignment_counts.error_rate(counts[:, layer, head])
                records.append((aligner[0], score_kind, target_row, layer, aligner[1], rate))
    columns = ["aligner", "by", "to", "layer", "head", "aer"]
    table = pd.DataFrame(records, columns=columns).astype({"layer": "Int64", "head": "Int64"})
    left_out = tuple(n for n, linked in zip(with_gold, words, strict=True) if linked is None)
    table = table.sort_values("aer", kind="stable", ignore_index=True)
    return AlignerErrors(table, alignment_counts, len(sentences), left_out)


def _diagonal_counts(sentences: Sequence[WordLinkTables]) -> Counts:
    """Return the links of the diagonal in each sentence: one for each target word."""
    counts = np.zeros((3, len(sentences)))
    for number, sentence in enumerate(sentences):
        n_tgt, n_src = sentence.sure.shape
        targets = np.array(sorted(set(sentence.target)))
        sources = ((targets + 0.5) * n_src / n_tgt).astype(int)
        counts[:, number] = (
            sentence.sure[targets, sources].sum(),
            sentence.possible[targets, sources].sum(),
            len(targets),
        )
    return counts


class _LayerRecorder:
    """The hooks of one layer, which pass the scores of each head, and of the layer, to `add`."""

    def __init__(
        self,
        translator: Translator,
        layer: int,
        add: Callable[[int, ScoreKind, npt.NDArray[Any]], None],
    ) -> None:
        self.layer, self.add = layer, add
        module = translator.model.get_submodule(f"decoder.layers.{layer}.cross_attn")
        assert isinstance(module, MultiHeadAttention)
        self.w_o = module.w_o.T.unflatten(0, (module.n_heads, -1))  # (heads, d_k, d_model)
        self.value_vectors: Tensor | None = None

    def values(self, values: Float[Tensor, "rows heads source d_k"], name: str) -> None:
        self.value_vectors = values @ self.w_o

    def weights(self, weights: Float[Tensor, "rows heads target source"], name: str) -> None:
        with_mean = torch.cat([weights, weights.mean(1, keepdim=True)], dim=1)
        self.add(self.layer, "weights", with_mean.float().cpu().numpy())
        assert self.value_vectors is not None
        self.add(self.layer, "norms", _norms(weights, self.value_vectors).float().cpu().numpy())


def _norms(
    weights: Float[Tensor, "rows heads target source"],
    value_vectors: Float[Tensor, "rows heads source d_model"],
) -> Float[Tensor, "rows heads_and_all target source"]:
    """Return ‖α f(x)‖ of every head, then ‖Σ_h α f(x)‖, for a batch of sentences.

    For one sentence and head, see `norms.contributions`. The norm of the sum is computed from the
    products f_g·f_h of the heads, without a vector for each weight.
    """
    products = torch.einsum("bgkd,bhkd->bghk", value_vectors, value_vectors)
    head_norms = weights * products.diagonal(dim1=1, dim2=2).movedim(-1, 1)[:, :, None].sqrt()
    squared_norms = torch.einsum("bgqk,bghk,bhqk->bqk", weights, products, weights)
    return torch.cat([head_norms, squared_norms.clamp(min=0).sqrt()[:, None]], dim=1)
