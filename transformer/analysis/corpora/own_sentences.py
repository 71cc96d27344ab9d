"""Sentences of our own in two languages: everyday ones, the grammar's, and some linked by hand.

They lie beside this file, a line each, columns between tabs: `everyday.tsv` (English, French,
German), `linked-fr.tsv` and `linked-de.tsv` (English, the other language, links).

How the linked ones are written: "|" stands where two words touch, "Elle l'|a vu|.", and is no part
of the text; words count from 0. `3-4` is a sure link, `3p4` a possible one, `3-` is a source word
and `-4` a target word that nothing corresponds to. How they are linked:

- sure: each word translates the other, also where one is said in several ("ne … pas", "get up",
  "Küchentisch"), and "du" is "of" and "the";
- possible: what one language needs to say what the other says without ("do", "will", the "a" of
  "a vendu", the "de" before an infinitive); and every word of a phrase that does not split with
  every word of what says the same ("cats and dogs", "des cordes");
- nothing: an article or a comma that the other language does not put, "that" unsaid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from transformer.analysis.corpora.gold import Gold, parse_links
from transformer.text import TASKS, Example

LANGUAGES = {"fr": "French", "de": "German"}
"""Those that our English sentences are translated to, by their codes."""

Pair = tuple[str, str, Gold | None]
"""Source, target, and their links if they are known."""

_BARE = re.compile(r"\d+-|-\d+")


def check_language(target: str) -> None:
    """Raises ValueError for a language that our sentences are not translated to."""
    if target not in LANGUAGES:
        known = ", ".join(f'"{code}" ({name})' for code, name in LANGUAGES.items())
        raise ValueError(f'our sentences are translated to {known}, not to "{target}"')


def everyday(target: str = "fr") -> list[Pair]:
    """Everyday sentences without links. Raises ValueError for a language that there is not."""
    check_language(target)
    column = 1 + list(LANGUAGES).index(target)
    return [(row[0], row[column], None) for row in _rows("everyday")]


@cache
def linked(target: str = "fr") -> tuple[Pair, ...]:
    """Sentences with reordering, negation, idioms and contractions, linked by hand. Raises
    ValueError for a language that there is not."""
    check_language(target)
    return tuple(
        (_text(source), _text(words), _gold(source, words, links))
        for source, words, links in _rows(f"linked-{target}")
    )


def without_counterpart(target: str = "fr") -> list[tuple[frozenset[int], frozenset[int]]]:
    """The source words and the target words, of every sentence of `linked`, that are marked as
    corresponding to nothing."""
    found = []
    for _, _, links in _rows(f"linked-{target}"):
        bare = [part for part in links.split() if _BARE.fullmatch(part)]
        source = frozenset(int(part[:-1]) for part in bare if part.endswith("-"))
        found.append((source, frozenset(int(part[1:]) for part in bare if part[0] == "-")))
    return found


def drawn(n: int, *, symbols: bool = False) -> list[Pair]:
    """English and French sentences of our grammar, with exact links; see `of_grammar`."""
    return [of_grammar(example, symbols=symbols) for example in TASKS["french"].pairs(n, 1)]


def of_grammar(example: Example, *, symbols: bool) -> Pair:
    """A sentence of the grammar: as its task writes it (`symbols`), or as people do."""
    words, texts = [], []
    for side in (example.src.split(), example.tgt.split()):
        if not symbols:
            side[0] = side[0][0].upper() + side[0][1:]
        text = " ".join(side)
        if not symbols:  # "the boy 's cat .", "l' ami"; French keeps its blank before "?"
            text = text.replace("' ", "'").replace(" '", "'").replace(" .", ".")
        words.append(tuple(side))
        texts.append(text)
    if not symbols:
        texts[0] = texts[0].replace(" ?", "?")
    links = frozenset(example.alignment or ())
    return texts[0], texts[1], Gold(words[0], words[1], links, links, example.dependencies)


def _rows(name: str) -> Iterator[list[str]]:
    text = Path(__file__).with_name(f"{name}.tsv").read_text(encoding="utf-8")
    return (line.split("\t") for line in text.splitlines())


def _words(marked: str) -> tuple[str, ...]:
    return tuple(marked.replace("|", " ").split())


def _text(marked: str) -> str:
    return marked.replace("|", "")


def _gold(source: str, target: str, links: str) -> Gold:
    pairs = " ".join(part for part in links.split() if not _BARE.fullmatch(part))
    return Gold(_words(source), _words(target), *parse_links(pairs))
