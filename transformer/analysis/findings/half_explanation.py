"""Finding: cross-attention explains only part of the source's relevance (Papi et al. 2025)."""

from __future__ import annotations

from transformer.analysis.attribution.relevance import (
    MAX_SOURCE_TOKENS,
    MIN_SOURCE_TOKENS,
    PERTURBED,
    PUBLISHED_CORRELATIONS,
    relevance_correlations,
)
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress
from transformer.analysis.evidence.bootstrap import BootstrapSamples, max_difference_interval
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import (
    Finding,
    PublishedFinding,
    interval_text,
    require_sentences,
)
from transformer.inference import Translator
from transformer.measures.chart import Chart

_CEILING = PUBLISHED_CORRELATIONS[1]


def _test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    correlations, table = relevance_correlations(translator, corpus, progress)
    require_sentences(
        correlations.shape[1],
        f"sentences of {MIN_SOURCE_TOKENS} to {MAX_SOURCE_TOKENS} source tokens",
    )
    of_source, of_memory = (
        max_difference_interval(
            BootstrapSamples.from_sentence_values(correlations[[PERTURBED.index(name)], :, -1])
        )
        for name in PERTURBED
    )
    effect = Effect(
        "correlation of mean cross-attention with the relevance of the encoder's output",
        "of Pearson's r",
        of_memory,
        _CEILING,
        below=True,
    )
    value, low, high = interval_text(of_memory, 2)
    reason = (
        f"Mean cross-attention correlates with the relevance of the encoder's output at {value} "
        f"(95%: {low} to {high}), and with that of the source tokens at "
        f"{interval_text(of_source, 2)[0]}."
    )
    return Finding(table.dropna(), effect, reason, correlations.shape[1])


HALF_EXPLANATION = PublishedFinding(
    "half-explanation",
    "Cross-attention, averaged over heads and layers, correlates with the relevance of the "
    f"encoder's output at no more than {_CEILING}.",
    "Papi et al. 2025 (arXiv 2509.18010), who report 0.52 to 0.75 for speech models",
    "Relevance is the size of the change of an output token's log-probability when a source token "
    "becomes <unk> (source), or when the decoder may not attend to a position of the encoder's "
    "output (memory). Pearson's correlation with the attention weights is over all output tokens "
    "and source tokens except </s>; every row is divided by its sum. The claim holds if the 95% "
    f"interval of the mean over sentences is below {_CEILING}, and is refuted if it is above.",
    _test,
    max_sentences=60,
    chart=Chart(
        "layer",
        "correlation",
        "layer of the decoder",
        "Pearson's r with relevance",
        by="perturbed",
        mark=(_CEILING, "highest published"),
    ),
    minutes=0.2,
)
