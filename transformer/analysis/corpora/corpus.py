"""What a head is measured over: sentences, with their translations and gold links where known."""

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
"""Sentences of one corpus: what is kept of each grows with all heads of the model."""

DEFAULT_SENTENCES = 300
"""Sentences of the bundled corpus, and of a run's validation set, if nothing else is asked for."""


@dataclass(frozen=True)
class Sentence:
    """A source; its target, "" for whatever the model makes of it; its gold links, if known."""

    source: str
    target: str = ""
    gold: Gold | None = None


@dataclass(frozen=True)
class Corpus:
    """Sentences to measure over; `hash` is another for every other content, whatever the name.

    Attributes:
        target: the code of the language that its sentences are translated to, "fr" or "de", if
            they are ours; "" for all others.
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
        """16 hexadecimal digits of the texts and links."""
        content = self.to_dict()["sentences"]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    def __len__(self) -> int:
        return len(self.sentences)

    def first(self, n: int) -> Corpus:
        """The corpus cut to its first `n` sentences."""
        return Corpus(self.name, self.sentences[:n], self.target)

    @property
    def n_gold(self) -> int:
        """How many sentences have gold links."""
        return sum(sentence.gold is not None for sentence in self.sentences)

    @classmethod
    def bundled(
        cls, n: int = DEFAULT_SENTENCES, *, symbols: bool = False, target: str = "fr"
    ) -> Corpus:
        """Our own sentences: everyday ones; then, to French, those of our grammar with exact gold
        links, and to German, of which there is no grammar, those of `linked`, so fewer than `n`.

        Args:
            symbols: the grammar's alone, as its task writes them: "the black cat sleeps .".
            target: the language's code, "fr" or "de".

        Raises:
            ValueError: for another language, or the grammar's symbols in German.
        """
        own_sentences.check_language(target)
        if symbols and target != "fr":
            raise ValueError(f'the grammar is English to French; it has no symbols in "{target}"')
        pairs = [] if symbols else own_sentences.everyday(target)[:n]
        if target == "fr":
            pairs += own_sentences.drawn(n - len(pairs), symbols=symbols)
        else:
            pairs += own_sentences.linked(target)[: n - len(pairs)]
        return cls("our own sentences", tuple(Sentence(*pair) for pair in pairs), target)

    @classmethod
    def linked(cls, target: str = "fr") -> Corpus:
        """Our sentences that are linked by hand, to "fr" or "de"; errors as of `own_sentences`."""
        name = f"our sentences linked by hand, English to {LANGUAGES.get(target, target)}"
        return cls(name, tuple(Sentence(*pair) for pair in own_sentences.linked(target)), target)

    @classmethod
    def named(cls, name: str) -> Corpus | None:
        """One of `NAMES`, or None: "linked-de" is `linked("de")`, "ours-fr" `bundled()`."""
        if name not in NAMES:
            return None
        what, _, target = name.partition("-")
        return cls.linked(target) if what == "linked" else cls.bundled(target=target)

    @classmethod
    def of_run(cls, folder: str | os.PathLike[str], most: int = DEFAULT_SENTENCES) -> Corpus:
        """The first validation pairs of a training run, with gold links where its task has them.
        Raises CorpusError if the folder is no run, or its text is not prepared."""
        run = Path(folder)
        try:
            asked = parse(read_json(run / "config.json"))
            sentences = _of_task(asked) if isinstance(asked, TaskRun) else _of_store(run)
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise CorpusError(
                f"{run} has no validation pairs to read: {error}; choose another corpus."
            ) from error
        return cls("validation pairs of the run", tuple(sentences[:most]))

    @classmethod
    def of_lines(
        cls, lines: Iterable[str], name: str, links: Iterable[str] | None = None
    ) -> Corpus:
        """A sentence a line, or `source TAB target`, or these with a third column of links.

        Args:
            name: what errors call the text.
            links: a line for each sentence in Pharaoh's format, "0-0 1-2": a source word and a
                target word, counted from 0, words being what stands between blanks; "1?2" or
                "1p2" is a link that is possible, not sure.

        Raises:
            CorpusError: naming the line, for a blank one, one that is not like the first, or a
                link that is none; for a text without a line or with too many.
        """
        rows = [line.strip("\r\n") for line in islice(lines, MAX_SENTENCES + 1)]
        while rows and is_blank(rows[-1]):
            rows.pop()
        given = None if links is None else [line.strip() for line in links]
        if given is not None and len(given) != len(rows):
            raise CorpusError(f"{name} has {len(rows)} lines, its links {len(given)}; as many go.")
        made = []
        for number, row in enumerate(rows, start=1):
            columns = [column.strip() for column in row.split("\t")]
            if given is not None:
                columns = [*columns[:2], given[number - 1]]
            try:
                made.append(_of_columns(columns, rows[0].count("\t") > 0))
            except ValueError as error:
                raise CorpusError(f"{name}, line {number}: {error}.") from error
        return cls(name, tuple(made))

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], links: str | os.PathLike[str] | None = None
    ) -> Corpus:
        """A file, .gz too, as `of_lines` takes it, and a file of its links if there is one. Raises
        CorpusError as `of_lines`, and for a file that is missing or no UTF-8."""
        return cls.of_lines(
            read_lines(path), Path(path).name, None if links is None else read_lines(links)
        )

    def to_dict(self) -> dict[str, Any]:
        """For a file; `from_dict` reads it back."""
        return {"name": self.name, "target": self.target, "sentences": self._written}

    @cached_property
    def _written(self) -> list[list[Any]]:
        """The sentences as lists, once for all that is asked over them."""
        return [
            [s.source, s.target, None if s.gold is None else s.gold.to_list()]
            for s in self.sentences
        ]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Corpus:
        """The inverse of `to_dict`."""
        made = (
            Sentence(source, target, None if gold is None else Gold.from_list(gold))
            for source, target, gold in values["sentences"]
        )
        return cls(values["name"], tuple(made), values.get("target", ""))


NAMES = tuple(f"{what}-{target}" for what in ("ours", "linked") for target in LANGUAGES)
"""What `Corpus.named` knows: "ours-fr", "linked-de" and so on."""


def ours_for(target: str, n: int = DEFAULT_SENTENCES, *, symbols: bool = False) -> Corpus:
    """Our sentences as they fit a model that writes the language `target`, its code: as `bundled`,
    and without translations where we have none, for French tells nothing of one that writes
    Italian."""
    if target in LANGUAGES:
        return Corpus.bundled(n, symbols=symbols, target=target)
    found = Corpus.bundled(n, symbols=symbols)
    return Corpus(found.name, tuple(Sentence(each.source) for each in found.sentences))


def corpus_for(checkpoint: str | os.PathLike[str], vocabulary: Vocabulary) -> Corpus:
    """What to measure a checkpoint over if nothing is said: a run's own validation pairs, for it
    may know no English; else our sentences for the language that its card says it writes, or
    those to French."""
    from transformer.checkpoint import CheckpointError, load_languages  # which is torch

    run = Path(checkpoint).resolve().parent
    if Path(checkpoint).name == "checkpoint" and (run / "config.json").is_file():
        return Corpus.of_run(run)
    if vocabulary.unk_id in vocabulary.encode(own_sentences.everyday()[0][0]):
        return Corpus.bundled(symbols=True)
    try:
        languages = load_languages(checkpoint)
    except CheckpointError:
        languages = None
    return ours_for(languages[1] if languages else "fr")


def _of_columns(columns: list[str], paired: bool) -> Sentence:
    """Raises ValueError for a line that is not like the first, without saying which line."""
    if is_blank(columns[0]):
        raise ValueError("there is no sentence; every line needs one")
    if (len(columns) > 1) != paired:
        tabs = "a tab, the first has none" if not paired else "no tab, the first has one"
        raise ValueError(f"it has {tabs}; every line is a sentence, or every line is a pair")
    if not paired:
        return Sentence(columns[0])
    source, target = columns[:2]
    if is_blank(target):
        raise ValueError("there is nothing after the tab; a pair needs both sides")
    if len(columns) < 3 or not columns[2][:1].isdecimal():
        return Sentence(source, target)  # a column of another kind is left alone, as elsewhere
    words = tuple(source.split()), tuple(target.split())
    return Sentence(source, target, Gold(*words, *parse_links(columns[2])))


def _of_task(run: TaskRun) -> list[Sentence]:
    """The validation examples, drawn again."""
    _, valid = split(TASKS[run.task], seed=run.training.seed, **run.options)
    return [
        Sentence(e.src, e.tgt)
        if e.alignment is None
        else Sentence(*own_sentences.of_grammar(e, symbols=True))
        for e in valid
    ]


def _of_store(run: Path) -> list[Sentence]:
    """The encoded validation pairs, as text again."""
    vocabulary = Vocabulary.load(run / "vocabulary.model")
    store = TokenStore.open(run / "valid.arrow", vocabulary)
    pairs = (store.pair(number) for number in range(min(MAX_SENTENCES, len(store))))
    return [Sentence(vocabulary.decode(src), vocabulary.decode(tgt)) for src, tgt in pairs]
