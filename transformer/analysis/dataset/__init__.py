"""A corpus, traced and written as one dataset of tables and weights.

    from transformer.analysis.dataset import write_dataset
    write_dataset(translator, Corpus.read("mine.txt"), "traced", heads=[("cross", 5, 0)])

There are three tables, the weights of the selected heads (`files`), and about.json, which records
the model and settings. The values are those of `translator.trace` for each sentence alone.
"""

from transformer.analysis.dataset.writing import write_dataset

__all__ = ["write_dataset"]
