"""Published findings about heads, as rules that can be tested on any checkpoint.

    finding = FINDINGS["positional"].run(translator, Corpus.bundled())
    finding.verdict, finding.effect, finding.reason, finding.figures

The rules are the same for every model. Three rules were changed after they had been tested on the
first version of the checkpoint en-fr, so for that version their verdicts are not independent:
`single` (it now judges the size of the effect instead of its significance), `value-zeroing` (now
one layer at a time, as published) and `alignment-statistical` (training of the aligner).
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
from transformer.analysis.findings.finding import Finding, PublishedFinding, UntestableError
from transformer.analysis.findings.over_training import (
    load_run_checkpoints,
    pruning_over_training,
    score_checkpoints,
)

FINDINGS: dict[str, PublishedFinding] = {
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
        *by_measure.CLAIM_FINDINGS,
    )
}

__all__ = [
    "FINDINGS",
    "Finding",
    "PublishedFinding",
    "UntestableError",
    "blank_out",
    "load_run_checkpoints",
    "pruning_over_training",
    "score_checkpoints",
]
