"""A small English→French grammar of our own, with gold word alignments, and who depends on whom."""
