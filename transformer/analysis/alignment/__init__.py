"""Word alignment from cross-attention, and its error rate.

`error_rate` is the score, and what a bootstrap draws from; `leaderboard` every head over a corpus,
`sentence_alignment` one sentence, `symmetrization` makes one alignment of two directions,
`baselines` what attention must beat.
It may not decide which head is an aligner: that is a role, or a finding.
"""
