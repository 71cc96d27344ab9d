"""Published findings about heads, as rules that can be tested on any checkpoint.

    finding = FINDINGS["positional"].run(translator, Corpus.bundled())
    finding.verdict, finding.effect, finding.reason, finding.figures

The rules are the same for every model. The rule of `single` was changed after it had been tested on
the first version of the checkpoint en-fr (it now judges the size of the effect instead of its
significance), so for that version its verdict is not independent.
"""

from transformer.analysis.findings import by_measure, single_heads, word_alignment
from transformer.analysis.findings.finding import Finding, PublishedFinding, UntestableError

FINDINGS: dict[str, PublishedFinding] = {
    published.name: published
    for published in (
        by_measure.POSITIONAL_HEADS,
        single_heads.SINGLE_HEADS,
        word_alignment.DIAGONAL,
        word_alignment.NORMS_INPUT,
        word_alignment.NORMS_OUTPUT,
        word_alignment.LOW_LAYERS,
        word_alignment.INPUT_HEADS,
        *by_measure.CLAIM_FINDINGS,
    )
}

__all__ = ["FINDINGS", "Finding", "PublishedFinding", "UntestableError"]
