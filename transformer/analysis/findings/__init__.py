"""Published findings about heads, as rules that can be tested on any checkpoint.

    finding = FINDINGS["positional"].run(translator, Corpus.bundled())
    finding.verdict, finding.effect, finding.reason, finding.figures

A finding does not store a result and does not change its rule for a model. Three rules were
rewritten after a first result on the first en-fr: `single` (the size of a cost, no longer its
significance), `value-zeroing` (each layer by itself, as published) and the statistical aligner's
training; for that checkpoint their verdicts are not a blind test.
"""

from transformer.analysis.findings import (
    by_measure,
    faithful,
    half_explanation,
    over_training,
    removal,
    word_alignment,
)
from transformer.analysis.findings.faithful import blank_out
from transformer.analysis.findings.finding import Finding, Published, Untestable
from transformer.analysis.findings.over_training import (
    load_saves,
    pruning_over_training,
    score_saves,
)

FINDINGS: dict[str, Published] = {
    published.name: published
    for published in (
        by_measure.POSITIONAL_HEADS,
        removal.SINGLE_HEADS,
        removal.FRAGILE_KIND,
        removal.LAST_CROSS,
        word_alignment.DIAGONAL,
        word_alignment.STATISTICAL,
        word_alignment.NORMS_INPUT,
        word_alignment.NORMS_OUTPUT,
        word_alignment.LOW_LAYERS,
        word_alignment.INPUT_HEADS,
        faithful.ENCODER_ROLLOUT,
        faithful.ENCODER_DEPTH,
        faithful.VALUE_ZEROING,
        faithful.ROLLOUT,
        faithful.DEPTH,
        faithful.ALTI_PLUS,
        half_explanation.HALF_EXPLANATION,
        over_training.TOLERANCE,
        *by_measure.CLAIMED,
    )
}

__all__ = [
    "FINDINGS",
    "Finding",
    "Published",
    "Untestable",
    "blank_out",
    "load_saves",
    "pruning_over_training",
    "score_saves",
]
