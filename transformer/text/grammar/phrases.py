"""Noun phrases in both languages, with keys on every word that give the gold alignment.

A word has keys such as "object.noun"; a source and a target word are aligned if they share one.
Contracted words keep the keys of both: "du" is aligned with the partners of "de" and of "le".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from transformer.text.grammar.words import Adjective, Noun, starts_with_vowel


class Word(NamedTuple):
    """A word of one side with its alignment keys."""

    text: str
    keys: tuple[str, ...]


Words = list[Word]


def with_keys(text: str, *keys: str) -> Words:
    """Return the words of `text`, all with the same keys."""
    return [Word(word, keys) for word in text.split()]


class Determiner(NamedTuple):
    """An English determiner, whether it is plural, and its frequency."""

    english: str
    plural: bool
    weight: int = 1


THE, THE_PLURAL = Determiner("the", False, 7), Determiner("the", True, 5)
A, SOME_PLURAL = Determiner("a", False, 5), Determiner("some", True, 3)
SOME = Determiner("some", False, 7)
_POSSESSIVES = {"my": "mon ma mes", "your": "ton ta tes", "his": "son sa ses", "her": "son sa ses"}
_POSSESSIVES |= {"our": "notre notre nos", "their": "leur leur leurs"}
_OTHER_SINGULAR = tuple(Determiner(word, False) for word in ("this", *_POSSESSIVES))
_OTHER_PLURAL = tuple(Determiner(word, True) for word in ("these", *_POSSESSIVES, "two", "three"))
SINGULAR = (THE, A, *_OTHER_SINGULAR)
# After "à" and "de", where "some" would need another French form ("of some cats": "de chats").
DEFINITE = (THE, A, *_OTHER_SINGULAR, THE_PLURAL, *_OTHER_PLURAL)
COUNTED = (*DEFINITE, SOME_PLURAL, Determiner("many", True))
MASS = (THE, SOME, *_OTHER_SINGULAR)
OWNERS = (THE, *_OTHER_SINGULAR)


class NounPhraseParts(NamedTuple):
    """The choices that determine a noun phrase."""

    noun: Noun
    determiner: Determiner
    adjective: Adjective | None = None


class OwnedNoun(NamedTuple):
    """A noun with its owner: "the boy 's cat"."""

    owner: NounPhraseParts
    noun: Noun


@dataclass(frozen=True)
class NounPhrases:
    """All phrases of these nouns, determiners and adjectives (None: no adjective), by number."""

    nouns: Sequence[Noun]
    determiners: Sequence[Determiner]
    adjectives: Sequence[Adjective | None] = (None,)

    def __len__(self) -> int:
        return len(self.nouns) * len(self.determiners) * len(self.adjectives)

    def __getitem__(self, number: int) -> NounPhraseParts:
        number, adjective = divmod(number, len(self.adjectives))
        noun, determiner = divmod(number, len(self.determiners))
        return NounPhraseParts(
            self.nouns[noun], self.determiners[determiner], self.adjectives[adjective]
        )

    def draw(self, rng: Random) -> int:
        """Return a random number, with frequent determiners more often."""
        noun, adjective = rng.randrange(len(self.nouns)), rng.randrange(len(self.adjectives))
        weights = [determiner.weight for determiner in self.determiners]
        (determiner,) = rng.choices(range(len(weights)), weights)
        return (noun * len(self.determiners) + determiner) * len(self.adjectives) + adjective


@dataclass(frozen=True)
class OwnedPhrases:
    """All phrases of these owners and nouns, by number."""

    owners: NounPhrases
    nouns: Sequence[Noun]

    def __len__(self) -> int:
        return len(self.owners) * len(self.nouns)

    def __getitem__(self, number: int) -> OwnedNoun:
        owner, noun = divmod(number, len(self.nouns))
        return OwnedNoun(self.owners[owner], self.nouns[noun])

    def draw(self, rng: Random) -> int:
        """Return a random number, as for the owners."""
        return self.owners.draw(rng) * len(self.nouns) + rng.randrange(len(self.nouns))


class Phrase(NamedTuple):
    """A noun phrase in both languages."""

    english: Words
    french: Words
    feminine: bool
    plural: bool


def noun_phrase(parts: NounPhraseParts, role: str, negated: bool = False) -> Phrase:
    """Return a noun phrase. `negated`: it is the object of a negated verb, where "un" is "de"."""
    noun, determiner, adjective = parts
    plural = determiner.plural
    middle = with_keys(adjective.english, f"{role}.adjective") if adjective else []
    after = [*middle, *with_keys(noun.english[plural], f"{role}.noun")]
    article = determiner.english
    if article == "a" and after[0].text[0] in "aeiou":
        article = "an"
    elif article == "some" and negated:
        article = "any"
    english = [*with_keys(article, f"{role}.determiner"), *after]

    french = with_keys(noun.french[plural], f"{role}.noun")
    if adjective:
        form = adjective.agree(noun.feminine, plural)
        if adjective.before and not noun.feminine and not plural:
            form = adjective.liaison if starts_with_vowel(french[0].text) else form
        index = 0 if adjective.before else len(french)
        french[index:index] = with_keys(form, f"{role}.adjective")
    adjective_first = bool(adjective and adjective.before)
    words = _determiner(determiner, noun.feminine, french[0].text, negated, adjective_first)
    return Phrase(
        english, [*with_keys(words, f"{role}.determiner"), *french], noun.feminine, plural
    )


def _determiner(
    determiner: Determiner, feminine: bool, following: str, negated: bool, adjective_follows: bool
) -> str:
    """Return the French determiner before the word `following`, an adjective or a noun."""
    name, plural, _ = determiner
    vowel = starts_with_vowel(following)
    if name in ("two", "three", "many"):
        return {"two": "deux", "three": "trois", "many": "beaucoup de"}[name]
    if name in _POSSESSIVES:
        masculine, feminine_form, plural_form = _POSSESSIVES[name].split()
        return plural_form if plural else feminine_form if feminine and not vowel else masculine
    if name in ("a", "some") and negated:
        return "de"
    if name == "a":
        return "une" if feminine else "un"
    if name == "some" and plural:
        return "de" if adjective_follows else "des"
    if name in ("this", "these"):
        return "ces" if plural else "cette" if feminine else "cet" if vowel else "ce"
    article = "les" if plural else "la" if feminine else "le"
    return f"de {article}" if name == "some" else article


def owned_phrase(owned: OwnedNoun, role: str) -> Phrase:
    """Return "the boy 's cat"; the French article before the noun is not aligned."""
    owner = noun_phrase(owned.owner, f"{role}.owner")
    noun = owned.noun
    noun_key = f"{role}.noun"
    english = [
        *owner.english,
        *with_keys("'s", f"{role}.of"),
        *with_keys(noun.english[0], noun_key),
    ]
    article = with_keys("la" if noun.feminine else "le")
    french = [
        *article,
        *with_keys(noun.french[0], noun_key),
        *with_keys("de", f"{role}.of"),
        *owner.french,
    ]
    return Phrase(english, french, noun.feminine, False)


_ELIDED = {"le", "la", "je", "ne", "de", "que", "me", "te"}
_MERGED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}


def french_surface(words: Words) -> Words:
    """Apply elision (l', n', qu'), then the contractions au, aux, du, des."""
    elided: Words = []
    for word, next_word in zip(words, [*words[1:], Word(".", ())], strict=True):
        elides = word.text in _ELIDED and starts_with_vowel(next_word.text)
        if elides or (word.text == "ce" and next_word.text == "est"):
            word = Word(word.text[:-1] + "'", word.keys)
        elided.append(word)
    return list(_merge(elided))


def _merge(words: Words) -> Iterator[Word]:
    pending: Word | None = None
    for word in words:
        if pending is not None:
            merged = _MERGED.get((pending.text, word.text))
            if merged:
                word = Word(merged, pending.keys + word.keys)
            else:
                yield pending
        pending = word
    if pending is not None:
        yield pending


def links(src: Words, tgt: Words) -> tuple[tuple[int, int], ...]:
    """Return the position pairs of all words that share a key, sorted."""
    positions: dict[str, list[int]] = {}
    for j, word in enumerate(tgt):
        for key in word.keys:
            positions.setdefault(key, []).append(j)
    linked = {
        (i, j) for i, word in enumerate(src) for key in word.keys for j in positions.get(key, ())
    }
    return tuple(sorted(linked))
