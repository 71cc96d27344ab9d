"""Published findings about heads, each as a rule that any checkpoint can be put to.

    found = FINDINGS["positional"].run(translator, Corpus.bundled())
    found.verdict, found.effect, found.reason, found.figures

A finding may not keep a result, nor change its rule for a model. Three rules were rewritten after a
first result on the first en-fr: `single` (the size of a cost, no more its significance),
`value-zeroing` (each layer by itself, as published) and the statistical aligner's learning step;
what they say of that checkpoint is no blind test.
"""

from transformer.analysis.findings.blanked import blank_out
from transformer.analysis.findings.by_measure import CLAIMED, POSITIONAL_HEADS
from transformer.analysis.findings.faithful import (
    ALTI_PLUS,
    DEPTH,
    ENCODER_DEPTH,
    ENCODER_ROLLOUT,
    ROLLOUT,
    VALUE_ZEROING,
)
from transformer.analysis.findings.finding import Finding, Published, Untestable
from transformer.analysis.findings.over_training import (
    TOLERANCE,
    pruning_over_training,
    saves_of,
    scores_of,
    write_scores,
)
from transformer.analysis.findings.removal import FRAGILE_KIND, LAST_CROSS, SINGLE_HEADS
from transformer.analysis.findings.word_alignment import (
    DIAGONAL,
    INPUT_HEADS,
    LOW_LAYERS,
    NORMS_INPUT,
    NORMS_OUTPUT,
    STATISTICAL,
)

FINDINGS: dict[str, Published] = {
    published.name: published
    for published in (
        POSITIONAL_HEADS,
        SINGLE_HEADS,
        FRAGILE_KIND,
        LAST_CROSS,
        DIAGONAL,
        STATISTICAL,
        NORMS_INPUT,
        NORMS_OUTPUT,
        LOW_LAYERS,
        INPUT_HEADS,
        ENCODER_ROLLOUT,
        ENCODER_DEPTH,
        VALUE_ZEROING,
        ROLLOUT,
        DEPTH,
        ALTI_PLUS,
        TOLERANCE,
        *CLAIMED,
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
    "write_scores",
]
