"""Aligners that need no model: the diagonal, chance, and one learned from the sentences alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from transformer.analysis.alignment.alignment_counts import Counts
from transformer.analysis.alignment.ibm_aligner import Aligner
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import Linked
from transformer.text import TASKS

MORE = 1_000
"""Sentences of our grammar that a statistical aligner learns from beside those that are given:
with a thousand its errors are within half a point of those with four thousand."""
_WORD = re.compile(r"\w+'?|[^\w\s]")


def teaching(corpus: Corpus) -> list[tuple[list[str], list[str]]]:
    """The words of all pairs of a corpus, for a statistical aligner to learn from.

    If some are of our grammar, `MORE` others of its sentences are added: a few hundred pairs would
    make the verdict one about their number.
    """
    grammar = TASKS["french"]
    known, ours, found = {symbol.casefold() for symbol in grammar.symbols}, False, []
    for one in corpus.sentences:
        if one.gold:
            pair = _folded(one.gold.source_words), _folded(one.gold.target_words)
            ours = ours or known.issuperset(chain(*pair))
        else:
            pair = _folded(_WORD.findall(one.source)), _folded(_WORD.findall(one.target))
        found.append(pair)
    if ours:
        more = grammar.pairs(MORE, seed=2)
        found += [(example.src.split(), example.tgt.split()) for example in more]
    return [pair for pair in found if all(pair)]


def _folded(words: Iterable[str]) -> list[str]:
    return [word.casefold() for word in words]


def rivals(sentences: Sequence[Linked], aligner: Aligner) -> dict[str, Counts]:
    """Hits of "diagonal"; of "chance", what drawing a source word for each target word gives on
    average; and of `aligner`, "statistical"."""
    diagonal, chance, statistical = np.zeros((3, 3, len(sentences)))
    for number, each in enumerate(sentences):
        n_tgt, n_src = each.sure.shape
        targets = np.array(sorted(set(each.target)))
        along = ((targets + 0.5) * n_src / n_tgt).astype(int)
        links = aligner.links(_folded(each.gold.source_words), _folded(each.gold.target_words))
        for which, table in enumerate((each.sure, each.possible)):
            diagonal[which, number] = table[targets, along].sum()
            chance[which, number] = table[targets].mean(axis=1).sum()
            statistical[which, number] = sum(table[target, source] for source, target in links)
        diagonal[2, number] = chance[2, number] = len(targets)
        statistical[2, number] = len(links)
    return {"diagonal": diagonal, "chance": chance, "statistical": statistical}
