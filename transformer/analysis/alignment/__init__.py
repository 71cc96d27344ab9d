"""Word alignment from cross-attention, and its error rate.

`error_rate` defines the score and the counts that a bootstrap resamples, `aligner_errors` measures
every head over a corpus, `aligner_head` chooses the best one, `sentence_alignment` aligns one
sentence. Roles and findings, not this package, decide whether a head is an aligner.
"""
