"""The corpus a command is to read: one of ours by its name, or a file."""

from __future__ import annotations

from transformer.analysis.corpora import Corpus


def given_corpus(named: str | None, links: str | None = None) -> Corpus | None:
    """Sentences of ours by their name, `corpora.NAMES`, else a file's; None if nothing is named.

    Raises:
        CorpusError: for a file that cannot be read as a corpus.
    """
    if named is None:
        return None
    return Corpus.named(named) or Corpus.read(named, links)
