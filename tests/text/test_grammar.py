"""The small grammar, compared with hand-written sentences and links.

A line of the file has English, then French, every French word with the indices of the English words
that it translates, counted from 0; then the kind and the number by which the grammar makes the
sentence.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from transformer.text import TASKS
from transformer.text.grammar.phrases import links
from transformer.text.grammar.sentences import kinds

FRENCH = TASKS["french"]
LINES = (Path(__file__).parent / "french_by_hand.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", LINES)
def test_a_hand_written_sentence_is_generated_with_its_links(line: str) -> None:
    english, french, numbers = line.split(" | ")
    items = [item.partition("/") for item in french.split()]
    expected = {
        (int(i), j) for j, (_, _, aligned) in enumerate(items) for i in aligned.split(",") if i
    }
    kind, number = map(int, numbers.split())
    src, tgt = kinds(3)[kind].sentence(number)
    assert " ".join(word.text for word in src) == english
    assert [word.text for word in tgt] == [word for word, _, _ in items]
    assert links(src, tgt) == tuple(sorted(expected))


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
