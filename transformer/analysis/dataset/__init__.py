"""A file of sentences, traced and written as one dataset of tables and weights.

    from transformer.analysis.dataset import write_dataset
    write_dataset(translator, Corpus.read("mine.txt"), "traced", heads=[("cross", 5, 0)])

Three tables, the weights of the heads that were chosen (`files`), and about.json, which says what
made them. What is in it is what `translator.trace` gives for each sentence by itself.
"""

from transformer.analysis.dataset.writing import write_dataset

__all__ = ["write_dataset"]
