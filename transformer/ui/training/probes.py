"""Sentences whose attention is kept while a model learns."""

from __future__ import annotations

from functools import lru_cache

from transformer.text.grammar import words
from transformer.text.tasks import TASKS

EACH = 2  # with an adjective after its noun, and with one before it


@lru_cache
def probes(task: str) -> tuple[tuple[str, str], ...]:
    """Sentences whose attention shows what the task is about; for most, those that the run
    chooses for itself will do. For French, the shortest with an adjective, every word of which
    comes from one word: two where it moves behind its noun, two where it stays before it."""
    if task != "french":
        return ()
    before = {name: adjective.before for name, adjective in words.ADJECTIVES.items()}
    found: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
    for example in TASKS["french"].pairs(400, seed=11):
        place = dict(example.alignment or ())
        source = example.src.split()
        if not len(place) == len(example.alignment or ()) == len(source):
            continue
        for at in (n for n, word in enumerate(source[:-1]) if word in before):
            moved = place[at] - place[at + 1] == 1
            if moved != before[source[at]]:
                found[moved].append((example.src, example.tgt))
    for pairs in found.values():
        pairs.sort(key=lambda pair: (len(pair[0].split()), pair))
    return (*found[True][:EACH], *found[False][:EACH])
