"""Correlation of cross-attention maps with the relevance of source tokens.

After Papi et al. 2025, "Cross-Attention is Half Explanation in Speech-to-Text Models" (arXiv
2509.18010): Pearson's correlation of a cross-attention map with a saliency map of the source or of
the encoder's output. In their speech models, attention averaged over heads and layers reaches 0.52
to 0.75 for the encoder's output, and about 0.5 for the source.

Relevance is measured by perturbation here: the change of an output token's log-probability when a
source token becomes `<unk>` ("source"), or when the decoder may not attend to that position of the
encoder's output ("memory"). Maps are compared without `</s>`, with every row divided by its sum.
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
"""Lowest and highest correlation of the paper's models with the relevance of the encoder's
output."""
MIN_SOURCE_TOKENS, MAX_SOURCE_TOKENS = 4, 80
"""Range of source tokens, without `</s>`, of a measured sentence of a corpus: shorter maps have too
few values to correlate, longer ones take too long."""


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
    """Return copies of the source, each with another token replaced by `<unk>` (never `</s>`); the
    last copy is unchanged."""
    count = len(trace.src_ids) - 1
    sources = torch.tensor([trace.src_ids] * (count + 1), device=translator.device)
    sources[range(count), range(count)] = translator.model.config.unk_id
    return sources


@torch.inference_mode()
def perturbation_effects(
    translator: Translator, trace: Trace, perturbed: Perturbed
) -> Float[np.ndarray, "target source"]:
    """Return the change of each output token's log-probability, nats, per perturbed position.

    The decoder is teacher-forced. `</s>` of the source is not perturbed and has no column.

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
    """Return the absolute values of `perturbation_effects`, nats."""
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


def relevance_correlations(
    translator: Translator, corpus: Corpus, progress: Progress = no_progress
) -> tuple[Float[np.ndarray, "perturbed sentence map"], pd.DataFrame]:
    """Correlate attention with relevance for every sentence of a suitable length.

    Returns:
        Correlations for "source" and "memory", each sentence, and each map: the mean over the heads
        of each layer, and last the mean over all layers. A table of their means over sentences:
        perturbed, layer (NaN for the mean over all layers), correlation.
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
    """Return Pearson's r over all cells, with rows that sum to 1."""
    map_values = _normalise_rows(maps).reshape(*maps.shape[:-2], -1)
    reference_values = _normalise_rows(reference).ravel()
    map_values = map_values - map_values.mean(axis=-1, keepdims=True)
    reference_values = reference_values - reference_values.mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        lengths = np.linalg.norm(map_values, axis=-1) * np.linalg.norm(reference_values)
        return np.asarray((map_values @ reference_values) / lengths)


def _normalise_rows(values: Float[np.ndarray, "*rows source"]) -> Float[np.ndarray, "*rows source"]:
    """Divide each row by its sum; a row of zeros stays zero."""
    total = values.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(values, total, out=np.zeros_like(values), where=total > 0))
