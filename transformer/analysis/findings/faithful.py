"""Findings that compare attribution methods with blank-out (Abnar and Zuidema 2020,
arXiv:2005.00928)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float

from transformer.analysis.attribution import alti, rollout, value_zeroing
from transformer.analysis.attribution.contribution import rank_correlations
from transformer.analysis.attribution.relevance import blanked_sources, perturbation_effects
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, encode_corpus
from transformer.analysis.evidence.bootstrap import BootstrapSamples, max_difference_interval
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import (
    Finding,
    PublishedFinding,
    UntestableError,
    format_effect,
    require_sentences,
)
from transformer.inference import Translator
from transformer.inference.trace import Trace
from transformer.measures.chart import Chart

Scope = Literal["translation", "encoder"]
METHODS = ("raw weights", "rollout", "ALTI", "value zeroing")
"""The methods in the order of `agreement`; for scope "translation", ALTI stands for ALTI+."""
MIN_PIECES, MAX_PIECES = 5, 80
"""Range of source pieces, without `</s>`, of a measured sentence: with fewer pieces ranks mean
little, and the time grows with the square of the number."""


def blank_out(translator: Translator, trace: Trace) -> Float[np.ndarray, "target source"]:
    """Return the change of each output token's log-probability, nats, when a source token is
    replaced by `<unk>`.

    The decoder is teacher-forced. `</s>` of the source is not replaced and has no column.
    """
    return perturbation_effects(translator, trace, "source")


@torch.inference_mode()
def blank_out_memory(translator: Translator, trace: Trace) -> Float[np.ndarray, "source source"]:
    """Return the change, 1 − cos, of each position of the encoder's output when a source token is
    replaced by `<unk>`.

    Uses the encoder only, as the published method does; `</s>` has neither row nor column.
    """
    states = translator.model.encode(blanked_sources(translator, trace))[:, :-1].double()
    unit = torch.nn.functional.normalize(states, dim=-1)
    return np.asarray(((unit[:-1] - unit[-1]).square().sum(dim=-1) / 2).T.cpu().numpy())


def agreement(
    translator: Translator, corpus: Corpus, progress: Progress, scope: Scope = "translation"
) -> Float[np.ndarray, "sentence method layer"]:
    """Return the rank correlation of each of `METHODS` with blank-out, for every suitable sentence.

    For each output token the source tokens are ranked by |`blank_out`| and by each method up to a
    layer, and the rank correlations are averaged over the sentence's tokens. With scope "encoder",
    each position of the encoder's output ranks the other positions by `blank_out_memory`; its own
    position is left out, because every method ranks it first.
    """
    pairs = encode_corpus(translator, corpus)
    correlations = []
    for number, (sentence, pair) in enumerate(zip(corpus.sentences, pairs, strict=True)):
        progress(number / len(pairs), "blanking out")
        if not MIN_PIECES <= len(pair.src) - 1 <= MAX_PIECES:
            continue
        trace = translator.trace(sentence.source, pair.out)
        scores = _method_scores(translator, trace, scope)[..., :-1]
        if scope == "encoder":
            effect, scores = (
                _off_diagonal(blank_out_memory(translator, trace)),
                _off_diagonal(scores[..., :-1, :]),
            )
        else:
            effect = np.abs(blank_out(translator, trace))
        ranks = rank_correlations(scores, effect)
        if (defined := ~np.isnan(ranks).any(axis=(0, 1))).any():
            correlations.append(ranks[..., defined].mean(axis=-1))
    progress(1.0, "blanked out")
    shape = 0, len(METHODS), translator.model.config.n_layers
    return np.stack(correlations) if correlations else np.zeros(shape)


def _method_scores(
    translator: Translator, trace: Trace, scope: Scope
) -> Float[np.ndarray, "method layer query source"]:
    """Return the scores of each of `METHODS`, up to each layer."""
    model, kind = translator.model, "encoder" if scope == "encoder" else "cross"
    if scope == "encoder":
        rolled = rollout.encoder(trace), alti.encoder(model, trace)
    else:
        rolled = rollout.joint(trace).source, alti.joint(model, trace).source
    zeroed = [value_zeroing.scores(model, trace, kind, n) for n in range(trace.n_layers)]
    return np.stack([rollout.matrices(trace, kind), *rolled, np.stack(zeroed)])


def _off_diagonal(square: Float[np.ndarray, "*many n n"]) -> Float[np.ndarray, "*many n n-1"]:
    """Return the matrices without their diagonals."""
    n = square.shape[-1]
    return np.asarray(square[..., ~np.eye(n, dtype=bool)].reshape(*square.shape[:-1], n - 1))


Test = Callable[[Translator, Corpus, Progress], Finding]
FLOOR = 0.05
"""Smallest difference of rank correlations that matters. Those of Abnar and Zuidema 2020, table 1,
are far larger: 0.42 for rollout in the last layer."""
_RHO = "of Spearman's ρ"


def _measured_correlations(
    translator: Translator, corpus: Corpus, progress: Progress, scope: Scope
) -> tuple[npt.NDArray[np.float64], pd.DataFrame]:
    require_sentences(len(corpus))
    correlations = agreement(translator, corpus, progress, scope)
    require_sentences(len(correlations), f"sentences of at least {MIN_PIECES} tokens to blank out")
    samples = BootstrapSamples.from_sentence_values(correlations.reshape(len(correlations), -1).T)
    rows = [
        (_display_name(METHODS[method], scope), layer, interval.value, interval.low, interval.high)
        for (method, layer), interval in zip(
            np.ndindex(correlations.shape[1:]), samples.simultaneous_intervals(), strict=True
        )
    ]
    return correlations, pd.DataFrame(
        rows, columns=["method", "layer", "correlation", "low", "high"]
    )


def _display_name(method: str, scope: Scope) -> str:
    return "ALTI+" if method == "ALTI" and scope == "translation" else method


def _beats_raw_weights(method: str, scope: Scope) -> Test:
    """Return the test of one method against raw weights, in the last layer."""

    def test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
        correlations, table = _measured_correlations(translator, corpus, progress, scope)
        last_layer, index, name = (
            correlations[:, :, -1].T,
            METHODS.index(method),
            _display_name(method, scope),
        )
        sides = [
            BootstrapSamples.from_sentence_values(last_layer[[n]])
            for n in (index, METHODS.index("raw weights"))
        ]
        effect = Effect(
            f"correlation of {name} with blank-out minus that of raw weights",
            _RHO,
            max_difference_interval(*sides),
            FLOOR,
        )
        reason = (
            f"In the last layer the rank correlation of {name} with blank-out is "
            f"{sides[0].values[0]:.2f}, that of the raw weights {sides[1].values[0]:.2f}: a "
            f"difference of {format_effect(effect)}."
        )
        return Finding(table, effect, reason.replace("-0", "−0"), len(correlations))

    return test


def _grows_with_depth(scope: Scope) -> Test:
    """Return the test of rollout from the first layer to the last."""

    def test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
        n_layers = translator.model.config.n_layers
        if n_layers < 2:
            raise UntestableError("This model has one layer; this finding compares layers.")
        correlations, table = _measured_correlations(translator, corpus, progress, scope)
        rolled = correlations[:, METHODS.index("rollout")]
        centred_layers = np.arange(n_layers) - (n_layers - 1) / 2
        rises = (n_layers - 1) * (rolled @ centred_layers) / (centred_layers @ centred_layers)
        effect = Effect(
            "rise of rollout's correlation with blank-out from the first layer to the last, of a "
            "linear fit",
            _RHO,
            max_difference_interval(BootstrapSamples.from_sentence_values(rises[None])),
            FLOOR,
        )
        first, last = rolled[:, 0].mean(), rolled[:, -1].mean()
        reason = (
            f"Rollout's rank correlation with blank-out goes from {first:.2f} in layer 0 to "
            f"{last:.2f} in layer {n_layers - 1}; a linear fit rises by {format_effect(effect)}."
        )
        return Finding(table, effect, reason.replace("-0", "−0"), len(correlations))

    return test


_HOW: dict[Scope, str] = {
    "translation": "One source token at a time is replaced by <unk>; its blank-out score is the "
    "size of the change of an output token's log-probability. For each output token the source "
    "tokens are ranked by this score and by each method: a layer's cross-attention weights "
    "averaged over heads, value zeroing in that layer, and rollout and ALTI+ from that layer down "
    "to the source tokens. ",
    "encoder": "Only the encoder is used, as by the method's authors. One source token at a time "
    "is replaced by <unk>; its blank-out score is the change (1 − cos) of the encoder's output at "
    "another position. For each position the other tokens are ranked by this score and by each "
    "method: a layer's weights averaged over heads, value zeroing in that layer, and rollout and "
    "ALTI from that layer down to the source tokens. ",
}
_RULE = (
    "Spearman's correlations are averaged over a sentence; the 95% interval is a paired bootstrap "
    "over sentences. The claim holds if the whole interval is above 0.05, the smallest effect that "
    "matters, and is refuted if it is below."
)
_IN_LAST = "The effect is the correlation of {} minus that of raw weights, in the last layer. "
_ABNAR = "Abnar & Zuidema 2020, section 4"


def _published(
    name: str, claim: str, source: str, effect: str, test: Test, scope: Scope
) -> PublishedFinding:
    x_title = "layer of the decoder" if scope == "translation" else "layer of the encoder"
    chart = Chart("layer", "correlation", x_title, "Spearman's ρ with blank-out", by="method")
    rule = f"{_HOW[scope]}{effect}{_RULE}"
    return PublishedFinding(
        name, claim, source, rule, test, max_sentences=60, chart=chart, minutes=0.7
    )


ROLLOUT = _published(
    "rollout",
    "Rollout agrees with blank-out more than raw attention weights do, over a whole translation.",
    f"{_ABNAR}, for an encoder that classifies",
    _IN_LAST.format("rollout"),
    _beats_raw_weights("rollout", "translation"),
    "translation",
)
ENCODER_ROLLOUT = _published(
    "rollout-encoder",
    "Rollout agrees with blank-out more than raw attention weights do, in the encoder.",
    _ABNAR,
    _IN_LAST.format("rollout"),
    _beats_raw_weights("rollout", "encoder"),
    "encoder",
)
_GROWS = (
    "The effect is the rise of rollout's correlation from the first layer to the last, by a linear "
    "fit over the layers. "
)
DEPTH = _published(
    "rollout-depth",
    "Rollout agrees with blank-out better in higher layers, over a whole translation.",
    f"{_ABNAR}, for an encoder that classifies",
    _GROWS,
    _grows_with_depth("translation"),
    "translation",
)
ENCODER_DEPTH = _published(
    "rollout-depth-encoder",
    "Rollout agrees with blank-out better in higher layers, in the encoder.",
    _ABNAR,
    _GROWS,
    _grows_with_depth("encoder"),
    "encoder",
)
ALTI_PLUS = _published(
    "alti",
    "ALTI+ agrees with blank-out more than raw attention weights do.",
    "after Ferrando et al. 2022, who compare ALTI with gradients",
    _IN_LAST.format("ALTI+"),
    _beats_raw_weights("ALTI", "translation"),
    "translation",
)
VALUE_ZEROING = _published(
    "value-zeroing",
    "Value zeroing agrees with blank-out more than raw attention weights do, in the encoder.",
    "Mohebbi et al. 2023, “faithfulness analysis”",
    _IN_LAST.format("value zeroing"),
    _beats_raw_weights("value zeroing", "encoder"),
    "encoder",
)
