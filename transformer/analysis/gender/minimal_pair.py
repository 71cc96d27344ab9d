"""One minimal pair: the same sentence with "he" and with "she", and the genders in both
translations.

pair = minimal_pair(translator, aligner, "fr", "The doctor thanked the nurse because she was kind.")
pair.she.text                  # the translation
pair.genders(1)                # of the second occupation: ("feminine", "feminine")
pair.heads(4)                  # the heads that look most at the pronoun
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transformer.analysis.alignment.aligner_head import AlignerHead
from transformer.analysis.corpora.gold import words_of
from transformer.analysis.gender.nouns import Gender
from transformer.analysis.gender.occupation_gender import (
    NOT_ALIGNED,
    AlignedTranslation,
    OccupationGender,
    align_translation,
    aligner_sites,
    check_language,
)
from transformer.analysis.gender.pronoun_heads import KINDS, N_HEADS
from transformer.analysis.gender.sentences import (
    EXAMPLES,
    WORD,
    occupations_in,
    pronoun_positions,
    with_pronoun,
)
from transformer.analysis.interventions.switching import Head
from transformer.hooks import Hooks
from transformer.inference import Trace, Translator
from transformer.inference.trace import WEIGHTS

MAX_OCCUPATIONS = 4
"""Maximum number of occupations of a sentence; later ones are ignored."""


@dataclass(frozen=True, eq=False)
class PairSide:
    """One sentence of the pair and its translation.

    Attributes:
        source: the sentence.
        text: its translation.
        words: of the translation, as `OccupationGender` counts them.
        occupation_genders: the gender of each occupation.
        weights: on the pronoun and on a word next to it: (occupation, kind, layer, head, 2), for
            the kinds of `pronoun_heads.KINDS`; NaN in cross-attention without an article or noun.
    """

    source: str
    text: str
    words: tuple[str, ...]
    occupation_genders: tuple[OccupationGender, ...]
    weights: Float[np.ndarray, "occupation kind layer head 2"]


@dataclass(frozen=True, eq=False)
class MinimalPair:
    """The sentence with "he" and with "she"; `occupations` are its words for people, in order."""

    occupations: tuple[str, ...]
    he: PairSide
    she: PairSide

    def genders(self, occupation: int) -> tuple[Gender | None, Gender | None]:
        """Return the gender of an occupation with "he" and with "she"."""
        return self.he.occupation_genders[occupation].gender, self.she.occupation_genders[
            occupation
        ].gender

    def heads(self, count: int = N_HEADS) -> list[Head]:
        """Return the heads that look most at the pronoun, by the weight above that of the words
        next to it, as a mean over the occupations and both sentences."""
        weights = np.concatenate([self.he.weights, self.she.weights])
        is_measured = ~np.isnan(weights).any((-1, -2, -3))  # (occupation, kind)
        excess = np.where(is_measured[:, :, None, None], weights[..., 0] - weights[..., 1], 0)
        mean = excess.sum(0) / np.maximum(is_measured.sum(0), 1)[:, None, None]
        order = np.argsort(-mean, axis=None, kind="stable")[:count]
        return [
            (KINDS[kind], int(layer), int(head))
            for kind, layer, head in zip(*np.unravel_index(order, mean.shape), strict=True)
        ]


def minimal_pair(
    translator: Translator,
    aligner: AlignerHead,
    language: str,
    text: str,
    hooks: Hooks | None = None,
) -> MinimalPair:
    """Translate a sentence with "he" and with "she" (greedy search); return the genders of its
    occupations in both translations.

    Args:
        aligner: the head that links occupations with their translation.
        language: code of the target language, "fr" or "de".
        text: an English sentence with he, she or another form of them.
        hooks: interventions, for example `switching.switched_off`.

    Raises ValueError for a sentence without a pronoun or without a known occupation, for another
    language, and as `Translator.translate`.
    """
    check_language(language)
    sides = [with_pronoun(text, "male"), with_pronoun(text, "female")]
    occupations = [occupations_in(side)[:MAX_OCCUPATIONS] for side in sides]
    if not occupations[0]:
        raise ValueError(
            "the sentence has no known occupation; use two, such as doctor and nurse, as in "
            f'"{EXAMPLES[0]}"'
        )
    config = translator.model.config
    sites = [WEIGHTS[kind].format(n) for kind in KINDS for n in range(config.n_layers)]
    names = list(dict.fromkeys([*sites, *aligner_sites(aligner)]))
    traces = translator.trace_batch(sides, names=names, hooks=hooks, candidates=1)
    he, she = (
        _side(translator, aligner, language, trace, [(first, last) for _, first, last in spans])
        for trace, spans in zip(traces, occupations, strict=True)
    )
    return MinimalPair(tuple(name for name, _, _ in occupations[0]), he, she)


def _side(
    translator: Translator,
    aligner: AlignerHead,
    language: str,
    trace: Trace,
    occupations: Sequence[tuple[int, int]],
) -> PairSide:
    translation = align_translation(translator, aligner, trace)
    if translation is None:
        occupation_genders = [OccupationGender(None, -1, -1, False, NOT_ALIGNED)] * len(occupations)
    else:
        occupation_genders = [
            translation.occupation_gender(language, *words) for words in occupations
        ]
    weights = [
        _weights(trace, translation, words, occupation_gender)
        for words, occupation_gender in zip(occupations, occupation_genders, strict=True)
    ]
    words = tuple(WORD.findall(trace.text)) if translation is None else translation.words
    return PairSide(trace.source, trace.text, words, tuple(occupation_genders), np.stack(weights))


def _weights(
    trace: Trace,
    translation: AlignedTranslation | None,
    occupation: tuple[int, int],
    occupation_gender: OccupationGender,
) -> Float[np.ndarray, "kind layer head 2"]:
    weights = np.full((len(KINDS), trace.n_layers, trace.n_heads, 2), np.nan)
    words = WORD.findall(trace.source)
    word_of_token = words_of(trace.src_tokens[:-1], words)
    if word_of_token is None or translation is None:
        return weights
    pronoun = pronoun_positions(words)[0]
    first, last = occupation
    columns = [_positions(word_of_token, pronoun, pronoun)]
    columns += [
        _positions(word_of_token, word, word)
        for word in (pronoun - 1, pronoun + 1)
        if 0 <= word < len(words) and not first <= word <= last
    ]
    target_word = (
        occupation_gender.article if occupation_gender.article >= 0 else occupation_gender.noun
    )
    rows = [
        _positions(word_of_token, first, last),
        _positions(translation.word_of_token, target_word, target_word)[:1]
        if target_word >= 0
        else [],
    ]
    for kind, name in enumerate(KINDS):
        if rows[kind]:
            table = trace.all_weights(name)[:, :, rows[kind]].mean(2)  # (layer, head, source)
            column_weights = [table[..., column_indices].sum(-1) for column_indices in columns]
            weights[kind] = np.stack(
                [column_weights[0], np.mean(column_weights[1:] or [0 * column_weights[0]], axis=0)],
                axis=-1,
            )
    return weights


def _positions(word_of_token: Sequence[int], first: int, last: int) -> list[int]:
    return [n for n, owner in enumerate(word_of_token) if first <= owner <= last]
