"""The grammatical gender of a translated occupation, by a rule that can be checked by hand.

1. The occupation's noun is the target word that the aligner head links with it. Of several, a noun
   from the lists of `nouns` comes first, then the one with the largest score.
2. If that noun is in the lists and its form shows a gender ("infirmière", "Lehrerin"), it decides.
3. If it has one gender for everybody ("la victime", "die Person"), the gender is undecided.
4. Otherwise the article directly before it decides, or the one before an adjective, unless it
   shows no gender ("l'", "les", German "der" after the first word).

A noun that is not in the lists may be a wrong translation ("la maison" for "the housekeeper"). Its
article is read, as the published evaluation does, but the result is marked: it says which gender
the words have, not that a person of this gender is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transformer.analysis.alignment.aligner_head import AlignerHead
from transformer.analysis.alignment.sentence_alignment import align_words
from transformer.analysis.gender.nouns import (
    ARTICLES,
    LANGUAGES,
    Gender,
    may_be_noun,
    noun_class,
)
from transformer.analysis.gender.sentences import WORD
from transformer.inference import Trace, Translator
from transformer.languages import language_name

NOT_ALIGNED = "no word is aligned with it"
ONE_GENDER = "the noun has one gender for everybody"
NO_ARTICLE = "no article before the noun"
SAME_FORM = "the article shows no gender"
UNDECIDED = (NOT_ALIGNED, ONE_GENDER, NO_ARTICLE, SAME_FORM)
"""Reasons why a gender cannot be decided."""
MAX_ADJECTIVES = 1
"""Maximum number of words between article and noun."""


@dataclass(frozen=True)
class OccupationGender:
    """The gender of one occupation in one translation.

    Attributes:
        gender: None if it cannot be decided.
        noun, article: positions in the words of the translation; -1 if it has no such word.
        person: whether the noun is in the lists of words for people (`nouns`).
        reason: why the gender is not decided, one of `UNDECIDED`; "" if it is decided.
    """

    gender: Gender | None
    noun: int
    article: int
    person: bool
    reason: str = ""


def check_language(code: str) -> None:
    """Raise ValueError for a target language whose articles are unknown."""
    if code not in LANGUAGES:
        names = " and ".join(language_name(supported) for supported in LANGUAGES)
        language = language_name(code) if code else "an unknown language"
        raise ValueError(
            f"the gender of a translated occupation can be read in {names}, not in {language}"
        )


def read_gender(language: str, words: Sequence[str], noun: int) -> OccupationGender:
    """Return the gender that the noun at a position of a translation shows; steps 2 to 4 above.

    Args:
        words: as `WORD` splits the translation.
        noun: position of the noun; -1 if none is aligned.
    """
    if noun < 0:
        return OccupationGender(None, -1, -1, False, NOT_ALIGNED)
    noun_gender = noun_class(language, words[noun])
    article = _article(language, words, noun)
    listed = noun_gender is not None
    if noun_gender == "fixed":
        return OccupationGender(None, noun, article, listed, ONE_GENDER)
    if noun_gender == "masculine" or noun_gender == "feminine":
        return OccupationGender(noun_gender, noun, article, listed)
    if article < 0:
        return OccupationGender(None, noun, -1, listed, NO_ARTICLE)
    form = words[article].casefold()
    gender = ARTICLES[language][form]
    if language == "de" and form == "der" and article == 0:
        gender = "masculine"  # the subject of a sentence
    return OccupationGender(gender, noun, article, listed, "" if gender else SAME_FORM)


def _article(language: str, words: Sequence[str], noun: int) -> int:
    for position in range(noun - 1, max(noun - 2 - MAX_ADJECTIVES, -1), -1):
        if words[position].casefold() in ARTICLES[language]:
            return position
        if not words[position][:1].isalpha() or not (
            language == "de" or may_be_noun("fr", words[position])
        ):
            break
    return -1


def aligned_noun(
    language: str,
    words: Sequence[str],
    scores: Float[np.ndarray, "target source"],
    occupation: Sequence[int],
) -> int:
    """Return the position of the target noun that is linked with an occupation; step 1 above.

    Args:
        scores: of the aligner head, a row for each word of the translation.
        occupation: positions of its words in the source.

    Returns:
        -1 if no noun is linked with it.
    """
    linked: list[int] = [
        position
        for position in np.flatnonzero(np.isin(scores.argmax(-1), list(occupation))).tolist()
        if may_be_noun(language, words[position])
    ]
    if not linked:
        return -1
    listed = [position for position in linked if noun_class(language, words[position]) is not None]
    return max(
        listed or linked, key=lambda position: (scores[position, list(occupation)].max(), -position)
    )


@dataclass(frozen=True)
class AlignedTranslation:
    """A translation split into words, with its alignment.

    Attributes:
        source, words: the words of the sentence and of its translation.
        word_of_token: the word's position for each token of the translation, without `</s>`.
        scores: of the aligner head, (word of the translation, source word).
    """

    source: tuple[str, ...]
    words: tuple[str, ...]
    word_of_token: tuple[int, ...]
    scores: Float[np.ndarray, "target source"]

    def occupation_gender(self, language: str, first: int, last: int) -> OccupationGender:
        """Return the gender of the occupation that consists of the source words first to last."""
        noun = aligned_noun(language, self.words, self.scores, range(first, last + 1))
        return read_gender(language, self.words, noun)


def aligner_sites(aligner: AlignerHead) -> list[str]:
    """Return the hook points that `align_translation` needs in a trace."""
    names = [
        "hook_weights",
        *(["hook_heads", "hook_value"] if aligner.score_kind == "norms" else []),
    ]
    return [f"decoder.layers.{aligner.layer}.cross_attn.{name}" for name in names]


def align_translation(
    translator: Translator, aligner: AlignerHead, trace: Trace
) -> AlignedTranslation | None:
    """Return the words of a traced translation with their alignment; None if there are no words or
    tokens do not match them."""
    source, words = WORD.findall(trace.source), WORD.findall(trace.text)
    head = aligner.layer, aligner.head, aligner.score_kind, aligner.target_row
    try:
        alignment = align_words(translator.model, trace, *head, (source, words))
    except ValueError:
        return None
    return AlignedTranslation(
        alignment.source,
        alignment.target,
        alignment.word_of_piece,
        alignment.scores[aligner.target_row],
    )
