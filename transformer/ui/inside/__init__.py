"""The parts of the page "Inside"."""
