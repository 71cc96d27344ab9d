"""The tab Figure 1: one sentence through every box of the figure, training, logit lens and BLEU."""
