"""Training data of a run: pairs of text, encoded into token stores in the run folder."""

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
from transformer.training.run_folder import LoopState, RunFolder

PairReader = Callable[[], Iterator[tuple[str, str]]]
HOLDOUT_INTERVAL, MAX_HOLDOUT_PAIRS = 50, 2000
DEFAULT_TASK_SIZES = {"n_train": 20_000, "n_valid": 500}
LOG_INTERVAL_PAIRS = 1_000_000
SUBWORD_SAMPLING_PROB = 0.5  # fraction of the sources segmented at random if `subword_alpha` > 0


@dataclass(frozen=True)
class TrainingPairs:
    """Training and validation pairs, each as a function that reads them from the start.

    Attributes:
        gold: alignment of each validation pair, if all pairs have one.
        symbols: vocabulary of a toy task; empty if the vocabulary is learned from the text.
        added: additional training corpora, each with its own weight.
        files: what they are read from; a resumed run refuses files with another content.
    """

    train: PairReader
    valid: PairReader
    gold: Sequence[set[Link]] = ()
    symbols: Sequence[str] = ()
    added: Sequence[PairReader] = ()
    files: Sequence[str | os.PathLike[str]] = ()

    @classmethod
    def from_task(cls, name: str, options: Mapping[str, int], seed: int) -> TrainingPairs:
        """Generate the pairs of a toy task, the same for the same seed.

        Args:
            options: `n_train`, `n_valid`, and options of the task.

        Raises ValueError for an unknown task or option.
        """
        task = get_task(name)
        task_options = {k: v for k, v in options.items() if k not in DEFAULT_TASK_SIZES}
        n_train, n_valid = task_sizes(task, options)
        train, valid = split(task, n_train, n_valid, seed, **task_options)
        aligned = all(example.alignment is not None for example in valid)
        return cls(
            lambda: ((example.src, example.tgt) for example in train),
            lambda: ((example.src, example.tgt) for example in valid),
            [set(example.alignment or ()) for example in valid] if aligned else (),
            task.symbols,
        )

    @classmethod
    def from_files(
        cls,
        train: Sequence[str | os.PathLike[str]],
        valid: Sequence[str | os.PathLike[str]] | None = None,
        added: Sequence[str | os.PathLike[str]] = (),
        *,
        encoded: bool = False,
    ) -> TrainingPairs:
        """Read pairs from files: `train` and `valid` are one table or two parallel files each.

        Without `valid`, the first training pair and every 50th after it (2,000 at most) are held
        out for validation. `added` are tables. If the text is `encoded` already, the files may be
        missing.

        Raises:
            CorpusError: at once for more than two files, a missing file or a folder; for an error
                in the text when that line is read.
        """
        for files in (train, valid or train):
            if len(files) > 2:
                raise CorpusError(f"give one table or two parallel files, not {len(files)} files")
            if not encoded:
                read_pairs(*files)  # checks that the files exist, opens nothing yet
        added_readers = [functools.partial(read_pairs, reader) for reader in added]
        for reader in () if encoded else added_readers:
            reader()
        files = (*train, *(valid or ()), *added)
        if valid:
            return cls(
                lambda: read_pairs(*train),
                lambda: read_pairs(*valid),
                added=added_readers,
                files=files,
            )
        name = " and ".join(map(str, train))
        return cls(
            lambda: _holdout_part(read_pairs(*train), name, held_out=False),
            lambda: _holdout_part(read_pairs(*train), name, held_out=True),
            added=added_readers,
            files=files,
        )


def get_task(name: str) -> Task:
    """Return a toy task by name. Raises ValueError for an unknown name."""
    if name not in TASKS:
        raise ValueError(f"there is no task {name!r}: choose one of {', '.join(TASKS)}")
    return TASKS[name]


def task_sizes(task: Task, options: Mapping[str, int]) -> tuple[int, int]:
    """Return the numbers of training and validation pairs.

    The default is 20,000 and 500, or fewer if the task has fewer examples: then a tenth of them is
    for validation. A task with a `valid_share` holds out that fraction of its examples.
    """
    task_options = {k: v for k, v in options.items() if k not in DEFAULT_TASK_SIZES}
    n_available = task.count(**task_options)
    if task.valid_share is None:
        default_valid = min(DEFAULT_TASK_SIZES["n_valid"], n_available // 10)
    else:
        default_valid = round(task.valid_share * n_available)
    n_valid = options.get("n_valid", default_valid)
    n_train = options.get("n_train", min(DEFAULT_TASK_SIZES["n_train"], n_available - n_valid))
    if min(n_train, n_valid) < 1:
        raise ValueError(
            f"{n_train} training and {n_valid} validation pairs requested; each must be at least 1"
        )
    return n_train, n_valid


def _holdout_part(
    pairs: Iterator[tuple[str, str]], name: str, *, held_out: bool
) -> Iterator[tuple[str, str]]:
    count = 0
    for count, pair in enumerate(pairs, start=1):
        is_held_out = (
            count % HOLDOUT_INTERVAL == 1 and count <= HOLDOUT_INTERVAL * MAX_HOLDOUT_PAIRS
        )
        if is_held_out == held_out:
            yield pair
    if count < 2:
        raise CorpusError(
            f"{name} has {count} pair; at least 2 are needed to hold one out, or --valid"
        )


@dataclass(frozen=True)
class PreparedData:
    """A vocabulary and the encoded pairs.

    Attributes:
        added: additional training pairs; `weights` is how often an epoch reads each corpus.
    """

    vocabulary: Vocabulary
    train: TokenStore
    valid: TokenStore
    added: Sequence[TokenStore] = ()
    weights: Sequence[float] = ()

    @property
    def n_train(self) -> int:
        """Number of training pairs of all corpora."""
        return sum(map(len, (self.train, *self.added)))

    def epoch(self, config: TrainingConfig, epoch: int) -> EncodedPairs:
        """Return the pairs of one epoch."""
        augments = config.typing_noise > 0 or config.subword_alpha > 0
        if not self.added and not config.concat_prob and not augments:
            return self.train
        return Examples(
            (self.train, *self.added),
            (1.0, *self.weights),
            concat_prob=config.concat_prob,
            max_len=self.train.max_len,
            seed=config.seed,
            epoch=epoch,
            augment=functools.partial(augment_pairs, self.vocabulary, config) if augments else None,
        )


def augment_pairs(
    vocabulary: Vocabulary,
    config: TrainingConfig,
    pairs: Sequence[tuple[Ids, Ids]],
    random: np.random.Generator,
) -> list[tuple[Ids, Ids]]:
    """Apply `typing_noise` and `subword_alpha` to the pairs of one epoch.

    Only sources are segmented at random: random target segmentations would make the most probable
    next tokens word fragments, which are harder to read.
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
        sampled_rows = np.flatnonzero(random.random(len(texts)) < SUBWORD_SAMPLING_PROB).tolist()
        sampled_ids = vocabulary.sample_batch(
            [texts[row][0] for row in sampled_rows],
            alpha=config.subword_alpha,
            seed=int(random.integers(1 << 31)),
        )
        for row, ids in zip(sampled_rows, sampled_ids, strict=True):
            sources[row] = ids
    return [
        (np.asarray(src, original[0].dtype), np.asarray(tgt, original[1].dtype))
        for src, tgt, original in zip(sources, targets, pairs, strict=True)
    ]


def prepare_data(
    run: RunFolder,
    corpus: TrainingPairs,
    *,
    vocab_size: int,
    max_len: int,
    log: Callable[[str], None] = lambda _: None,
) -> PreparedData:
    """Learn the vocabulary and encode the pairs, unless the run folder already has them.

    Args:
        max_len: maximum number of ids per side, `</s>` included; longer pairs are left out.
        log: called with a sentence for the user about slow steps and dropped pairs.

    Raises ValueError for a text that cannot be read, is empty, or is too small for `vocab_size`;
    RunError for a file whose content has changed since it was encoded.
    """
    run.check_files(corpus.files)
    if not run.vocabulary_path.is_file():
        log(f"learning {vocab_size:,} tokens from the training text")
        readers = (corpus.train, *corpus.added)
        sentences = (side for pairs in readers for pair in pairs() for side in pair)
        Vocabulary.train(sentences, vocab_size).save(run.vocabulary_path)
    vocabulary = Vocabulary.load(run.vocabulary_path)
    added = ((f"added-{number}", pairs) for number, pairs in enumerate(corpus.added))
    for name, pairs in (("train", corpus.train), *added, ("valid", corpus.valid)):
        path = run.text_path(name)
        if not path.is_file():
            store = TokenStore.build(
                path, pairs(), vocabulary, max_len=max_len, progress=_encoding_logger(name, log)
            )
            if store.n_dropped:
                log(f"{store.n_dropped:,} {name} pairs of more than {max_len} tokens left out")
    return open_prepared_data(run, [1.0] * len(corpus.added))


def _encoding_logger(name: str, log: Callable[[str], None]) -> Callable[[int], None]:
    """Log a sentence now, and return a function that logs one for every million pairs."""
    log(f"encoding the {name} pairs")
    reported = 0

    def progress(n_read: int) -> None:
        nonlocal reported
        if n_read >= reported + LOG_INTERVAL_PAIRS:
            reported = n_read
            log(f"{n_read:,} {name} pairs encoded")

    return progress


def open_prepared_data(run: RunFolder, weights: Sequence[float] = ()) -> PreparedData:
    """Open the files of `prepare_data`; `weights` has one entry for each added corpus.

    Raises FileNotFoundError if a file is missing, ValueError if it does not match the vocabulary.
    """
    vocabulary = Vocabulary.load(run.vocabulary_path)
    parts = ("train", "valid", *(f"added-{number}" for number in range(len(weights))))
    train, valid, *added = (TokenStore.open(run.text_path(part), vocabulary) for part in parts)
    return PreparedData(vocabulary, train, valid, added, weights)


def epoch_plan(
    store: EncodedPairs, batch_tokens: int, seed: int = 0, epoch: int = 0
) -> list[npt.NDArray[np.int64]]:
    """Return the batches of one epoch as indices of the store, the same for the same arguments."""
    return batch_plan(
        store.src_lengths, store.tgt_lengths, batch_tokens=batch_tokens, seed=seed, epoch=epoch
    )


def batches_from(
    data: PreparedData, config: TrainingConfig, loop: LoopState
) -> Iterator[tuple[EncodedPairs, npt.NDArray[np.int64]]]:
    """Yield the epoch's pairs and the indices of the next batch, starting at `loop`.

    The caller increments `loop.batch` after each batch; this function increments `loop.epoch`.
    """
    while True:
        epoch = data.epoch(config, loop.epoch)
        plan = epoch_plan(epoch, config.batch_tokens, config.seed, loop.epoch)
        while loop.batch < len(plan):
            yield epoch, plan[loop.batch]
        loop.epoch, loop.batch = loop.epoch + 1, 0
