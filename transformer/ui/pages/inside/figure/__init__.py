"""The tab Figure 1: one sentence through every box of the figure, training, and the logit lens."""
