"""A small English–French grammar with gold word alignments and dependencies."""
