"""The tab Why self-attention: Table 1 of the paper, as formulas and counts."""
