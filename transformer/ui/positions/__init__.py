"""The topics of the page "Positions"."""
