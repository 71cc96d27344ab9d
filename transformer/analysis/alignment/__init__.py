"""Word alignment from cross-attention, and its error rate.

`error_rate` defines the score and the counts that a bootstrap resamples, `leaderboard` measures
every head over a corpus, `sentence_alignment` aligns one sentence, `symmetrization` combines the
alignments of two directions, `baselines` has the aligners that attention must beat. Roles and
findings, not this package, decide whether a head is an aligner.
"""
