"""Rollout held against blank-out (Abnar and Zuidema 2020, arXiv:2005.00928)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float
from scipy.stats import rankdata

from transformer.analysis import rollout
from transformer.analysis.bootstrap import draws, interval
from transformer.analysis.cells import LOGITS
from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import (
    Finding,
    Published,
    Untestable,
    apart,
    enough,
    verdict,
)
from transformer.analysis.passes import Progress, encoded
from transformer.figures.measured import Chart
from transformer.inference import Translator
from transformer.inference.trace import WEIGHTS, Trace

SHORTEST = 4
"""Source pieces, `</s>` aside, that a rank correlation is worth something over."""


@torch.inference_mode()
def blank_out(translator: Translator, trace: Trace) -> Float[np.ndarray, "target source"]:
    """How the log-probability of each output token changes, nats, with a source token as `<unk>`.

    Given the output before it. The source's last token, `</s>`, is not blanked out: no column.
    """
    model, device = translator.model, translator.device
    n = len(trace.src_ids) - 1
    tgt, wanted = (torch.tensor([i], device=device) for i in (trace.tgt_ids, trace.predicted_ids))
    sources = torch.tensor([trace.src_ids] * (n + 1), device=device)
    sources[range(n), range(n)] = model.config.unk_id  # the last one is left whole
    parts = []
    for some in sources.split(max(1, LOGITS // (tgt.numel() * model.config.vocab_size))):
        states = model.decode(tgt.expand(len(some), -1), model.encode(some))
        logits = model.project(states)
        chosen = logits.gather(-1, wanted.expand(len(some), -1)[..., None])[..., 0]
        parts.append(chosen - logits.logsumexp(dim=-1))
    found = torch.cat(parts).double().cpu().numpy()
    return np.asarray((found[:-1] - found[-1]).T)


def rank_correlations(
    a: Float[np.ndarray, "*many row column"], b: Float[np.ndarray, "row column"]
) -> Float[np.ndarray, "*many row"]:
    """Spearman's of each row; NaN where a row is constant."""
    centred = []
    for values in (a, b):
        ranks = rankdata(values, axis=-1)
        centred.append(ranks - ranks.mean(axis=-1, keepdims=True))
    x, y = centred
    with np.errstate(invalid="ignore"):
        found: npt.NDArray[np.float64] = (x * y).sum(-1) / np.sqrt(
            (x * x).sum(-1) * (y * y).sum(-1)
        )
    return found


def agreement(
    translator: Translator, corpus: Corpus, progress: Progress
) -> Float[np.ndarray, "sentence method layer"]:
    """Of raw weights and of rollout with blank-out, for every sentence that is long enough.

    For each output token the source tokens are put in order three ways: by |`blank_out`|; by the
    layer's encoder–decoder weights, heads averaged; by joint rollout up to that layer. The rank
    correlations are averaged over the sentence's tokens.
    """
    pairs = encoded(translator, corpus)
    names = [site.format(n) for site in WEIGHTS.values()
             for n in range(translator.model.config.n_layers)]  # fmt: skip
    found = []
    for number, (sentence, pair) in enumerate(zip(corpus.sentences, pairs, strict=True)):
        progress(number / len(pairs), "blanking out")
        if len(pair.src) <= SHORTEST:
            continue
        trace = translator.trace(sentence.source, pair.out, names=names)
        effect = np.abs(blank_out(translator, trace))
        both = np.stack([rollout.matrices(trace, "cross"), rollout.joint(trace).source])
        ranks = rank_correlations(both[..., :-1], effect)
        if (kept := ~np.isnan(ranks).any(axis=(0, 1))).any():
            found.append(ranks[..., kept].mean(axis=-1))
    progress(1.0, "blanked out")
    return np.stack(found) if found else np.zeros((0, 2, translator.model.config.n_layers))


def _measured(
    translator: Translator, corpus: Corpus, progress: Progress
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], pd.DataFrame]:
    enough(len(corpus))
    found = agreement(translator, corpus, progress)
    enough(len(found), f"sentences of at least {SHORTEST} pieces to blank out")
    drawn = draws(len(found)) / len(found)
    rows = []
    for method, name in enumerate(("raw weights", "rollout")):
        for layer in range(found.shape[2]):
            one = interval(found[:, method, layer].mean(), drawn @ found[:, method, layer])
            rows.append((name, layer, one.value, one.low, one.high))
    table = pd.DataFrame(rows, columns=["method", "layer", "correlation", "low", "high"])
    return found, drawn, table


def _more(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    found, drawn, table = _measured(translator, corpus, progress)
    gaps = found[:, 1, -1] - found[:, 0, -1]
    gap = interval(gaps.mean(), drawn @ gaps)
    raw, rolled = found[:, :, -1].mean(axis=0)
    reason = (
        f"In the last layer rollout's rank correlation with blank-out is {rolled:.2f}, that of the "
        f"raw weights {raw:.2f}: a difference of {apart(gap)}."
    )
    return Finding(table, verdict(gap.low > 0), reason, len(found))


def _deeper(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    n_layers = translator.model.config.n_layers
    if n_layers < 2:
        raise Untestable("This model has one layer, so that nothing can grow with depth.")
    found, drawn, table = _measured(translator, corpus, progress)
    along = np.arange(n_layers) - (n_layers - 1) / 2
    slopes = found[:, 1] @ along / (along @ along)
    slope = interval(slopes.mean(), drawn @ slopes)
    first, last = found[:, 1, 0].mean(), found[:, 1, -1].mean()
    reason = (
        f"Rollout's rank correlation with blank-out goes from {first:.2f} in layer 0 to "
        f"{last:.2f} in layer {n_layers - 1}, a slope of {apart(slope, 3, unit=' a layer')}."
    )
    return Finding(table, verdict(slope.low > 0), reason, len(found))


_HOW = (
    "Each source token in turn becomes <unk>, and the change of every output token's "
    "log-probability is its blank-out score. For each output token the source tokens are ranked "
    "by its size, by a layer's encoder–decoder weights (heads averaged), and by rollout from that "
    "layer down through decoder and encoder; Spearman's correlations are averaged over the tokens "
    "of a sentence. "
)
_CHART = Chart(
    "layer", "correlation", "layer of the decoder", "Spearman's with blank-out", by="method"
)
ROLLOUT = Published(
    "rollout",
    "Rollout agrees with blank-out more than raw attention weights do.",
    "Abnar & Zuidema 2020, “Analysis and Discussion”",
    _HOW + "It holds if in the last layer rollout's mean correlation is greater, the 95% interval "
    "of the difference (paired bootstrap over sentences) above 0. The paper's models classify; "
    "here it is repeated on translation.",
    _more,
    most=60,
    chart=_CHART,
    minutes=0.3,
)
DEPTH = Published(
    "rollout-depth",
    "Rollout agrees with blank-out more and more with depth.",
    "Abnar & Zuidema 2020, “Analysis and Discussion”",
    _HOW + "It holds if rollout's correlation grows with the layer: the slope of a straight line "
    "through a sentence's layers, in the mean over sentences, has a 95% interval (bootstrap over "
    "sentences) above 0.",
    _deeper,
    most=60,
    chart=_CHART,
    minutes=0.3,
)
