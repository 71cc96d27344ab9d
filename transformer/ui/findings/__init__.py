"""The parts of the page "Findings": all of them at once, and a card for each."""
