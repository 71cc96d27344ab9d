"""How much of the source's relevance a cross-attention map accounts for.

After Papi et al. 2025, "Cross-Attention is Half Explanation in Speech-to-Text Models" (arXiv
2509.18010): Pearson's correlation between a map of cross-attention and a saliency map, of the
source and of the encoder's output. In their speech models the mean over heads and layers reaches
0.52 to 0.75 for the encoder's output, and about 0.5 for the source.

Relevance is measured by perturbation here: how far the log-probability of an output token changes
when a source token becomes `<unk>` ("source"), or when the decoder may not attend to that position
of the encoder's output ("memory"). Both maps are compared row by row with sum 1, without `</s>`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import MAX_LOGITS, Progress, encode_corpus, no_progress
from transformer.inference import Translator
from transformer.inference.trace import Trace

Perturbed = Literal["source", "memory"]
PERTURBED: tuple[Perturbed, ...] = ("source", "memory")
PUBLISHED_CORRELATIONS = 0.52, 0.75
"""Lowest and highest model of the paper: correlation with the relevance of the encoder's output."""
MIN_SOURCE_TOKENS, MAX_SOURCE_TOKENS = 4, 80
"""Source tokens of a sentence in a corpus, without `</s>`: shorter maps have too few cells, longer
ones take too long."""


@dataclass(frozen=True, eq=False)
class RelevanceCorrelation:
    """Pearson's correlations of cross-attention maps with relevance; NaN for a constant map.

    Attributes:
        heads: of each head, (layers, heads).
        layers: of each layer's mean over its heads, (layers).
        mean: of the mean over all heads and layers.
    """

    heads: Float[np.ndarray, "layers heads"]
    layers: Float[np.ndarray, " layers"]
    mean: float


def blanked_sources(translator: Translator, trace: Trace) -> Int[Tensor, "variant source"]:
    """Return the source with each token but `</s>` replaced by `<unk>` in turn; unchanged last."""
    count = len(trace.src_ids) - 1
    sources = torch.tensor([trace.src_ids] * (count + 1), device=translator.device)
    sources[range(count), range(count)] = translator.model.config.unk_id
    return sources


@torch.inference_mode()
def perturbation_effects(
    translator: Translator, trace: Trace, perturbed: Perturbed
) -> Float[np.ndarray, "target source"]:
    """Return the change of each output token's log-probability, nats, per perturbed position.

    The output before the token is given. `</s>` of the source is not perturbed and has no column.

    Args:
        perturbed: "source" replaces the token by `<unk>` and encodes again (blank-out, Abnar and
            Zuidema 2020); "memory" hides that position of the encoder's output from the decoder.
    """
    model, device = translator.model, translator.device
    tgt, chosen = (torch.tensor([i], device=device) for i in (trace.tgt_ids, trace.predicted_ids))
    sources = blanked_sources(translator, trace)
    visible = torch.ones_like(sources, dtype=torch.bool)
    if perturbed == "memory":
        count = len(sources) - 1
        visible[range(count), range(count)] = False
        sources = sources[-1:].expand(len(sources), -1)
    parts = []
    size = max(1, MAX_LOGITS // (tgt.numel() * model.config.vocab_size))
    for chunk, mask in zip(sources.split(size), visible.split(size), strict=True):
        memory = model.encode(chunk)
        states = model.decode(tgt.expand(len(chunk), -1), memory, mask[:, None, None, :])
        logits = model.project(states)
        token_logits = logits.gather(-1, chosen.expand(len(chunk), -1)[..., None])[..., 0]
        parts.append(token_logits - logits.logsumexp(dim=-1))
    log_probability = torch.cat(parts).double().cpu().numpy()
    return np.asarray((log_probability[:-1] - log_probability[-1]).T)


def relevance(
    translator: Translator, trace: Trace, perturbed: Perturbed
) -> Float[np.ndarray, "target source"]:
    """Return the size of `perturbation_effects`, nats."""
    return np.asarray(np.abs(perturbation_effects(translator, trace, perturbed)))


def relevance_correlation(
    translator: Translator, trace: Trace, perturbed: Perturbed = "memory"
) -> RelevanceCorrelation:
    """Correlate every cross-attention map of a trace with the relevance of source positions.

    Raises:
        ValueError: for a source of one token, which leaves nothing to compare.
    """
    if len(trace.src_ids) < 3:
        raise ValueError("the source has one token; a sentence of at least two is needed")
    reference = relevance(translator, trace, perturbed)
    maps = np.stack([trace.weights("cross", layer) for layer in range(trace.n_layers)])
    maps = maps[..., :-1].astype(np.float64)  # (layers, heads, target, source)
    return RelevanceCorrelation(
        heads=_correlations(maps, reference),
        layers=_correlations(maps.mean(axis=1), reference),
        mean=float(_correlations(maps.mean(axis=(0, 1)), reference)),
    )


def explained_over_corpus(
    translator: Translator, corpus: Corpus, progress: Progress = no_progress
) -> tuple[Float[np.ndarray, "perturbed sentence map"], pd.DataFrame]:
    """Measure every sentence that is neither too short nor too long.

    Returns:
        The correlations of each layer's mean and, last, of the mean over all, for "source" and
        "memory"; and a table of their means: perturbed, layer (NaN for the mean over all),
        correlation.
    """
    rows = []
    pairs = encode_corpus(translator, corpus)
    for number, (sentence, pair) in enumerate(zip(corpus.sentences, pairs, strict=True)):
        progress(number / len(pairs), "perturbing the source")
        if not MIN_SOURCE_TOKENS <= len(pair.src) - 1 <= MAX_SOURCE_TOKENS:
            continue
        trace = translator.trace(sentence.source, pair.out, names=["decoder.*.hook_weights"])
        results = [relevance_correlation(translator, trace, perturbed) for perturbed in PERTURBED]
        rows.append([[*result.layers, result.mean] for result in results])
    progress(1.0, "measured")
    n_layers = translator.model.config.n_layers
    correlations = np.array(rows).reshape(-1, len(PERTURBED), n_layers + 1).transpose(1, 0, 2)
    table = pd.DataFrame(
        [
            (name, layer if layer < n_layers else np.nan, value)
            for name, means in zip(PERTURBED, correlations.mean(axis=1), strict=True)
            for layer, value in enumerate(means)
        ],
        columns=["perturbed", "layer", "correlation"],
    )
    return correlations, table


def _correlations(
    maps: Float[np.ndarray, "*maps target source"], reference: Float[np.ndarray, "target source"]
) -> Float[np.ndarray, "*maps"]:
    """Pearson's r over all cells, with rows that sum to 1."""
    first = _rows_to_one(maps).reshape(*maps.shape[:-2], -1)
    second = _rows_to_one(reference).ravel()
    first = first - first.mean(axis=-1, keepdims=True)
    second = second - second.mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        lengths = np.linalg.norm(first, axis=-1) * np.linalg.norm(second)
        return np.asarray((first @ second) / lengths)


def _rows_to_one(values: Float[np.ndarray, "*rows source"]) -> Float[np.ndarray, "*rows source"]:
    total = values.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(values, total, out=np.zeros_like(values), where=total > 0))
