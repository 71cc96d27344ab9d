"""The most probable alternatives to each word of a translation.

A decoding step compares pieces, but people read words. So each probable alternative piece is
continued greedily to the end of its word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from transformer.hooks import Hooks
from transformer.inference.next_tokens import NextTokens
from transformer.inference.results import Translation
from transformer.inference.translator import Translator
from transformer.measures.naming import BLANK
from transformer.measures.pieces import BEGIN, is_control, join_bytes
from transformer.measures.words import word_labels, words
from transformer.text.batching import pad

MAX_ALTERNATIVE_PIECES = 8
"""Maximum pieces of an alternative; a longer word is cut off."""
MAX_ALTERNATIVES = 16
"""Maximum alternatives of one translation, the most probable; they are completed in one batch."""

MIN_WORD_LETTERS = 4
"""Letters from which on a piece that can also begin a word is another word, not an ending."""


@dataclass(frozen=True)
class Alternative:
    """A probable alternative to a word of the translation.

    Attributes:
        word: index of the word that it would replace.
        step: the decoding step at which it differs from the translation.
        ids: its pieces from `step` on.
        text: the whole word, including the pieces before `step` that both words share; "␣" for the
            piece "▁" alone.
        probability: product of the probabilities of its pieces.
        first_piece_probability: probability of `ids[0]` at `step`, which the model compared with
            the chosen piece. Sort by this: `probability` is smaller for words of more pieces, so it
            does not tell which of two words the model preferred.
    """

    word: int
    step: int
    ids: tuple[int, ...]
    text: str
    probability: float
    first_piece_probability: float


@torch.inference_mode()
def word_alternatives(
    translator: Translator,
    translation: Translation,
    *,
    min_probability: float = 0.01,
    max_per_word: int = 3,
    hooks: Hooks | None = None,
) -> tuple[tuple[Alternative, ...], ...]:
    """Return the alternatives of each word of the translation, sorted by
    `first_piece_probability`, highest first.

    Args:
        min_probability: minimum probability of an alternative.
        max_per_word: maximum number of alternatives of a word.
        hooks: those of the translation.
    """
    texts_by_word = word_labels(translation.tokens)
    unfinished = sorted(
        _first_pieces(translation, words(translation.tokens), min_probability),
        key=lambda candidate: -candidate.probability,
    )[:MAX_ALTERNATIVES]
    alternatives_by_word: list[list[Alternative]] = [[] for _ in texts_by_word]
    for alternative in sorted(
        _complete_words(translator, translation, unfinished, hooks),
        key=lambda candidate: -candidate.probability,
    ):
        alternatives_of_word = alternatives_by_word[alternative.word]
        used_texts = {
            _with_straight_apostrophes(texts_by_word[alternative.word]),
            *(_with_straight_apostrophes(candidate.text) for candidate in alternatives_of_word),
        }
        acceptable = (
            alternative.probability >= min_probability
            and len(alternatives_of_word) < max_per_word
            and not _joins_two_words(translator, translation, alternative)
        )
        if acceptable and _with_straight_apostrophes(alternative.text) not in used_texts:
            alternatives_of_word.append(alternative)
    return tuple(
        tuple(sorted(alternatives, key=lambda candidate: -candidate.first_piece_probability))
        for alternatives in alternatives_by_word
    )


def _first_pieces(
    translation: Translation, word_numbers: Sequence[int], min_probability: float
) -> Iterator[Alternative]:
    """Yield an unfinished alternative for each probable candidate of a step: the word up to it.

    A candidate without "▁" continues a word, so the alternative begins with that word's earlier
    pieces.
    """
    for step, row in enumerate(translation.steps):
        word = word_numbers[step]
        if is_control(row.chosen.token):
            continue
        for candidate in row.candidates:
            if candidate.id == row.chosen.id or is_control(candidate.token):
                continue
            if candidate.probability < min_probability:
                break
            continues_word = not candidate.token.startswith(BEGIN)
            continued_word = word_numbers[step - 1] if continues_word and step else word
            shared_steps = (
                [i for i in range(step) if word_numbers[i] == continued_word]
                if continues_word
                else []
            )
            shared_text = "".join(translation.tokens[i] for i in shared_steps)
            # Multiply only by pieces of the replaced word, not of the word before it.
            probability = candidate.probability
            for i in shared_steps:
                probability *= translation.steps[i].probability if continued_word == word else 1.0
            text = shared_text + candidate.token
            yield Alternative(word, step, (candidate.id,), text, probability, candidate.probability)


def _complete_words(
    translator: Translator,
    translation: Translation,
    unfinished: list[Alternative],
    hooks: Hooks | None,
) -> list[Alternative]:
    """Append the most probable pieces to each alternative until its word ends, all in one batch."""
    model, vocabulary = translator.model, translator.vocabulary
    device, config = translator.device, translator.model.config
    if not unfinished:
        return []
    memory = model.encode(torch.tensor([translation.src_ids], device=device), hooks=hooks)
    complete, active = [], unfinished
    for _ in range(MAX_ALTERNATIVE_PIECES):
        if not active:
            break
        rows = [
            [config.bos_id, *translation.ids[: alternative.step], *alternative.ids]
            for alternative in active
        ]
        tgt = pad(rows, config.pad_id, device)
        states = model.decode(tgt, memory.expand(len(rows), -1, -1), hooks=hooks)
        last_states = states[range(len(rows)), [len(row) - 1 for row in rows]]
        next_tokens = NextTokens.of(model.project(last_states[:, None])[:, 0], config, k=1)
        best_ids = next_tokens.top_ids[:, 0].tolist()
        best_probabilities = next_tokens.top_log_probabilities[:, 0].exp().tolist()
        still_active = []
        for alternative, piece, best_probability in zip(
            active, best_ids, best_probabilities, strict=True
        ):
            token = vocabulary.token(piece)
            if is_control(token) or token.startswith(BEGIN):
                complete.append(alternative)
                continue
            probability = alternative.probability * best_probability
            ids = (*alternative.ids, piece)
            still_active.append(
                replace(
                    alternative, ids=ids, text=alternative.text + token, probability=probability
                )
            )
        active = still_active
    return [
        replace(alternative, text=join_bytes(alternative.text.removeprefix(BEGIN)) or BLANK)
        for alternative in complete + active
    ]


def _joins_two_words(
    translator: Translator, translation: Translation, alternative: Alternative
) -> bool:
    """Whether the alternative is the word before it and another word without a space, such as
    "unexamen", which no reader knows as a word; "mange" and "ait" make one."""
    vocabulary, step = translator.vocabulary, alternative.step
    numbers, labels = words(translation.tokens), word_labels(translation.tokens)
    pieces = vocabulary.tokens(alternative.ids)
    if step == 0 or pieces[0].startswith(BEGIN) or numbers[step - 1] == alternative.word:
        return False
    continuation = join_bytes("".join(pieces)).rstrip(".,!?")
    return continuation == labels[alternative.word].rstrip(".,!?") or (
        len(continuation) >= MIN_WORD_LETTERS and BEGIN + continuation in vocabulary
    )


def _with_straight_apostrophes(text: str) -> str:
    """Replace ’ by ', so that words that differ only in the apostrophe compare equal."""
    return text.replace("’", "'")
