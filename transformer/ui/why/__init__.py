"""The parts of the page "Why self-attention"."""
