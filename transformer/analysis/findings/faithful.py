"""Ways to follow attention held against blank-out (Abnar and Zuidema 2020, arXiv:2005.00928)."""

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
from transformer.analysis.corpora.passes import Progress, encoded
from transformer.analysis.evidence.bootstrap import Drawn, lead
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import Finding, Published, Untestable, enough, size
from transformer.inference import Translator
from transformer.inference.trace import Trace
from transformer.measures.chart import Chart

Where = Literal["translation", "encoder"]
METHODS = ("raw weights", "rollout", "ALTI", "value zeroing")
"""In the order of `agreement`; over a whole translation ALTI is ALTI+."""
SHORTEST, LONGEST = 5, 80
"""Source pieces, `</s>` aside, between which a sentence is measured: fewer have no ranks to speak
of, and the work grows with the square of more."""


def blank_out(translator: Translator, trace: Trace) -> Float[np.ndarray, "target source"]:
    """How the log-probability of each output token changes, nats, with a source token as `<unk>`.
    Given the output before it. The source's last token, `</s>`, is not blanked out: no column."""
    return perturbation_effects(translator, trace, "source")


@torch.inference_mode()
def blank_out_memory(translator: Translator, trace: Trace) -> Float[np.ndarray, "source source"]:
    """1 − cos of each place of the memory as it is and with another source token as `<unk>`. The
    encoder alone, as the published method has it; `</s>` has neither row nor column."""
    states = translator.model.encode(blanked_sources(translator, trace))[:, :-1].double()
    unit = torch.nn.functional.normalize(states, dim=-1)
    return np.asarray(((unit[:-1] - unit[-1]).square().sum(dim=-1) / 2).T.cpu().numpy())


def agreement(
    translator: Translator, corpus: Corpus, progress: Progress, where: Where = "translation"
) -> Float[np.ndarray, "sentence method layer"]:
    """Rank correlation of each of `METHODS` with blank-out, for every sentence that fits.

    For each output token the source tokens are put in order by |`blank_out`| and by each method up
    to a layer, and the rank correlations are averaged over the sentence's tokens. In the encoder,
    for each place the others by `blank_out_memory`: itself every method puts first.
    """
    pairs = encoded(translator, corpus)
    found = []
    for number, (sentence, pair) in enumerate(zip(corpus.sentences, pairs, strict=True)):
        progress(number / len(pairs), "blanking out")
        if not SHORTEST <= len(pair.src) - 1 <= LONGEST:
            continue
        trace = translator.trace(sentence.source, pair.out)
        ways = _ways(translator, trace, where)[..., :-1]
        if where == "encoder":
            effect, ways = _others(blank_out_memory(translator, trace)), _others(ways[..., :-1, :])
        else:
            effect = np.abs(blank_out(translator, trace))
        ranks = rank_correlations(ways, effect)
        if (kept := ~np.isnan(ranks).any(axis=(0, 1))).any():
            found.append(ranks[..., kept].mean(axis=-1))
    progress(1.0, "blanked out")
    shape = 0, len(METHODS), translator.model.config.n_layers
    return np.stack(found) if found else np.zeros(shape)


def _ways(
    translator: Translator, trace: Trace, where: Where
) -> Float[np.ndarray, "method layer query source"]:
    """Each of `METHODS`, up to each layer."""
    model, kind = translator.model, "encoder" if where == "encoder" else "cross"
    if where == "encoder":
        rolled = rollout.encoder(trace), alti.encoder(model, trace)
    else:
        rolled = rollout.joint(trace).source, alti.joint(model, trace).source
    zeroed = [value_zeroing.scores(model, trace, kind, n) for n in range(trace.n_layers)]
    return np.stack([rollout.matrices(trace, kind), *rolled, np.stack(zeroed)])


def _others(square: Float[np.ndarray, "*many n n"]) -> Float[np.ndarray, "*many n n-1"]:
    """Without the diagonal."""
    n = square.shape[-1]
    return np.asarray(square[..., ~np.eye(n, dtype=bool)].reshape(*square.shape[:-1], n - 1))


Test = Callable[[Translator, Corpus, Progress], Finding]
FLOOR = 0.05
"""A difference of rank correlations. Abnar and Zuidema 2020, table 1, are far above: rollout leads
by 0.42 in the last layer."""
_RHO = "of Spearman's ρ"


def _measured(
    translator: Translator, corpus: Corpus, progress: Progress, where: Where
) -> tuple[npt.NDArray[np.float64], pd.DataFrame]:
    enough(len(corpus))
    found = agreement(translator, corpus, progress, where)
    enough(len(found), f"sentences of at least {SHORTEST} pieces to blank out")
    every = Drawn.means(found.reshape(len(found), -1).T)
    rows = [
        (_called(METHODS[method], where), layer, one.value, one.low, one.high)
        for (method, layer), one in zip(np.ndindex(found.shape[1:]), every.together(), strict=True)
    ]
    return found, pd.DataFrame(rows, columns=["method", "layer", "correlation", "low", "high"])


def _called(method: str, where: Where) -> str:
    return "ALTI+" if method == "ALTI" and where == "translation" else method


def _more(method: str, where: Where) -> Test:
    """The test of one method, against raw weights, in the last layer."""

    def test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
        found, table = _measured(translator, corpus, progress, where)
        last, which, name = found[:, :, -1].T, METHODS.index(method), _called(method, where)
        sides = [Drawn.means(last[[n]]) for n in (which, METHODS.index("raw weights"))]
        effect = Effect(
            f"correlation of {name} with blank-out, less that of raw weights", _RHO, lead(*sides),
            FLOOR,
        )  # fmt: skip
        reason = (
            f"In the last layer the rank correlation of {name} with blank-out is "
            f"{sides[0].values[0]:.2f}, that of the raw weights {sides[1].values[0]:.2f}: a "
            f"difference of {size(effect)}."
        )
        return Finding(table, effect, reason.replace("-0", "−0"), len(found))

    return test


def _deeper(where: Where) -> Test:
    """Rollout from the first layer to the last."""

    def test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
        n_layers = translator.model.config.n_layers
        if n_layers < 2:
            raise Untestable("This model has one layer, so that nothing can grow with depth.")
        found, table = _measured(translator, corpus, progress, where)
        rolled = found[:, METHODS.index("rollout")]
        along = np.arange(n_layers) - (n_layers - 1) / 2
        rises = (n_layers - 1) * (rolled @ along) / (along @ along)
        effect = Effect(
            "rise of rollout's correlation with blank-out from the first layer to the last, along "
            "a straight line",
            _RHO,
            lead(Drawn.means(rises[None])),
            FLOOR,
        )
        first, last = rolled[:, 0].mean(), rolled[:, -1].mean()
        reason = (
            f"Rollout's rank correlation with blank-out goes from {first:.2f} in layer 0 to "
            f"{last:.2f} in layer {n_layers - 1}: along a straight line a rise of {size(effect)}."
        )
        return Finding(table, effect, reason.replace("-0", "−0"), len(found))

    return test


_HOW: dict[Where, str] = {
    "translation": "Each source token in turn becomes <unk>, and the change of every output "
    "token's log-probability is its blank-out score. For each output token the source tokens are "
    "ranked by its size, and by each method: a layer's encoder–decoder weights (heads averaged), "
    "value zeroing in that layer, rollout and ALTI+ from it down through decoder and encoder. ",
    "encoder": "The encoder alone, as where the method comes from: each source token in turn "
    "becomes <unk>, and how far it turns the encoder's output at every other place (1 − cos) is "
    "its blank-out score. For each place the other tokens are ranked by it, and by each method: a "
    "layer's weights (heads averaged), value zeroing in it, rollout and ALTI from it down. ",
}
_RULE = (
    "Spearman's correlations are averaged over a sentence; the 95% interval is a paired bootstrap "
    "over sentences. It holds if the effect is surely above 0.05, and is refuted if it is surely "
    "below: a smaller one nobody would see."
)
_IN_LAST = "The effect is how much the correlation of {} exceeds that of raw weights, last layer. "
_ABNAR = "Abnar & Zuidema 2020, section 4"


def _published(
    name: str, claim: str, source: str, effect: str, test: Test, where: Where
) -> Published:
    across = "layer of the decoder" if where == "translation" else "layer of the encoder"
    chart = Chart("layer", "correlation", across, "Spearman's with blank-out", by="method")
    rule = f"{_HOW[where]}{effect}{_RULE}"
    return Published(name, claim, source, rule, test, most=60, chart=chart, minutes=0.7)


ROLLOUT = _published(
    "rollout",
    "Rollout agrees with blank-out more than raw attention weights do, over a whole translation.",
    f"{_ABNAR}; theirs is an encoder that classifies",
    _IN_LAST.format("rollout"),
    _more("rollout", "translation"),
    "translation",
)
ENCODER_ROLLOUT = _published(
    "rollout-encoder",
    "Rollout agrees with blank-out more than raw attention weights do, in the encoder.",
    _ABNAR,
    _IN_LAST.format("rollout"),
    _more("rollout", "encoder"),
    "encoder",
)
_GROWS = (
    "The effect is how much rollout's correlation rises from the first layer to the last, along "
    "the straight line through a sentence's layers. "
)
DEPTH = _published(
    "rollout-depth",
    "Rollout agrees with blank-out more and more with depth, over a whole translation.",
    f"{_ABNAR}; theirs is an encoder that classifies",
    _GROWS,
    _deeper("translation"),
    "translation",
)
ENCODER_DEPTH = _published(
    "rollout-depth-encoder",
    "Rollout agrees with blank-out more and more with depth, in the encoder.",
    _ABNAR,
    _GROWS,
    _deeper("encoder"),
    "encoder",
)
ALTI_PLUS = _published(
    "alti",
    "ALTI+ agrees with blank-out more than raw attention weights do.",
    "after Ferrando et al. 2022, whose ALTI is held against gradients, and ALTI+",
    _IN_LAST.format("ALTI+"),
    _more("ALTI", "translation"),
    "translation",
)
VALUE_ZEROING = _published(
    "value-zeroing",
    "Value zeroing agrees with blank-out more than raw attention weights do, in the encoder.",
    "Mohebbi et al. 2023, their “faithfulness analysis”",
    _IN_LAST.format("value zeroing"),
    _more("value zeroing", "encoder"),
    "encoder",
)
