"""Importance: how much quality a corpus loses without a head, or without several.

`by_gradient` guesses it from one pass, `ablation` leaves heads out, `pruning` leaves out more and
more of them.
It may not learn anything: gates that are trained stand in `transformer.training.gates`.
"""
