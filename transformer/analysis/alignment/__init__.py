"""Alignment: cross-attention read as links between words, and how wrong such links are.

`error_rate` is the score, `leaderboard` every head over a corpus, `sentence_alignment` one
sentence, `baselines` and `ibm_aligner` what attention must beat, `alignment_counts` what a
bootstrap draws from.
It may not decide which head is an aligner: that is a role, or a finding.
"""
