"""One checkpoint on WinoMT: genders of occupations, scores, heads that look at the pronoun."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from transformer.analysis.alignment.aligner_head import AlignerHead
from transformer.analysis.corpora.passes import Progress, no_progress, scaled_progress
from transformer.analysis.gender.nouns import Gender
from transformer.analysis.gender.occupation_gender import (
    NOT_ALIGNED,
    AlignedTranslation,
    OccupationGender,
    align_translation,
    aligner_sites,
    check_language,
)
from transformer.analysis.gender.pronoun_heads import (
    ArticleStep,
    PronounEffect,
    article_step,
    pronoun_effect,
)
from transformer.analysis.gender.scores import Score, gender_scores
from transformer.analysis.gender.sentences import OccupationSentence, minimal_pairs
from transformer.inference import Translator

COUNTED_NOUNS = ("person", "any")
"""Which nouns count: those in the lists of words for people (`nouns`), or every aligned noun."""
CHUNK = 256
"""Number of sentences that are traced at once."""


@dataclass(frozen=True)
class GenderReport:
    """Figures of one checkpoint.

    Attributes:
        source: who made the sentences, and under which licence.
        language: code of the target language.
        sentences, pairs: how many sentences, and minimal pairs among them, were translated.
        person, other: number of occupations with a decided gender, translated by a noun from the
            lists of words for people, and by another noun.
        undecided: number of occupations without a decided gender, by reason.
        scores: for each of `COUNTED_NOUNS`.
        effect: effect of the pronoun on the article; None if too few pairs show an article.
    """

    source: str
    language: str
    sentences: int
    pairs: int
    person: int
    other: int
    undecided: dict[str, int]
    scores: dict[str, tuple[Score, ...]]
    effect: PronounEffect | None

    def score(self, nouns: str, name: str) -> Score | None:
        """Return one score; None if it had too few sentences."""
        return next((score for score in self.scores[nouns] if score.name == name), None)


def measure_gender(
    translator: Translator,
    aligner: AlignerHead,
    language: str,
    sentences: Sequence[OccupationSentence],
    source: str,
    progress: Progress = no_progress,
) -> GenderReport:
    """Translate the sentences (greedy search) and return the figures.

    Args:
        aligner: the head that links words; its errors are errors of these figures too.
        language: code of the target language.

    Raises ValueError if the target language has no lists in `nouns`, if there are no sentences, or
    if one is too long.
    """
    check_language(language)
    if not sentences:
        raise ValueError("there are no sentences; pass at least one")
    translations = _translations(translator, aligner, sentences, progress)
    occupation_genders = [
        OccupationGender(None, -1, -1, False, NOT_ALIGNED)
        if translated is None
        else translated[0].occupation_gender(language, sentence.first, sentence.last)
        for sentence, translated in zip(sentences, translations, strict=True)
    ]
    pairs = minimal_pairs(sentences)
    steps = _article_steps(translator, language, sentences, translations, occupation_genders, pairs)
    any_noun: list[Gender | None] = [occupation.gender for occupation in occupation_genders]
    person: list[Gender | None] = [
        occupation.gender if occupation.person else None for occupation in occupation_genders
    ]
    return GenderReport(
        source,
        language,
        len(sentences),
        len(pairs),
        sum(gender is not None for gender in person),
        sum(r.gender is not None and not r.person for r in occupation_genders),
        dict(Counter(r.reason for r in occupation_genders if r.gender is None)),
        {
            "person": tuple(gender_scores(sentences, person, pairs)),
            "any": tuple(gender_scores(sentences, any_noun, pairs)),
        },
        pronoun_effect(translator, steps, scaled_progress(progress, 0.6, 0.4)),
    )


def _translations(
    translator: Translator,
    aligner: AlignerHead,
    sentences: Sequence[OccupationSentence],
    progress: Progress,
) -> list[tuple[AlignedTranslation, list[int]] | None]:
    """Return the words and ids of every translation; None if its pieces do not form words."""
    translations: list[tuple[AlignedTranslation, list[int]] | None] = []
    for done in range(0, len(sentences), CHUNK):
        progress(0.6 * done / len(sentences), "translating")
        texts = [sentence.text for sentence in sentences[done : done + CHUNK]]
        for trace in translator.trace_batch(texts, names=aligner_sites(aligner), candidates=1):
            words = align_translation(translator, aligner, trace)
            translations.append(None if words is None else (words, list(trace.predicted_ids)))
    return translations


def _article_steps(
    translator: Translator,
    language: str,
    sentences: Sequence[OccupationSentence],
    translations: Sequence[tuple[AlignedTranslation, list[int]] | None],
    occupation_genders: Sequence[OccupationGender],
    pairs: Sequence[tuple[int, int]],
) -> list[tuple[ArticleStep, ArticleStep]]:
    """Return the steps at which both sentences of each pair choose the article, after the same
    forced prefix.

    The prefix comes from the translation of the "he" sentence and of the "she" sentence in turn.
    """
    steps = []
    for number, pair in enumerate(pairs):
        for base in pair if number % 2 == 0 else pair[::-1]:
            translated = translations[base]
            if translated is None:
                continue
            pair_steps = [
                article_step(
                    translator,
                    language,
                    sentences[n],
                    *translated,
                    occupation_genders[base].article,
                )
                for n in pair
            ]
            if pair_steps[0] is not None and pair_steps[1] is not None:
                steps.append((pair_steps[0], pair_steps[1]))
                break
    return steps
