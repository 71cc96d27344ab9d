"""Corpora to measure over: sentences, with translations and gold links where known."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from transformer.analysis.corpora import bundled_sentences
from transformer.analysis.corpora.bundled_sentences import LANGUAGES
from transformer.analysis.corpora.gold import GoldAnnotations, parse_links
from transformer.text import TASKS, CorpusError, TokenStore, Vocabulary, pair_formats, split
from transformer.text.corpus import read_lines
from transformer.text.files import read_json
from transformer.text.pair_formats import FormatError
from transformer.text.visible import is_blank

MAX_SENTENCES = 5_000
"""Maximum number of sentences of a corpus; memory grows with their number and that of heads."""

DEFAULT_SENTENCES = 300
"""Default limit of sentences, for the bundled corpus and the validation pairs of a run."""


@dataclass(frozen=True)
class Sentence:
    """A source; its target, "" if the model is to translate it; its gold links, if known."""

    source: str
    target: str = ""
    gold: GoldAnnotations | None = None


@dataclass(frozen=True)
class Corpus:
    """Sentences to measure over; `hash` identifies the content, whatever the name.

    Attributes:
        target: language code of the translations of a bundled corpus, "fr" or "de"; "" for another
            corpus.
    """

    name: str
    sentences: tuple[Sentence, ...]
    target: str = ""

    def __post_init__(self) -> None:
        if not 1 <= len(self.sentences) <= MAX_SENTENCES:
            # `from_lines` reads no further
            count = f"more than {MAX_SENTENCES:,}" if self.sentences else "no"
            raise CorpusError(
                f"{self.name} has {count} sentences; a corpus has 1 to {MAX_SENTENCES:,}."
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
        """Return at most `n` of the bundled sentences.

        Everyday sentences come first; then, for French, sentences of the built-in grammar with
        exact gold links, and for German those of `linked_sentences`.

        Args:
            symbols: only sentences of the grammar, as in its task: "the black cat sleeps .".
            target: the language code, "fr" or "de".

        Raises:
            ValueError: for another language, or the grammar's symbols in German.
        """
        bundled_sentences.check_language(target)
        if symbols and target != "fr":
            raise ValueError(f'the grammar is English to French; it has no symbols in "{target}"')
        pairs = [] if symbols else bundled_sentences.everyday_sentences(target)[:n]
        if target == "fr":
            pairs += bundled_sentences.grammar_pairs(n - len(pairs), symbols=symbols)
        else:
            pairs += bundled_sentences.linked_sentences(target)[: n - len(pairs)]
        return cls("bundled sentences", tuple(Sentence(*pair) for pair in pairs), target)

    @classmethod
    def linked(cls, target: str = "fr") -> Corpus:
        """Return the bundled sentences with human-made links, for "fr" or "de"."""
        language = LANGUAGES.get(target, target)
        name = f"bundled sentences with human-made links, English to {language}"
        return cls(
            name,
            tuple(Sentence(*pair) for pair in bundled_sentences.linked_sentences(target)),
            target,
        )

    @classmethod
    def named(cls, name: str) -> Corpus | None:
        """Return a bundled corpus by its name in `NAMES`, or None: "linked-de" is `linked("de")`,
        "bundled-fr" is `bundled()`."""
        if name not in NAMES:
            return None
        kind, _, target = name.partition("-")
        return cls.linked(target) if kind == "linked" else cls.bundled(target=target)

    @classmethod
    def from_run(cls, folder: str | os.PathLike[str], limit: int = DEFAULT_SENTENCES) -> Corpus:
        """Return the first validation pairs of a training run, with gold links if its task has
        them.

        Raises:
            CorpusError: if the folder is not a run, or the run has not stored its pairs yet.
        """
        run = Path(folder)
        try:
            config = read_json(run / "config.json")
            sentences = (
                _task_sentences(config) if "task" in config["data"] else _stored_sentences(run)
            )
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise CorpusError(
                f"{run} has no readable validation pairs: {error}; choose another corpus."
            ) from error
        return cls("validation pairs of the run", tuple(sentences[:limit]))

    @classmethod
    def from_lines(
        cls, lines: Iterable[str], name: str, links: Iterable[str] | None = None
    ) -> Corpus:
        """Read lines of `source`, `source TAB target` or `source TAB target TAB links`, or pairs in
        another format of `transformer.text.pair_formats`.

        Args:
            name: the name of the corpus, used in error messages.
            links: a line of links per sentence, instead of the third column. Pharaoh's format,
                "0-0 1-2": a source word and a target word, both counted from 0 and separated by
                spaces; "1?2" or "1p2" is a possible link, not a sure one.

        Raises:
            CorpusError: naming the line, for a blank line, an invalid link, or lines with and
                without a tab; for a text without lines or with too many, and for JSON, HTML, XML
                and other formats.
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
        sentences: list[Sentence] = []
        for number, cells in _numbered_columns(rows, name):
            columns = [column.strip() for column in cells]
            if link_lines is not None and len(columns) < 2:
                raise CorpusError(
                    f"{name}, line {number} has no tab; links need pairs, a source, a tab and a "
                    "target."
                )
            if not sentences:
                paired = len(columns) > 1
            if link_lines is not None:
                columns = [*columns[:2], link_lines[number - 1]]
            try:
                sentences.append(_sentence_from_columns(columns, paired))
            except ValueError as error:
                raise CorpusError(f"{name}, line {number}: {error}.") from error
        return cls(name, tuple(sentences))

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], links: str | os.PathLike[str] | None = None
    ) -> Corpus:
        """Read a file, also .gz, in the format of `from_lines`, and optionally a file of links.

        Raises:
            CorpusError: as `from_lines`, and for a file that is missing or not UTF-8.
        """
        return cls.from_lines(
            read_lines(path), Path(path).name, None if links is None else read_lines(links)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON; `from_dict` reads it."""
        return {"name": self.name, "target": self.target, "sentences": self._sentence_lists}

    @cached_property
    def _sentence_lists(self) -> list[list[Any]]:
        """The sentences as lists for JSON, computed once."""
        return [
            [s.source, s.target, None if s.gold is None else s.gold.to_list()]
            for s in self.sentences
        ]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Corpus:
        """Restore a corpus from `to_dict`."""
        sentences = (
            Sentence(source, target, None if gold is None else GoldAnnotations.from_list(gold))
            for source, target, gold in values["sentences"]
        )
        return cls(values["name"], tuple(sentences), values.get("target", ""))


NAMES = tuple(f"{kind}-{target}" for kind in ("bundled", "linked") for target in LANGUAGES)
"""The names that `Corpus.named` accepts: "bundled-fr", "linked-de" and so on."""


def bundled_corpus_for(target: str, n: int = DEFAULT_SENTENCES, *, symbols: bool = False) -> Corpus:
    """Return `Corpus.bundled` for a model that translates into the language code `target`.

    If `target` is not one of `LANGUAGES`, the sentences have no translations.
    """
    if target in LANGUAGES:
        return Corpus.bundled(n, symbols=symbols, target=target)
    corpus = Corpus.bundled(n, symbols=symbols)
    return Corpus(corpus.name, tuple(Sentence(sentence.source) for sentence in corpus.sentences))


def corpus_for(checkpoint: str | os.PathLike[str], vocabulary: Vocabulary) -> Corpus:
    """Return the default corpus of a checkpoint.

    For the checkpoint of a run these are the run's validation pairs, because its source language
    may not be English. For another checkpoint they are the bundled sentences with translations into
    the target language of its model card, French by default.
    """
    from transformer.checkpoint import CheckpointError, load_languages  # imports torch

    run = Path(checkpoint).resolve().parent
    if Path(checkpoint).name == "checkpoint" and (run / "config.json").is_file():
        return Corpus.from_run(run)
    if vocabulary.unk_id in vocabulary.encode(bundled_sentences.everyday_sentences()[0][0]):
        return Corpus.bundled(symbols=True)
    try:
        languages = load_languages(checkpoint)
    except CheckpointError:
        languages = None
    return bundled_corpus_for(languages[1] if languages else "fr")


def _numbered_columns(rows: list[str], name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the columns of each row: source, target and links where there.
    Raises CorpusError for a text without a sentence or pair per line."""
    try:
        format = pair_formats.recognise(rows, name)
        for number, cells in islice(format.rows(rows), format.header, None):
            yield number, format.texts(cells)
    except FormatError as error:
        raise CorpusError(f"{name} {error}.") from error


def _sentence_from_columns(columns: list[str], paired: bool) -> Sentence:
    """Return the sentence of a line. Raises ValueError, without the line number, for an invalid
    line."""
    if is_blank(columns[0]):
        raise ValueError("the line has no sentence; every line needs one")
    if (len(columns) > 1) != paired:
        tabs = "no tab, but the first line has" if paired else "a tab, but the first line has not"
        raise ValueError(f"it has {tabs}; all lines need a tab, or none")
    if not paired:
        return Sentence(columns[0])
    source, target = columns[:2]
    if is_blank(target):
        raise ValueError("there is no text after the tab; a pair needs a source and a target")
    if len(columns) < 3 or not re.match(r"\d+(?![\d.]|$)", columns[2]):
        return Sentence(source, target)  # ignore a third column that does not hold links
    words = tuple(source.split()), tuple(target.split())
    return Sentence(source, target, GoldAnnotations(*words, *parse_links(columns[2])))


def _task_sentences(config: Mapping[str, Any]) -> list[Sentence]:
    """Return the validation examples of a task, generated from the run's seed.

    Args:
        config: content of the run's config.json.
    """
    task, seed = TASKS[config["data"]["task"]], config["training"]["seed"]
    _, valid = split(task, seed=seed, **config["data"]["options"])
    return [
        Sentence(e.src, e.tgt)
        if e.alignment is None
        else Sentence(*bundled_sentences.grammar_pair(e, symbols=True))
        for e in valid
    ]


def _stored_sentences(run: Path) -> list[Sentence]:
    """Return the encoded validation pairs, decoded to text."""
    vocabulary = Vocabulary.load(run / "vocabulary.model")
    store = TokenStore.open(run / "valid.arrow", vocabulary)
    pairs = (store.pair(number) for number in range(min(MAX_SENTENCES, len(store))))
    return [Sentence(vocabulary.decode(src), vocabulary.decode(tgt)) for src, tgt in pairs]
