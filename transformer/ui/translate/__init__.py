"""The parts of the page "Translate"."""
