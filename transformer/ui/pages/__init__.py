"""The parts of each page; no page imports another."""
