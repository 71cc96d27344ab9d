"""The small grammar, compared with hand-written sentences and links, which are found by their
English.

A line of the file has English, then French, every French word with the indices of the English words
that it translates, counted from 0.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from transformer.text import TASKS, Example
from transformer.text.grammar.clauses import Preposition, Pronoun
from transformer.text.grammar.phrases import NounPhrases, OwnedPhrases, links
from transformer.text.grammar.sentences import Kind, kinds
from transformer.text.grammar.verbs import Verb
from transformer.text.grammar.words import Adjective

FRENCH = TASKS["french"]
LINES = (Path(__file__).parent / "french_by_hand.txt").read_text(encoding="utf-8").splitlines()


def parse_example(line: str) -> Example:
    english, french = line.split(" | ")
    words, links = [], []
    for j, item in enumerate(french.split()):
        word, _, positions = item.partition("/")
        words.append(word)
        links += [(int(i), j) for i in positions.split(",") if i]
    return Example(english, " ".join(words), tuple(sorted(links)))


def uses_only(choice: Any, words: set[str]) -> bool:
    """Return whether all English words of a choice are among these, to reduce the search."""
    match choice:
        case None:
            return True
        case str():
            return choice in words
        case Verb():
            forms = {choice.base, choice.third}
            if choice.base == "be":
                forms |= {"am", "is", "are"}
            return bool(forms & words) and set(choice.after) <= words
        case Pronoun() | Preposition() | Adjective():
            return set(choice.english.split()) <= words
    raise TypeError(choice)


def choice_numbers(choices: Any, words: set[str]) -> list[int]:
    """Return the numbers of the choices in a list that these words may come from."""
    if isinstance(choices, OwnedPhrases):
        nouns = [k for k, noun in enumerate(choices.nouns) if noun.english[0] in words]
        owners = choice_numbers(choices.owners, words) if nouns and "'s" in words else []
        return [owner * len(choices.nouns) + k for owner in owners for k in nouns]
    if isinstance(choices, NounPhrases):
        article = words | ({"a"} & {word[:1] for word in words & {"an"}})
        article |= {"some"} if "any" in words else set()
        matching = []
        for i, noun in enumerate(choices.nouns):
            if words.isdisjoint(noun.english):
                continue
            for j, determiner in enumerate(choices.determiners):
                if determiner.english in article and noun.english[determiner.plural] in words:
                    matching += [
                        (i * len(choices.determiners) + j) * len(choices.adjectives) + k
                        for k, adjective in enumerate(choices.adjectives)
                        if uses_only(adjective, words)
                    ]
        return matching
    return [k for k in range(len(choices)) if uses_only(choices[k], words)]


def sentences_with_english(
    kind: Kind, english: str, cache: dict[int, list[int]]
) -> list[tuple[int, str]]:
    """Return the number and the French of every sentence of a kind with this English. `cache`
    stores the results of `choice_numbers` for lists that kinds share."""
    words = set(english.split())
    for name, markers in (("future", {"going"}), ("can", {"can", "cannot"}), ("must", {"must"})):
        if (kind.fields.get("mode") == name) != bool(markers & words):
            return []
    if bool(kind.fields.get("question")) > ("?" in words):
        return []
    for name in ("often", "time"):
        if kind.fields.get(name, "") not in {"", *words}:
            return []
    lists = (kind.subjects, kind.verbs, kind.prepositions, kind.complements)
    possible: list[list[int]] = []
    for choices in lists:
        if id(choices) not in cache:
            cache[id(choices)] = choice_numbers(choices, words)
        possible.append(cache[id(choices)])
        if not possible[-1]:
            return []
    sentences = []
    for chosen in itertools.product(*possible):
        number, unit = 0, 1
        for index, choices in zip(chosen, lists, strict=True):
            number, unit = number + index * unit, unit * len(choices)
        src, tgt = kind.sentence(number)
        if " ".join(word.text for word in src) == english:
            sentences.append((number, " ".join(word.text for word in tgt)))
    return sentences


def test_each_known_sentence_is_generated_once() -> None:
    for expected in map(parse_example, LINES):
        cache: dict[int, list[int]] = {}
        sentences = [
            (kind, n)
            for kind in kinds(3)
            for n, _ in sentences_with_english(kind, expected.src, cache)
        ]
        assert len(sentences) == 1, expected
        src, tgt = sentences[0][0].sentence(sentences[0][1])
        assert " ".join(word.text for word in tgt) == expected.tgt
        assert links(src, tgt) == expected.alignment, expected


def test_sentences_are_counted_and_kinds_are_disjoint() -> None:
    """All sentences of kinds with up to 120, and 3,000 of the others, are distinct."""
    counts = [sum(kind.size for kind in kinds(level)) for level in (1, 2, 3)]
    assert counts == sorted(set(counts))
    assert FRENCH.count() == counts[-1]
    kind_of_sentence: dict[str, str] = {}
    total = 0
    for kind in kinds(3):
        if kind.size <= 120:
            for number in range(kind.size):
                src, tgt = (" ".join(w.text for w in side) for side in kind.sentence(number))
                assert src not in kind_of_sentence, src
                kind_of_sentence[src] = tgt
            total += kind.size
    assert len(kind_of_sentence) == total > 2000
    examples = FRENCH.pairs(3_000, 8)
    assert len({example.src for example in examples}) == 3_000
    assert all(
        kind_of_sentence.get(example.src, example.tgt) == example.tgt for example in examples
    )


def test_each_level_adds_its_constructions() -> None:
    first = {word for e in FRENCH.pairs(2000, 1, level=1) for word in e.src.split()}
    second = {word for e in FRENCH.pairs(2000, 1, level=2) for word in e.src.split()}
    assert not first & {"not", "any", "'s", "?", "never", "can", "often"}
    assert {"not", "any", "'s"} <= second
    assert not second & {"?", "never", "can", "going", "who", "often", "today"}
