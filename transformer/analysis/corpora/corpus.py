"""Corpora to measure over: sentences, with translations and gold links where known."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from transformer.analysis.corpora import own_sentences
from transformer.analysis.corpora.gold import Gold, parse_links
from transformer.analysis.corpora.own_sentences import LANGUAGES
from transformer.run_config import TaskRun, parse
from transformer.text import TASKS, CorpusError, TokenStore, Vocabulary, split
from transformer.text.corpus import read_lines
from transformer.text.files import read_json
from transformer.text.visible import is_blank

MAX_SENTENCES = 5_000
"""Sentences of one corpus at most: the data stored for each grows with the number of heads."""

DEFAULT_SENTENCES = 300
"""Default number of sentences of the bundled corpus and of a run's validation set."""


@dataclass(frozen=True)
class Sentence:
    """A source; its target, "" if the model is to translate it; its gold links, if known."""

    source: str
    target: str = ""
    gold: Gold | None = None


@dataclass(frozen=True)
class Corpus:
    """Sentences to measure over; `hash` identifies the content, whatever the name.

    Attributes:
        target: language code of the translations of the bundled sentences, "fr" or "de"; "" for all
            others.
    """

    name: str
    sentences: tuple[Sentence, ...]
    target: str = ""

    def __post_init__(self) -> None:
        if not 1 <= len(self.sentences) <= MAX_SENTENCES:
            raise CorpusError(
                f"{self.name} has {len(self.sentences)} sentences; a corpus has 1 to "
                f"{MAX_SENTENCES}."
            )

    @cached_property
    def hash(self) -> str:
        """16 hexadecimal digits that identify the texts and links."""
        content = self.to_dict()["sentences"]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    def __len__(self) -> int:
        return len(self.sentences)

    def first(self, n: int) -> Corpus:
        """Return the corpus cut to its first `n` sentences."""
        return Corpus(self.name, self.sentences[:n], self.target)

    @property
    def n_gold(self) -> int:
        """Number of sentences with gold links."""
        return sum(sentence.gold is not None for sentence in self.sentences)

    @classmethod
    def bundled(
        cls, n: int = DEFAULT_SENTENCES, *, symbols: bool = False, target: str = "fr"
    ) -> Corpus:
        """Return the bundled sentences, at most `n`.

        These are everyday sentences, followed for French by sentences of our grammar with exact
        gold links. German has no grammar; there the sentences of `linked` follow.

        Args:
            symbols: only sentences of the grammar, written as its task does: "the black cat sleeps
                .".
            target: the language code, "fr" or "de".

        Raises:
            ValueError: for another language, or the grammar's symbols in German.
        """
        own_sentences.check_language(target)
        if symbols and target != "fr":
            raise ValueError(f'the grammar is English to French; it has no symbols in "{target}"')
        pairs = [] if symbols else own_sentences.everyday(target)[:n]
        if target == "fr":
            pairs += own_sentences.grammar_pairs(n - len(pairs), symbols=symbols)
        else:
            pairs += own_sentences.linked(target)[: n - len(pairs)]
        return cls("bundled sentences", tuple(Sentence(*pair) for pair in pairs), target)

    @classmethod
    def linked(cls, target: str = "fr") -> Corpus:
        """Return our sentences with human-made links to "fr" or "de"; errors as of
        `own_sentences`."""
        name = f"our sentences with human-made links, English to {LANGUAGES.get(target, target)}"
        return cls(name, tuple(Sentence(*pair) for pair in own_sentences.linked(target)), target)

    @classmethod
    def named(cls, name: str) -> Corpus | None:
        """Return one of `NAMES`, or None: "linked-de" is `linked("de")`, "ours-fr" is
        `bundled()`."""
        if name not in NAMES:
            return None
        kind, _, target = name.partition("-")
        return cls.linked(target) if kind == "linked" else cls.bundled(target=target)

    @classmethod
    def of_run(cls, folder: str | os.PathLike[str], limit: int = DEFAULT_SENTENCES) -> Corpus:
        """Return the first validation pairs of a training run, with gold links if its task has
        them.

        Raises:
            CorpusError: if the folder is not a run, or its text is not prepared.
        """
        run = Path(folder)
        try:
            run_config = parse(read_json(run / "config.json"))
            sentences = (
                _task_sentences(run_config)
                if isinstance(run_config, TaskRun)
                else _stored_sentences(run)
            )
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise CorpusError(
                f"{run} has no validation pairs to read: {error}; choose another corpus."
            ) from error
        return cls("validation pairs of the run", tuple(sentences[:limit]))

    @classmethod
    def of_lines(
        cls, lines: Iterable[str], name: str, links: Iterable[str] | None = None
    ) -> Corpus:
        """Read one sentence per line, or `source TAB target`, or these with a third column of
        links.

        Args:
            name: what error messages call the text.
            links: a line for each sentence in Pharaoh's format, "0-0 1-2": a source word and a
                target word, counted from 0, where words are separated by spaces; "1?2" or "1p2" is
                a possible link, not a sure one.

        Raises:
            CorpusError: naming the line, for a blank line, one of another kind than the first, or
                an invalid link; for a text without lines or with too many.
        """
        rows = [line.strip("\r\n") for line in islice(lines, MAX_SENTENCES + 1)]
        while rows and is_blank(rows[-1]):
            rows.pop()
        link_lines = None if links is None else [line.strip() for line in links]
        if link_lines is not None and len(link_lines) != len(rows):
            raise CorpusError(
                f"{name} has {len(rows)} lines and {len(link_lines)} lines of links; their numbers "
                "must be equal."
            )
        sentences = []
        for number, row in enumerate(rows, start=1):
            columns = [column.strip() for column in row.split("\t")]
            if link_lines is not None:
                columns = [*columns[:2], link_lines[number - 1]]
            try:
                sentences.append(_sentence_from_columns(columns, rows[0].count("\t") > 0))
            except ValueError as error:
                raise CorpusError(f"{name}, line {number}: {error}.") from error
        return cls(name, tuple(sentences))

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], links: str | os.PathLike[str] | None = None
    ) -> Corpus:
        """Read a file, also .gz, in the format of `of_lines`, and optionally a file of links.

        Raises:
            CorpusError: as `of_lines`, and for a file that is missing or not UTF-8.
        """
        return cls.of_lines(
            read_lines(path), Path(path).name, None if links is None else read_lines(links)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON; `from_dict` reads it."""
        return {"name": self.name, "target": self.target, "sentences": self._written}

    @cached_property
    def _written(self) -> list[list[Any]]:
        """The sentences as lists, computed once for all measurements over them."""
        return [
            [s.source, s.target, None if s.gold is None else s.gold.to_list()]
            for s in self.sentences
        ]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Corpus:
        """Restore a corpus from `to_dict`."""
        sentences = (
            Sentence(source, target, None if gold is None else Gold.from_list(gold))
            for source, target, gold in values["sentences"]
        )
        return cls(values["name"], tuple(sentences), values.get("target", ""))


NAMES = tuple(f"{kind}-{target}" for kind in ("ours", "linked") for target in LANGUAGES)
"""The names that `Corpus.named` accepts: "ours-fr", "linked-de" and so on."""


def own_corpus_for(target: str, n: int = DEFAULT_SENTENCES, *, symbols: bool = False) -> Corpus:
    """Return our sentences for a model that writes the language code `target`, as `bundled`.

    For a language without translations they have none: French translations are of no use for a
    model that writes Italian.
    """
    if target in LANGUAGES:
        return Corpus.bundled(n, symbols=symbols, target=target)
    corpus = Corpus.bundled(n, symbols=symbols)
    return Corpus(corpus.name, tuple(Sentence(sentence.source) for sentence in corpus.sentences))


def corpus_for(checkpoint: str | os.PathLike[str], vocabulary: Vocabulary) -> Corpus:
    """Return the default corpus of a checkpoint.

    A run gets its own validation pairs, because it may not know English. Another checkpoint gets
    our sentences with translations to the language that its model card names, or to French.
    """
    from transformer.checkpoint import CheckpointError, load_languages  # imports torch

    run = Path(checkpoint).resolve().parent
    if Path(checkpoint).name == "checkpoint" and (run / "config.json").is_file():
        return Corpus.of_run(run)
    if vocabulary.unk_id in vocabulary.encode(own_sentences.everyday()[0][0]):
        return Corpus.bundled(symbols=True)
    try:
        languages = load_languages(checkpoint)
    except CheckpointError:
        languages = None
    return own_corpus_for(languages[1] if languages else "fr")


def _sentence_from_columns(columns: list[str], paired: bool) -> Sentence:
    """Raise ValueError for a line of another kind than the first; the caller adds the line
    number."""
    if is_blank(columns[0]):
        raise ValueError("the line has no sentence; every line needs one")
    if (len(columns) > 1) != paired:
        tabs = "a tab, the first has none" if not paired else "no tab, the first has one"
        raise ValueError(f"it has {tabs}; every line is a sentence, or every line is a pair")
    if not paired:
        return Sentence(columns[0])
    source, target = columns[:2]
    if is_blank(target):
        raise ValueError("there is nothing after the tab; a pair needs both sides")
    if len(columns) < 3 or not columns[2][:1].isdecimal():
        return Sentence(source, target)  # ignore a third column that does not hold links
    words = tuple(source.split()), tuple(target.split())
    return Sentence(source, target, Gold(*words, *parse_links(columns[2])))


def _task_sentences(run: TaskRun) -> list[Sentence]:
    """Return the validation examples, generated again."""
    _, valid = split(TASKS[run.task], seed=run.training.seed, **run.options)
    return [
        Sentence(e.src, e.tgt)
        if e.alignment is None
        else Sentence(*own_sentences.grammar_pair(e, symbols=True))
        for e in valid
    ]


def _stored_sentences(run: Path) -> list[Sentence]:
    """Return the encoded validation pairs, decoded to text."""
    vocabulary = Vocabulary.load(run / "vocabulary.model")
    store = TokenStore.open(run / "valid.arrow", vocabulary)
    pairs = (store.pair(number) for number in range(min(MAX_SENTENCES, len(store))))
    return [Sentence(vocabulary.decode(src), vocabulary.decode(tgt)) for src, tgt in pairs]
