"""The text of a run: pairs of a task or of files, its vocabulary, encoded pairs, batches."""

from __future__ import annotations

import functools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transformer.analysis.corpora.gold import Link
from transformer.config import TrainingConfig
from transformer.text import (
    CorpusError,
    Example,
    Examples,
    TokenStore,
    Vocabulary,
    batch_plan,
    read_pairs,
)
from transformer.text import Pairs as EncodedPairs
from transformer.text.store import Ids
from transformer.text.tasks import TASKS, Task, split
from transformer.text.typing_noise import typing_variant
from transformer.text.visible import normalised
from transformer.training.run_config import FilesRun, PairsRun, TaskRun, TrainingRun
from transformer.training.run_folder import LoopState, RunError, RunFolder

PairReader = Callable[[], Iterator[tuple[str, str]]]
HOLDOUT_INTERVAL, MAX_HOLDOUT_PAIRS = 50, 2000
DEFAULT_TASK_SIZES = {"n_train": 20_000, "n_valid": 500}
LOG_INTERVAL_PAIRS = 1_000_000
SUBWORD_SAMPLING_PROB = 0.5  # fraction of the sources segmented at random if `subword_alpha` > 0
MAX_WHOLE_WORDS = 100
"""A text with at most this many distinct words gets one piece per word."""
MAX_VOCABULARY_SENTENCES = 200_000  # sentences from which pieces are learned


class HeldOut:
    """The sources that are held out of a text for validation, read from it when first needed.

    They are the sources of the first pair and of every 50th after it, 2,000 at most. Pairs whose
    sources are equal, but for spaces and Unicode normalisation, stay together: else a validation
    pair could be a training pair. A source with more than 50 pairs, or a tenth of all, is not held
    out, unless there is no other.
    """

    def __init__(self, read: PairReader, name: str) -> None:
        """
        Args:
            read: returns the pairs from the start.
            name: of the text in error messages.
        """
        self._read, self._name = read, name

    @functools.cached_property
    def sources(self) -> frozenset[str]:
        """The normalised sources. Raises CorpusError if fewer than two sources are different."""
        sizes: dict[str, int] = {}
        first_source, n_pairs, is_one_source = "", 0, True
        for source, _ in self._read():
            key = normalised(source)
            first_source = first_source or key
            is_one_source = is_one_source and key == first_source
            if n_pairs % HOLDOUT_INTERVAL == 0 and len(sizes) < MAX_HOLDOUT_PAIRS:
                sizes[key] = 0
            n_pairs += 1
        if is_one_source:
            pairs = "1 pair" if n_pairs == 1 else f"{n_pairs} pairs with the same source"
            needed = "2" if n_pairs == 1 else "2 sources"
            raise CorpusError(
                f"{self._name} has {pairs}; at least {needed} are needed, one for validation"
            )
        for source, _ in self._read():
            if (key := normalised(source)) in sizes:
                sizes[key] += 1
        limit = min(HOLDOUT_INTERVAL, max(1, n_pairs // 10))
        small = frozenset(key for key, size in sizes.items() if size <= limit)
        return small or frozenset({min(sizes, key=sizes.__getitem__)})

    def part(self, read: PairReader, *, inside: bool) -> Iterator[tuple[str, str]]:
        """Yield the pairs whose sources are held out, or (`inside` false) the others."""
        return (pair for pair in read() if (normalised(pair[0]) in self.sources) == inside)


@dataclass(frozen=True)
class TrainingPairs:
    """Training and validation pairs, each as a function that reads them from the start.

    Attributes:
        gold: alignment of each validation pair, if all pairs have one.
        symbols: vocabulary of a toy task; empty if the vocabulary is learned from the text.
        added: additional training corpora, with how often an epoch reads each.
        has_valid_files: whether the validation pairs come from files of their own, which may repeat
            training pairs.
        files: what they are read from; a resumed run refuses files with another content.
    """

    train: PairReader
    valid: PairReader
    gold: Sequence[set[Link]] = ()
    symbols: Sequence[str] = ()
    added: Sequence[tuple[PairReader, float]] = ()
    has_valid_files: bool = False
    files: Sequence[str | os.PathLike[str]] = ()

    @classmethod
    def of_run(cls, run: RunFolder, config: TrainingRun) -> TrainingPairs:
        """Return the text of a run: of a toy task, of pairs in its folder, or of files.

        Raises ValueError for an unknown task or option, a missing file, or own pairs outside the
        folder.
        """
        match config:
            case TaskRun():
                return cls.from_task(config.task, config.options, config.training.seed)
            case PairsRun():
                if not re.fullmatch(r"\w[\w.-]*", config.pairs):
                    raise RunError(
                        f"the pairs must be a file in the run's folder, not {config.pairs!r}"
                    )
                return cls.from_files([run.path / config.pairs])
            case FilesRun():
                return cls.from_files(
                    config.train, config.valid, config.added, encoded=run.is_prepared
                )
        raise RunError(f"a run of {config.kind} has no text")

    @classmethod
    def from_task(cls, name: str, options: Mapping[str, int], seed: int) -> TrainingPairs:
        """Generate the pairs of a toy task, the same for the same seed.

        Args:
            options: `n_train`, `n_valid`, and options of the task.

        Raises ValueError for an unknown task or option.
        """
        train, valid = task_examples(name, options, seed)
        aligned = all(example.alignment is not None for example in valid)
        return cls(
            lambda: ((example.src, example.tgt) for example in train),
            lambda: ((example.src, example.tgt) for example in valid),
            [set(example.alignment or ()) for example in valid] if aligned else (),
            get_task(name).symbols,
        )

    @classmethod
    def from_files(
        cls,
        train: Sequence[str | os.PathLike[str]],
        valid: Sequence[str | os.PathLike[str]] | None = None,
        added: Mapping[str, float] | None = None,
        *,
        encoded: bool = False,
    ) -> TrainingPairs:
        """Read pairs from files: `train` and `valid` are one table or two parallel files each.

        Without `valid`, some pairs are held out as in `HeldOut`. `added` are tables with their
        weights. If the text is `encoded` already, the files may be missing.

        Raises:
            CorpusError: at once for more than two files, a missing file or a folder; for an error
                in the text when that line is read.
        """
        for files in (train, valid or train):
            if len(files) > 2:
                raise CorpusError(f"give one table or two parallel files, not {len(files)} files")
            if not encoded:
                read_pairs(*files)  # checks that the files exist, opens nothing yet
        tables = added or {}
        for table in () if encoded else tables:
            read_pairs(table)
        read_train = functools.partial(read_pairs, *train)
        read_added = [functools.partial(read_pairs, table) for table in tables]
        if valid:
            files = (*train, *valid, *tables)
            weighted = [*zip(read_added, tables.values(), strict=True)]
            read_valid = functools.partial(read_pairs, *valid)
            return cls(read_train, read_valid, added=weighted, has_valid_files=True, files=files)
        held_out = HeldOut(read_train, " and ".join(map(str, train)))
        return cls(
            functools.partial(held_out.part, read_train, inside=False),
            functools.partial(held_out.part, read_train, inside=True),
            added=[
                (functools.partial(held_out.part, read, inside=False), weight)
                for read, weight in zip(read_added, tables.values(), strict=True)
            ],
            files=(*train, *tables),
        )


def get_task(name: str) -> Task:
    """Return a toy task by name. Raises ValueError for an unknown name."""
    if name not in TASKS:
        raise ValueError(f"there is no task {name!r}: choose one of {', '.join(TASKS)}")
    return TASKS[name]


def task_options(options: Mapping[str, int]) -> dict[str, int]:
    """Return the options of the task itself, without `n_train` and `n_valid`."""
    return {name: value for name, value in options.items() if name not in DEFAULT_TASK_SIZES}


def task_examples(
    name: str, options: Mapping[str, int], seed: int
) -> tuple[list[Example], list[Example]]:
    """Return the training and validation examples of a run on a toy task.

    Args:
        options: `n_train`, `n_valid`, and options of the task.

    Raises ValueError for an unknown task or option.
    """
    task = get_task(name)
    n_train, n_valid = task_sizes(task, options)
    return split(task, n_train, n_valid, seed, **task_options(options))


def task_sizes(task: Task, options: Mapping[str, int]) -> tuple[int, int]:
    """Return the numbers of training and validation pairs.

    The default is 20,000 and 500, or fewer if the task has fewer examples: then a tenth of them is
    for validation. A task with a `valid_share` holds out that fraction of its examples.
    """
    n_available = task.count(**task_options(options))
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
    fit: bool = False,
    log: Callable[[str], None] = lambda _: None,
) -> PreparedData:
    """Learn the vocabulary and encode the pairs, unless the run folder already has them.

    Args:
        max_len: maximum number of ids per side, `</s>` included; longer pairs are left out.
        fit: adapt the vocabulary's size to the text (`fit_vocabulary`).
        log: called with a sentence for the user about slow steps and dropped pairs.

    Raises ValueError for a text that cannot be read, is empty, or is too small for `vocab_size`,
    and for encoded text of another vocabulary; RunError for a file whose content has changed since
    it was encoded.
    """
    run.check_files(corpus.files)
    if not run.vocabulary_path.is_file():
        if fit:
            vocabulary = fit_vocabulary(corpus, vocab_size)
        else:
            log(f"learning {vocab_size:,} tokens from the training text")
            readers = (corpus.train, *(pairs for pairs, _ in corpus.added))
            sentences = (side for pairs in readers for pair in pairs() for side in pair)
            vocabulary = Vocabulary.train(sentences, vocab_size)
        vocabulary.save(run.vocabulary_path)
    vocabulary = Vocabulary.load(run.vocabulary_path)

    def encoded(name: str, pairs: PairReader) -> TokenStore:
        def report(n_read: int) -> None:
            if n_read % LOG_INTERVAL_PAIRS == 0:
                log(f"{n_read:,} {name} pairs encoded")

        path = run.text_path(name)
        if path.is_file():
            return TokenStore.open(path, vocabulary)
        log(f"encoding the {name} pairs")
        store = TokenStore.build(path, pairs(), vocabulary, max_len=max_len, progress=report)
        if store.n_dropped:
            log(f"{store.n_dropped:,} {name} pairs of more than {max_len} tokens left out")
        return store

    train = encoded("train", corpus.train)
    added = [encoded(f"added-{n}", pairs) for n, (pairs, _) in enumerate(corpus.added)]
    weights = [weight for _, weight in corpus.added]
    # The validation pairs come last, because they tell whether the text is prepared.
    is_prepared = run.is_prepared
    data = PreparedData(vocabulary, train, encoded("valid", corpus.valid), added, weights)
    if corpus.files and not is_prepared:
        _log_repeats(corpus, log)
    return data


def _log_repeats(corpus: TrainingPairs, log: Callable[[str], None]) -> None:
    """Say how many validation pairs repeat a source, and how many have one of a training pair."""
    sources = Counter(normalised(source) for source, _ in corpus.valid())
    n_valid = sources.total()
    if n_repeats := n_valid - len(sources):
        log(f"{n_repeats:,} of the {n_valid:,} validation pairs repeat another's source")
    if not corpus.has_valid_files:
        return
    readers = (corpus.train, *(read for read, _ in corpus.added))
    train_sources = (normalised(source) for read in readers for source, _ in read())
    if n_shared := sum(sources[source] for source in sources.keys() & train_sources):
        log(
            f"{n_shared:,} of the {n_valid:,} validation pairs have a source that is also in the "
            "training pairs; the validation loss does not measure new sentences there"
        )


def fit_vocabulary(corpus: TrainingPairs, vocab_size: int) -> Vocabulary:
    """Return the vocabulary of a corpus, learned from both sides of its training pairs.

    It consists of the symbols of a toy task, or one piece per word of a tiny text, or about
    `vocab_size` pieces: fewer if the text is too small, more if its characters need more. Raises
    ValueError for text that cannot be read or yields no vocabulary.
    """
    if corpus.symbols:
        return Vocabulary.from_symbols(corpus.symbols)
    sentences = [side for pair in corpus.train() for side in pair][:MAX_VOCABULARY_SENTENCES]
    words = sorted({word for sentence in sentences for word in sentence.split()})
    if len(words) <= MAX_WHOLE_WORDS:
        try:
            return Vocabulary.from_symbols(words)
        except ValueError:  # words that are equal after Unicode normalisation
            pass
    return _train_sentencepiece(sentences, vocab_size)


def _train_sentencepiece(sentences: Sequence[str], vocab_size: int) -> Vocabulary:
    """Train a vocabulary, correcting `vocab_size` to a possible one named in the error message."""
    for _ in range(3):
        try:
            return Vocabulary.train(sentences, vocab_size)
        except ValueError as error:
            possible_size = re.search(r"ask for (?:at least )?(\d+)", str(error))
            if possible_size is None or int(possible_size[1]) == vocab_size:
                raise
            vocab_size = int(possible_size[1])
    return Vocabulary.train(sentences, vocab_size)


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
