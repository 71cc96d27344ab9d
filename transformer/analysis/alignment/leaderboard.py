"""Every cross-attention head as a word aligner, scored against gold links.

An alignment is read off attention in four ways: by its weights, or by the norms of what they move
(Kobayashi et al. 2020, section 5, https://arxiv.org/abs/2004.10102); and for a target word from the
row that writes it ("output"), or from the next row, which reads it ("input"). The decoder looks for
a word before it writes it or after it has read it, layer by layer differently (Chen et al. 2020,
section 3, https://arxiv.org/abs/2004.14837): the "shift by one" that a picture of attention hides.
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

from transformer.analysis.alignment.baselines import baseline_counts, teaching
from transformer.analysis.alignment.error_rate import AlignmentCounts
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import Linked
from transformer.analysis.corpora.passes import NumberedBatch, Progress, encoded, silent, watch
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.trace import WEIGHTS
from transformer.measures.words import merge
from transformer.model.attention import MultiHeadAttention

By = Literal["weights", "norms"]
To = Literal["output", "input"]
WAYS: tuple[tuple[By, To], ...] = (
    ("weights", "output"),
    ("weights", "input"),
    ("norms", "output"),
    ("norms", "input"),
)


@dataclass(frozen=True)
class Leaderboard:
    """How well heads align.

    Attributes:
        table: a line an aligner and way, the lowest error first: "aligner" ("head"; "layer", all
            its heads together; "diagonal"; "chance", a source word drawn for each target word;
            "model 1" and "statistical", learned from the sentences, see `baselines.teaching`),
            "by", "to", "layer", "head", "aer", "precision", "recall".
        counts: what each counted sentence adds to these rates.
        n_sentences: with gold links, and counted.
        n_taught: pairs of sentences that the statistical aligners learned from.
        left_out: numbers of the sentences whose gold words are not those of the text.
    """

    table: pd.DataFrame
    counts: AlignmentCounts
    n_sentences: int
    left_out: tuple[int, ...]
    n_taught: int = 0


def word_scores(
    scores: Float[np.ndarray, "*heads target source"],
    source: Sequence[int],
    target: Sequence[int],
    to: To = "output",
) -> Float[np.ndarray, "*heads target_words source_words"]:
    """Scores of pieces, added up within a source word and averaged within a target word.

    Args:
        scores: of cross attention, a row for every piece that is written, `</s>` last, and a
            column for every source piece, `</s>` last; `trace.weights("cross", layer)` or
            `norms.contributions(...)`.
        source, target: the word of every piece, without `</s>`, never falling: `gold.words_of`, or
            `measures.words.words` without its last. A word without a piece has no row or column.
        to: "output": word i from the rows that write it. "input": from those that read it.
    """
    first = 1 if to == "input" else 0
    rows = scores[..., first : first + len(target), : len(source)]
    places = (np.unique(words, return_inverse=True)[1].tolist() for words in (target, source))
    return merge(rows, *places)


def aligned_words(
    scores: Float[np.ndarray, "*heads target source"],
    source: Sequence[int],
    target: Sequence[int],
    to: To = "output",
) -> tuple[Int[np.ndarray, "words"], Int[np.ndarray, "*heads words"]]:
    """The target words, and for each the source word with the greatest of `word_scores`, which
    takes the same."""
    merged = word_scores(scores, source, target, to)
    return np.unique(target), np.unique(source)[merged.argmax(axis=-1)]


def leaderboard(
    translator: Translator,
    corpus: Corpus,
    progress: Progress = silent,
    *,
    ways: Sequence[tuple[By, To]] = WAYS,
    ends: bool = False,
) -> Leaderboard:
    """All heads, and all heads of a layer together, over the sentences with gold links.

    Heads together are the mean of their weights, or the norm of the sum of their vectors.

    Args:
        ends: a target word that looks at `</s>` most has no link, as in the program of Kobayashi
            et al.; else `</s>` does not count and every target word has one.

    Raises:
        ValueError: if no sentence has gold links that fit its text, or one is too long.
    """
    given = [n for n, sentence in enumerate(corpus.sentences) if sentence.gold is not None]
    if not given:
        raise ValueError(
            f"{corpus.name} has no gold links; give pairs with a third column of links, as 0-0 1-2"
        )
    chosen = Corpus(corpus.name, tuple(corpus.sentences[n] for n in given))
    pairs, names = encoded(translator, chosen), translator.vocabulary.tokens
    words = [
        Linked.of(names(pair.src[:-1]), names(pair.out[:-1]), sentence.gold)
        if sentence.gold
        else None
        for pair, sentence in zip(pairs, chosen.sentences, strict=True)
    ]
    counted = [n for n, each in enumerate(words) if each is not None]
    if not counted:
        raise ValueError(
            f"{corpus.name}: in none of {len(given)} sentences are the words of the gold links "
            "those of the text, as the model spells it"
        )
    config = translator.model.config
    size = (3, config.n_layers, config.n_heads + 1, len(counted))
    hits: dict[tuple[str, str], npt.NDArray[Any]] = {way: np.zeros(size) for way in ways}

    def hooks(batch: NumberedBatch) -> Hooks:
        functions: dict[str, Callable[[Tensor, str], None]] = {}
        for layer in range(config.n_layers):
            look = _Look(translator, layer, ways, lambda *found, batch=batch: add(batch, *found))
            site = WEIGHTS["cross"].format(layer)
            functions |= {site: look.weights, site.replace("_weights", "_value"): look.values}
        return Hooks(functions)

    def add(batch: NumberedBatch, layer: int, by: By, scores: npt.NDArray[Any]) -> None:
        for row, number in enumerate(batch.numbers):
            sentence = words[counted[number]]
            assert sentence is not None
            own = scores[row, :, : len(sentence.target) + 1, : len(sentence.source) + 1]
            # `</s>` is one word more, which nothing is linked to.
            end = [sentence.sure.shape[1]] if ends else []
            for to in [to for way, to in ways if way == by]:
                targets, best = aligned_words(own, [*sentence.source, *end], sentence.target, to)
                links = best < sentence.sure.shape[1]
                hits[by, to][2, layer, :, number] = links.sum(axis=-1)
                for which, table in enumerate((sentence.sure, sentence.possible)):
                    right = table[targets, np.where(links, best, 0)] & links
                    hits[by, to][which, layer, :, number] = right.sum(axis=-1)

    watch(translator, [pairs[n] for n in counted], hooks, progress)
    sentences = [each for each in words if each is not None]
    taught = teaching(corpus)
    made = AlignmentCounts(
        hits,
        baseline_counts(sentences, taught),
        np.array([float(each.sure.sum()) for each in sentences]),
    )
    lines: list[dict[str, Any]] = [
        {"aligner": name, "by": "", "to": ""} | made.rates(counts)
        for name, counts in made.rivals.items()
    ]
    for (by, to), counts in hits.items():
        for layer in range(config.n_layers):
            for head in range(config.n_heads + 1):
                single = head < config.n_heads
                lines.append(
                    {"aligner": "head" if single else "layer", "by": by, "to": to, "layer": layer}
                    | ({"head": head} if single else {})
                    | made.rates(counts[:, layer, head])
                )
    columns = ["aligner", "by", "to", "layer", "head", "aer", "precision", "recall"]
    table = pd.DataFrame(lines, columns=columns).astype({"layer": "Int64", "head": "Int64"})
    left_out = tuple(n for n, each in zip(given, words, strict=True) if each is None)
    table = table.sort_values("aer", kind="stable", ignore_index=True)
    return Leaderboard(table, made, len(sentences), left_out, len(taught))


class _Look:
    """The hooks of one layer: scores of each head and of all together, given to `add`."""

    def __init__(
        self,
        translator: Translator,
        layer: int,
        ways: Sequence[tuple[By, To]],
        add: Callable[[int, By, npt.NDArray[Any]], None],
    ) -> None:
        self.layer, self.add = layer, add
        self.by = dict.fromkeys(by for by, _ in ways)
        module = translator.model.get_submodule(f"decoder.layers.{layer}.cross_attn")
        assert isinstance(module, MultiHeadAttention)
        self.w_o = module.w_o.T.unflatten(0, (module.n_heads, -1))  # (heads, d_k, d_model)
        self.sent: Tensor | None = None

    def values(self, values: Float[Tensor, "rows heads source d_k"], name: str) -> None:
        self.sent = values @ self.w_o

    def weights(self, weights: Float[Tensor, "rows heads target source"], name: str) -> None:
        if "weights" in self.by:
            both = torch.cat([weights, weights.mean(1, keepdim=True)], dim=1)
            self.add(self.layer, "weights", both.float().cpu().numpy())
        if "norms" in self.by:
            assert self.sent is not None
            self.add(self.layer, "norms", _norms(weights, self.sent).float().cpu().numpy())


def _norms(
    weights: Float[Tensor, "rows heads target source"],
    sent: Float[Tensor, "rows heads source d_model"],
) -> Float[Tensor, "rows heads_and_all target source"]:
    """‖α f(x)‖ of every head, then ‖Σ_h α f(x)‖; many sentences at once, else
    `norms.contributions` and `norms.summed_contributions`.

    The sum is measured by the heads' products f_g·f_h, so that no vector is made for each weight.
    """
    products = torch.einsum("bgkd,bhkd->bghk", sent, sent)
    single = weights * products.diagonal(dim1=1, dim2=2).movedim(-1, 1)[:, :, None].sqrt()
    together = torch.einsum("bgqk,bghk,bhqk->bqk", weights, products, weights)
    return torch.cat([single, together.clamp(min=0).sqrt()[:, None]], dim=1)
