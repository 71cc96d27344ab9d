"""Published findings about heads, as rules that can be tested on any checkpoint.

    found = FINDINGS["positional"].run(translator, Corpus.bundled())
    found.verdict, found.effect, found.reason, found.figures

A finding may not keep a result, nor change its rule for a model. Three rules were rewritten after a
first result on the first en-fr: `single` (the size of a cost, no more its significance),
`value-zeroing` (each layer by itself, as published) and the statistical aligner's learning step;
what they say of that checkpoint is no blind test.
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
from transformer.analysis.findings.over_training import pruning_over_training, saves_of, scores_of

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
    "pruning_over_training",
    "saves_of",
    "scores_of",
]
