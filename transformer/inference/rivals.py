"""Rival words: what nearly stood in a word's place, written out by the model itself.

A step of decoding weighs pieces, people read words. So a piece that came close is taken, and the
most probable pieces follow it to the end of its word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from transformer.inference.results import Translation
from transformer.inference.translator import Translator
from transformer.measures.pieces import BEGIN, CONTROL, join_bytes
from transformer.measures.words import words

LONGEST = 8
"""Pieces that a rival may go on for; what is no whole word by then is shown as far as it came."""
ROWS = 16
"""Rivals of one translation, at most, the most probable: they are written side by side."""


@dataclass(frozen=True)
class Rival:
    """A word that nearly stood there.

    Attributes:
        word: the number of the word of the translation in whose place it would stand.
        step: of decoding, at which its own pieces begin; `ids` are they.
        text: the whole word, with the pieces before `step` that it shares.
        probability: of all its pieces, each given those before it, multiplied.
        first: the probability of the first of `ids` alone, at `step`: what the model compared with
            the piece that it took there. A product over pieces is smaller the more pieces a word
            has, so it says nothing of which of two words was preferred.
    """

    word: int
    step: int
    ids: tuple[int, ...]
    text: str
    probability: float
    first: float


@torch.inference_mode()
def rival_words(
    translator: Translator, done: Translation, *, least: float = 0.01, most: int = 3
) -> tuple[tuple[Rival, ...], ...]:
    """For each word of the translation its rivals, those first whose `first` is greatest.

    Args:
        least: probability from which on a word is a rival.
        most: rivals of a word.
    """
    numbers = words(done.tokens)
    began = sorted(_began(done, numbers, least), key=lambda one: -one.probability)[:ROWS]
    found: list[list[Rival]] = [[] for _ in range(numbers[-1] + 1 if numbers else 0)]
    written = _texts(done.tokens, numbers)
    for rival in sorted(_ended(translator, done, began), key=lambda one: -one.probability):
        beside = found[rival.word]
        known = {_plain(written[rival.word]), *(_plain(one.text) for one in beside)}
        likely = rival.probability >= least and len(beside) < most
        if likely and _plain(rival.text) not in known:
            beside.append(rival)
    return tuple(tuple(sorted(each, key=lambda one: -one.first)) for each in found)


def _began(done: Translation, numbers: Sequence[int], least: float) -> Iterator[Rival]:
    """First pieces, with what they share with the word: a piece that begins none goes on with the
    word before it."""
    for step, row in enumerate(done.steps):
        word = numbers[step]
        if row.chosen.token in CONTROL:
            continue
        for candidate in row.candidates:
            if candidate.id == row.chosen.id or candidate.token in CONTROL:
                continue
            if candidate.probability < least:
                break
            goes_on = not candidate.token.startswith(BEGIN)
            at = numbers[step - 1] if goes_on and step else word
            shared = [i for i in range(step) if numbers[i] == at] if goes_on else []
            before = "".join(done.tokens[i] for i in shared)
            # Of the word's own pieces only: those of the word before it have been written.
            chance = candidate.probability
            for i in shared:
                chance *= done.steps[i].probability if at == word else 1.0
            text = before + candidate.token
            yield Rival(word, step, (candidate.id,), text, chance, candidate.probability)


def _ended(translator: Translator, done: Translation, began: list[Rival]) -> list[Rival]:
    """The rivals with the pieces that end their words, by passes over all of them at once."""
    model, vocabulary = translator.model, translator.vocabulary
    device, config = translator.device, translator.model.config
    never = [config.pad_id, config.bos_id, vocabulary.unk_id]
    memory = model.encode(torch.tensor([done.src_ids], device=device)) if began else None
    ended, open_ = [], began
    for _ in range(LONGEST):
        if not open_ or memory is None:
            break
        rows = [[config.bos_id, *done.ids[: one.step], *one.ids] for one in open_]
        longest = max(map(len, rows))
        padded = [row + [config.pad_id] * (longest - len(row)) for row in rows]
        states = model.decode(torch.tensor(padded, device=device), memory.expand(len(rows), -1, -1))
        last = states[torch.arange(len(rows)), torch.tensor([len(row) - 1 for row in rows])]
        shares = model.project(last[:, None])[:, 0].softmax(dim=-1)
        allowed = shares.clone()
        allowed[:, never] = -1
        best = allowed.argmax(dim=-1).tolist()
        still = []
        for number, (one, piece) in enumerate(zip(open_, best, strict=True)):
            token = vocabulary.token(piece)
            if token in CONTROL or token.startswith(BEGIN):
                ended.append(one)
                continue
            chance = one.probability * float(shares[number, piece])
            longer = (*one.ids, piece)
            still.append(replace(one, ids=longer, text=one.text + token, probability=chance))
        open_ = still
    return [replace(one, text=join_bytes(one.text.removeprefix(BEGIN))) for one in ended + open_]


def _plain(text: str) -> str:
    """Two words that differ in the form of an apostrophe are no rivals."""
    return text.replace("’", "'")


def _texts(tokens: Sequence[str], numbers: Sequence[int]) -> list[str]:
    texts = [""] * (numbers[-1] + 1 if numbers else 0)
    for token, number in zip(tokens, numbers, strict=True):
        texts[number] += token
    return [join_bytes(text.removeprefix(BEGIN)) for text in texts]
