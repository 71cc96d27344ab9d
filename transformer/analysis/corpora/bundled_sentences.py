"""The bundled sentence pairs: everyday ones, the grammar's, and some with human-made links.

Those of the grammar are in `transformer/text/tasks/french.tsv`. The others are next to this file,
one per line with tab-separated columns: `everyday.tsv` (English, French, German), `linked-fr.tsv`
and `linked-de.tsv` (English, the other language, links).

Format of the linked sentences: "|" separates words that are written without a space, as in "Elle
l'|a vu|."; words are counted from 0. `3-4` is a sure link, `3p4` a possible one, `3-` is a source
word and `-4` a target word without a counterpart. Annotation rules:

- sure: the words translate each other; one word may have several such links ("ne … pas", "get up",
  "Küchentisch", "du" for "of" and "the");
- possible: words that only one language needs ("do", "will", the "a" of "a vendu", the "de" before
  an infinitive), and idioms that cannot be split, each word with every word of the other phrase
  ("cats and dogs", "des cordes");
- no link: an article or a comma that the other language does not use, an omitted "that".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from transformer.analysis.corpora.gold import GoldAnnotations, parse_links
from transformer.text import Example
from transformer.text.tasks.french import french_examples

LANGUAGES = {"fr": "French", "de": "German"}
"""Languages that the English sentences are translated into, by code."""

Pair = tuple[str, str, GoldAnnotations | None]
"""Source, target, and their links if known."""

_BARE = re.compile(r"\d+-|-\d+")


def check_language(target: str) -> None:
    """Raise ValueError for a language without translations of the bundled sentences."""
    if target not in LANGUAGES:
        languages = ", ".join(f'"{code}" ({name})' for code, name in LANGUAGES.items())
        raise ValueError(f'the bundled sentences are translated into {languages}, not "{target}"')


def everyday_sentences(target: str = "fr") -> list[Pair]:
    """Return everyday sentences without links. Raises ValueError for an unknown language."""
    check_language(target)
    column = 1 + list(LANGUAGES).index(target)
    return [(row[0], row[column], None) for row in _rows("everyday")]


@cache
def linked_sentences(target: str = "fr") -> tuple[Pair, ...]:
    """Return sentences with reordering, negation, idioms and contractions, with human-made links.

    Raises:
        ValueError: for an unknown language.
    """
    check_language(target)
    return tuple(
        (_text(source), _text(translation), _gold(source, translation, links))
        for source, translation, links in _rows(f"linked-{target}")
    )


def grammar_pairs(n: int, *, symbols: bool = False) -> list[Pair]:
    """Return English and French sentences of the built-in grammar with exact links."""
    return [grammar_pair(example, symbols=symbols) for example in french_examples()[:n]]


def grammar_pair(example: Example, *, symbols: bool) -> Pair:
    """Return a sentence of the grammar: with `symbols`, tokens separated by spaces as in its task,
    otherwise normal spelling."""
    words, texts = [], []
    for side in (example.src.split(), example.tgt.split()):
        if not symbols:
            side[0] = side[0][0].upper() + side[0][1:]
        text = " ".join(side)
        if not symbols:  # "the boy 's cat .", "l' ami"; French keeps its space before "?"
            text = text.replace("' ", "'").replace(" '", "'").replace(" .", ".")
        words.append(tuple(side))
        texts.append(text)
    if not symbols:
        texts[0] = texts[0].replace(" ?", "?")
    links = frozenset(example.alignment or ())
    return (
        texts[0],
        texts[1],
        GoldAnnotations(words[0], words[1], links, links, example.dependencies),
    )


def _rows(name: str) -> Iterator[list[str]]:
    text = Path(__file__).with_name(f"{name}.tsv").read_text(encoding="utf-8")
    return (line.split("\t") for line in text.splitlines())


def _words(marked_text: str) -> tuple[str, ...]:
    return tuple(marked_text.replace("|", " ").split())


def _text(marked_text: str) -> str:
    return marked_text.replace("|", "")


def _gold(source: str, target: str, links: str) -> GoldAnnotations:
    pairs = " ".join(part for part in links.split() if not _BARE.fullmatch(part))
    return GoldAnnotations(_words(source), _words(target), *parse_links(pairs))
