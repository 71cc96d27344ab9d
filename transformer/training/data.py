"""From text files to what the trainer reads: a vocabulary and two token stores, kept in the run."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transformer.analysis.corpora.gold import Link
from transformer.config import TrainingConfig
from transformer.text import CorpusError, Examples, TokenStore, Vocabulary, batch_plan, read_pairs
from transformer.text import Pairs as EncodedPairs
from transformer.text.store import Ids
from transformer.text.tasks import TASKS, Task, split
from transformer.text.typing_noise import typing_variant
from transformer.training.run import Progress, RunFolder

Pairs = Callable[[], Iterator[tuple[str, str]]]
SET_ASIDE_EVERY, SET_ASIDE_MOST = 50, 2000
PAIRS_OF_A_TASK = {"n_train": 20_000, "n_valid": 500}
TELL_EVERY = 1_000_000  # pairs
SAMPLED_SHARE = 0.5  # of the sources, where `subword_alpha` is above 0


@dataclass(frozen=True)
class TrainingPairs:
    """Training and validation pairs, each a function that reads them from the start again.

    Attributes:
        gold: for each validation pair its alignment, if there is one for every pair.
        symbols: the vocabulary of a task; of other text it is learned.
        added: further corpora to train on, each with a weight of its own.
    """

    train: Pairs
    valid: Pairs
    gold: Sequence[set[Link]] = ()
    symbols: Sequence[str] = ()
    added: Sequence[Pairs] = ()

    @classmethod
    def of_task(cls, name: str, options: Mapping[str, int], seed: int) -> TrainingPairs:
        """Pairs of one of our own tasks, the same for the same seed.

        Args:
            options: `n_train` and `n_valid`, and the task's own.

        Raises ValueError for a task or an option that there is not.
        """
        task = task_named(name)
        own = {k: v for k, v in options.items() if k not in PAIRS_OF_A_TASK}
        n_train, n_valid = task_sizes(task, options)
        train, valid = split(task, n_train, n_valid, seed, **own)
        aligned = all(example.alignment is not None for example in valid)
        return cls(
            lambda: ((example.src, example.tgt) for example in train),
            lambda: ((example.src, example.tgt) for example in valid),
            [set(example.alignment or ()) for example in valid] if aligned else (),
            task.symbols,
        )

    @classmethod
    def of_files(
        cls,
        train: Sequence[str | os.PathLike[str]],
        valid: Sequence[str | os.PathLike[str]] | None = None,
        added: Sequence[str | os.PathLike[str]] = (),
    ) -> TrainingPairs:
        """One table, or two parallel files, each. Without `valid`, the first training pair and
        every 50th after it (2,000 at most) are set aside. `added` are tables.

        Raises:
            CorpusError: at once for more than two files, a missing one or a folder; any other
                mistake in a text when the reading gets there.
        """
        for files in (train, valid or train):
            if len(files) > 2:
                raise CorpusError(f"give one table or two parallel files, not {len(files)} files")
            read_pairs(*files)  # opens nothing yet, but misses what is not there
        further = [functools.partial(read_pairs, table) for table in added]
        for table in further:
            table()
        if valid:
            return cls(lambda: read_pairs(*train), lambda: read_pairs(*valid), added=further)
        name = " and ".join(map(str, train))
        return cls(
            lambda: _part(read_pairs(*train), name, aside=False),
            lambda: _part(read_pairs(*train), name, aside=True),
            added=further,
        )


def task_named(name: str) -> Task:
    """Raises ValueError for a task that there is not, with the near ones."""
    if name not in TASKS:
        raise ValueError(f"there is no task {name!r}: choose one of {', '.join(TASKS)}")
    return TASKS[name]


def task_sizes(task: Task, options: Mapping[str, int]) -> tuple[int, int]:
    """How many training and validation pairs; left out, 20,000 and 500, or what the task has. A
    task with few examples keeps a tenth of them for validation."""
    own = {k: v for k, v in options.items() if k not in PAIRS_OF_A_TASK}
    there = task.count(**own)
    n_valid = options.get("n_valid", min(PAIRS_OF_A_TASK["n_valid"], there // 10))
    n_train = options.get("n_train", min(PAIRS_OF_A_TASK["n_train"], there - n_valid))
    if min(n_train, n_valid) < 1:
        raise ValueError(
            f"{n_train} training and {n_valid} validation pairs are wanted; each must be at least 1"
        )
    return n_train, n_valid


def _part(pairs: Iterator[tuple[str, str]], name: str, *, aside: bool) -> Iterator[tuple[str, str]]:
    count = 0
    for count, pair in enumerate(pairs, start=1):
        is_aside = count % SET_ASIDE_EVERY == 1 and count <= SET_ASIDE_EVERY * SET_ASIDE_MOST
        if is_aside == aside:
            yield pair
    if count < 2:
        raise CorpusError(
            f"{name} has {count} pair; at least 2 are needed to set one aside, or --valid"
        )


@dataclass(frozen=True)
class Prepared:
    """A vocabulary and the encoded pairs.

    Attributes:
        added: further pairs to train on; `weights` says how often an epoch reads each of them.
    """

    vocabulary: Vocabulary
    train: TokenStore
    valid: TokenStore
    added: Sequence[TokenStore] = ()
    weights: Sequence[float] = ()

    @property
    def n_train(self) -> int:
        """All pairs there are to train on."""
        return sum(map(len, (self.train, *self.added)))

    def epoch(self, config: TrainingConfig, epoch: int) -> EncodedPairs:
        """What one epoch reads."""
        varies = config.typing_noise > 0 or config.subword_alpha > 0
        if not self.added and not config.join and not varies:
            return self.train
        return Examples(
            (self.train, *self.added),
            (1.0, *self.weights),
            join=config.join,
            max_len=self.train.max_len,
            seed=config.seed,
            epoch=epoch,
            vary=functools.partial(vary_pairs, self.vocabulary, config) if varies else None,
        )


def vary_pairs(
    vocabulary: Vocabulary,
    config: TrainingConfig,
    pairs: Sequence[tuple[Ids, Ids]],
    random: np.random.Generator,
) -> list[tuple[Ids, Ids]]:
    """Apply `typing_noise` and `subword_alpha` to the pairs of one epoch.

    Only sources are segmented at random. Targets too would teach the model several segmentations
    of each next word, and its most probable tokens would no longer be words to look at.
    """
    texts = [(vocabulary.decode(src), vocabulary.decode(tgt)) for src, tgt in pairs]
    noisy = random.random(len(texts)) < config.typing_noise
    texts = [
        typing_variant(*pair, random) if changed else pair
        for pair, changed in zip(texts, noisy.tolist(), strict=True)
    ]
    sources = vocabulary.encode_batch([src for src, _ in texts])
    targets = vocabulary.encode_batch([tgt for _, tgt in texts], target=True)
    if config.subword_alpha:
        sampled = np.flatnonzero(random.random(len(texts)) < SAMPLED_SHARE).tolist()
        drawn = vocabulary.sample_batch(
            [texts[number][0] for number in sampled],
            alpha=config.subword_alpha,
            seed=int(random.integers(1 << 31)),
        )
        for number, ids in zip(sampled, drawn, strict=True):
            sources[number] = ids
    return [
        (np.asarray(src, old[0].dtype), np.asarray(tgt, old[1].dtype))
        for src, tgt, old in zip(sources, targets, pairs, strict=True)
    ]


def prepare(
    run: RunFolder,
    corpus: TrainingPairs,
    *,
    vocab_size: int,
    max_len: int,
    log: Callable[[str], None] = lambda _: None,
) -> Prepared:
    """Make what is not there yet, so that a resumed run reads the very same ids.

    Args:
        max_len: most ids of a side, `</s>` counted; longer pairs are left out.
        log: called with a sentence for the user when something takes time or leaves pairs out.

    Raises ValueError for a text that cannot be read, is empty, or is too small for `vocab_size`.
    """
    if not run.vocabulary_path.is_file():
        log(f"learning {vocab_size:,} pieces from the training text")
        texts = (corpus.train, *corpus.added)
        sentences = (side for pairs in texts for pair in pairs() for side in pair)
        Vocabulary.train(sentences, vocab_size).save(run.vocabulary_path)
    vocabulary = Vocabulary.load(run.vocabulary_path)
    added = ((f"added-{number}", pairs) for number, pairs in enumerate(corpus.added))
    for name, pairs in (("train", corpus.train), *added, ("valid", corpus.valid)):
        path = run.text_path(name)
        if not path.is_file():
            store = TokenStore.build(
                path, pairs(), vocabulary, max_len=max_len, progress=_counter(name, log)
            )
            if store.n_dropped:
                log(f"{store.n_dropped:,} {name} pairs of more than {max_len} pieces left out")
    return open_prepared(run, [1.0] * len(corpus.added))


def _counter(name: str, log: Callable[[str], None]) -> Callable[[int], None]:
    """A sentence now, and one for every million pairs."""
    log(f"encoding the {name} pairs")
    reported = 0

    def progress(n_read: int) -> None:
        nonlocal reported
        if n_read >= reported + TELL_EVERY:
            reported = n_read
            log(f"{n_read:,} {name} pairs encoded")

    return progress


def open_prepared(run: RunFolder, weights: Sequence[float] = ()) -> Prepared:
    """What `prepare` made before; `weights` has one for each added corpus. Raises
    FileNotFoundError, ValueError if a file is missing, or does not fit the vocabulary."""
    vocabulary = Vocabulary.load(run.vocabulary_path)
    parts = ("train", "valid", *(f"added-{number}" for number in range(len(weights))))
    train, valid, *added = (TokenStore.open(run.text_path(part), vocabulary) for part in parts)
    return Prepared(vocabulary, train, valid, added, weights)


def epoch_plan(
    store: EncodedPairs, batch_tokens: int, seed: int = 0, epoch: int = 0
) -> list[npt.NDArray[np.int64]]:
    """The batches of one epoch as indices of the store; they depend on nothing else."""
    return batch_plan(
        store.src_lengths, store.tgt_lengths, batch_tokens=batch_tokens, seed=seed, epoch=epoch
    )


def batches_from(
    data: Prepared, config: TrainingConfig, progress: Progress
) -> Iterator[tuple[EncodedPairs, npt.NDArray[np.int64]]]:
    """An epoch and which of its pairs are the next batch, from where the run stands. Who takes a
    batch counts `progress.batch` up; the epoch is counted here."""
    while True:
        epoch = data.epoch(config, progress.epoch)
        plan = epoch_plan(epoch, config.batch_tokens, config.seed, progress.epoch)
        while progress.batch < len(plan):
            yield epoch, plan[progress.batch]
        progress.epoch, progress.batch = progress.epoch + 1, 0
