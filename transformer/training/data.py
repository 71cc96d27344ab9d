"""From text files to what the trainer reads: a vocabulary and two token stores in the run folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from transformer.text import TokenStore, Vocabulary, read_pairs
from transformer.training.run import RunFolder

Pairs = Callable[[], Iterator[tuple[str, str]]]
SET_ASIDE_EVERY, SET_ASIDE_MOST = 50, 2000


@dataclass(frozen=True)
class Corpus:
    """Training and validation pairs, each a function that reads them from the start again."""

    train: Pairs
    valid: Pairs

    @classmethod
    def of_files(
        cls, train: list[str | os.PathLike[str]], valid: list[str | os.PathLike[str]] | None
    ) -> Corpus:
        """One TSV file, or two parallel files, a side. Without `valid`, every 50th training pair
        (2,000 at most) is set aside."""
        if valid:
            return cls(lambda: read_pairs(*train), lambda: read_pairs(*valid))
        return cls(
            lambda: _part(read_pairs(*train), aside=False),
            lambda: _part(read_pairs(*train), aside=True),
        )


def _part(pairs: Iterator[tuple[str, str]], *, aside: bool) -> Iterator[tuple[str, str]]:
    last = SET_ASIDE_EVERY * SET_ASIDE_MOST
    for number, pair in enumerate(pairs, start=1):
        if (number % SET_ASIDE_EVERY == 0 and number <= last) == aside:
            yield pair


@dataclass(frozen=True)
class Prepared:
    """A vocabulary and the encoded pairs."""

    vocabulary: Vocabulary
    train: TokenStore
    valid: TokenStore


def prepare(
    run: RunFolder,
    corpus: Corpus,
    *,
    vocab_size: int,
    max_len: int,
    progress: Callable[[str], None] = lambda _: None,
) -> Prepared:
    """Make what is not there yet, so that a resumed run reads the very same ids.

    Raises:
        ValueError: for a text that cannot be read, is empty, or is too small for `vocab_size`.
    """
    if not run.vocabulary_path.is_file():
        progress(f"learning {vocab_size} pieces from the training text")
        sentences = (side for pair in corpus.train() for side in pair)
        Vocabulary.train(sentences, vocab_size).save(run.vocabulary_path)
    vocabulary = Vocabulary.load(run.vocabulary_path)
    for name, pairs in (("train", corpus.train), ("valid", corpus.valid)):
        path = run.path / f"{name}.arrow"
        if not path.is_file():
            progress(f"encoding the {name} pairs")
            store = TokenStore.build(path, pairs(), vocabulary, max_len=max_len)
            if store.n_dropped:
                progress(f"{store.n_dropped} {name} pairs of more than {max_len} pieces left out")
    return open_prepared(run)


def open_prepared(run: RunFolder) -> Prepared:
    """What `prepare` made before."""
    vocabulary = Vocabulary.load(run.vocabulary_path)
    train, valid = (
        TokenStore.open(run.path / f"{name}.arrow", vocabulary) for name in ("train", "valid")
    )
    return Prepared(vocabulary, train, valid)
