"""The Train page: ideas, the form, a run while it learns and afterwards, the list of runs."""
