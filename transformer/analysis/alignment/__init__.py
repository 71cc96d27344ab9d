"""Word alignment from cross-attention, and its error rate.

`error_rate` defines the score and the counts that a bootstrap resamples, `leaderboard` measures
every head over a corpus, `sentence_alignment` aligns one sentence, `symmetrization` combines the
alignments of two directions, `baselines` has the aligners that attention must beat. The package
does not decide which head is an aligner: that is a role, or a finding.
"""
