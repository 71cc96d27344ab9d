"""The parts of the page "Attention": the explorer, a second translation beside it, files."""
