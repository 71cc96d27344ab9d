"""The bundled sentences: every line is complete, and the links are not the diagonal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from transformer.analysis.corpora import NAMES, Corpus, bundled_sentences
from transformer.analysis.corpora.gold import GoldAnnotations, parse_links

FOLDER = Path(bundled_sentences.__file__).parent
MIN_SENTENCES = {"fr": 100, "de": 60}
MIN_CROSSING = 0.25
# Words that may have no counterpart: articles and similar words, commas, pronouns, "for".
MAY_HAVE_NO_COUNTERPART = {
    "fr": {"le", "la", "les", "l'", "d'", "de", "des", "du", "en", "à", "pendant"},
    "de": {"den"},
    "en": {"a", "the", "i", "for"},
}


def lines(target: str) -> list[list[str]]:
    text = (FOLDER / f"linked-{target}.tsv").read_text(encoding="utf-8")
    return [line.split("\t") for line in text.removesuffix("\n").split("\n")]


def golds(target: str) -> Iterator[GoldAnnotations]:
    for _, _, gold in bundled_sentences.linked_sentences(target):
        assert gold is not None
        yield gold


@pytest.mark.parametrize("target", bundled_sentences.LANGUAGES)
def test_every_row_is_a_pair_with_sorted_links(target: str) -> None:
    rows = lines(target)
    assert len(rows) >= MIN_SENTENCES[target]
    for number, row in enumerate(rows, start=1):
        assert len(row) == 3, number
        for side in row[:2]:
            assert side == " ".join(side.split()), number
            assert side[0].isupper(), number
            assert side[-1] in ".?!", number
            assert not {"||", "| ", " |"} & {side[at : at + 2] for at in range(len(side))}, number
        parts = row[2].split()
        assert len(parts) == len(set(parts)), number
        assert all(re.fullmatch(r"\d+[-p]\d+|\d+-|-\d+", part) for part in parts), number


def words_without_counterpart(links: str) -> tuple[set[int], set[int]]:
    """Return the positions of the source words and target words that are marked without a link."""
    parts = links.split()
    return (
        {int(part[:-1]) for part in parts if part.endswith("-")},
        {int(part[1:]) for part in parts if part.startswith("-")},
    )


@pytest.mark.parametrize("target", bundled_sentences.LANGUAGES)
def test_every_word_is_linked_or_marked_and_only_small_words_are_marked(target: str) -> None:
    for gold, row in zip(golds(target), lines(target), strict=True):
        unlinked = words_without_counterpart(row[2])
        sides = (gold.source_words, gold.target_words)
        for side, (words, marked) in enumerate(zip(sides, unlinked, strict=True)):
            linked = {link[side] for link in gold.possible}
            assert linked | marked == set(range(len(words))), words
            assert not linked & marked, words
            allowed = MAY_HAVE_NO_COUNTERPART["en" if side == 0 else target]
            for position in marked:
                assert words[position].lower() in allowed | {","}, (words, words[position])


@pytest.mark.parametrize("target", bundled_sentences.LANGUAGES)
def test_punctuation_is_linked_to_punctuation(target: str) -> None:
    """In every sentence a link that is off by one would link a full stop or comma to a word."""
    for gold in golds(target):
        for i, j in gold.possible:
            is_punctuation = [
                not re.search(r"\w", w) for w in (gold.source_words[i], gold.target_words[j])
            ]
            # The "'" of "neighbours'" has a word as its translation.
            assert is_punctuation[0] == is_punctuation[1] or gold.source_words[i] == "'", gold
        assert (len(gold.source_words) - 1, len(gold.target_words) - 1) in gold.sure


@pytest.mark.parametrize("target", bundled_sentences.LANGUAGES)
def test_the_links_differ_from_the_diagonal(target: str) -> None:
    """Crossing links, of which a grammar of short statements has few."""

    def crossing(all_gold: list[GoldAnnotations]) -> float:
        links = [gold.possible for gold in all_gold]
        crossed = [any((i - k) * (j - n) < 0 for k, n in each) for each in links for i, j in each]
        return sum(crossed) / len(crossed)

    assert crossing(list(golds(target))) > MIN_CROSSING
    grammar = [pair[2] for pair in bundled_sentences.grammar_pairs(200) if pair[2] is not None]
    assert crossing(list(golds(target))) > crossing(grammar)


def test_words_without_a_counterpart_have_no_links() -> None:
    source, _, links = lines("fr")[0]
    assert "-8" in links.split()
    with pytest.raises(ValueError, match="is not a link"):
        parse_links(links)
    assert source.startswith("My aunt")
    assert words_without_counterpart(links) == (set(), {8})


def test_every_language_has_its_corpora() -> None:
    french, german = (Corpus.bundled(target=code) for code in bundled_sentences.LANGUAGES)
    assert (french.target, german.target) == ("fr", "de")
    assert french == Corpus.bundled() == Corpus.named("bundled-fr")
    assert [s.source for s in german.sentences[:48]] == [s.source for s in french.sentences[:48]]
    assert german.sentences[4].target == "Sie trinkt abends nie Kaffee."
    assert german.sentences[48:] == Corpus.linked("de").sentences
    assert [Corpus.named(name) is not None for name in NAMES] == [True] * 4
    assert Corpus.named("mine.tsv") is None
    for code in bundled_sentences.LANGUAGES:
        assert Corpus.linked(code).n_gold == len(Corpus.linked(code)) >= MIN_SENTENCES[code]
    with pytest.raises(ValueError, match='"fr" \\(French\\), "de" \\(German\\), not "it"'):
        Corpus.bundled(target="it")
