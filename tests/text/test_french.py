"""The stored French sentences: fixed parts, a closed vocabulary, gold links and dependencies."""

from __future__ import annotations

import hashlib

from transformer.text import TASKS, split
from transformer.text.tasks.french import N_CORPUS, N_TRAIN, N_VALID, french_examples

FRENCH = TASKS["french"]


def test_no_source_is_in_both_parts() -> None:
    train, valid = split(FRENCH, N_TRAIN, N_VALID, seed=1)
    assert len({example.src for example in (*train, *valid)}) == N_TRAIN + N_VALID
    corpus = french_examples()[:N_CORPUS]
    assert len({example.src for example in (*corpus, *valid)}) == N_CORPUS + N_VALID
    assert not {example.src for example in FRENCH.probes} & {e.src for e in french_examples()}


def test_every_seed_has_the_pairs_that_links_to_runs_in_a_tab_were_made_with() -> None:
    train, valid = split(FRENCH, N_TRAIN, N_VALID, seed=1)
    assert (train[:50], valid[:7]) == split(FRENCH, 50, 7, seed=3)
    rows = [[e.src, e.tgt] for e in train] + [[e.src, e.tgt, e.alignment] for e in valid]
    assert hashlib.sha256(repr(rows).encode()).hexdigest()[:16] == "ddee96b21813dce2"


def test_the_vocabulary_has_every_word() -> None:
    used = {
        word
        for example in (*french_examples(), *FRENCH.probes)
        for side in (example.src, example.tgt)
        for word in side.split()
    }
    assert used <= set(FRENCH.symbols)
    assert list(FRENCH.symbols) == sorted(set(FRENCH.symbols))
    assert len(set(FRENCH.symbols) - used) < 20


def test_links_are_valid_and_cover_all_content_words() -> None:
    for example in (*french_examples(), *FRENCH.probes):
        src, tgt = example.src.split(), example.tgt.split()
        assert example.alignment is not None
        assert list(example.alignment) == sorted(set(example.alignment))
        assert all(0 <= i < len(src) and 0 <= j < len(tgt) for i, j in example.alignment)
        assert {i for i, _ in example.alignment} == {*range(len(src))}, example
        # Only in French: "est-ce que" where English inverts, and the article of a possession.
        unlinked = {tgt[j] for j in set(range(len(tgt))) - {j for _, j in example.alignment}}
        assert unlinked <= {"est-ce", "que", "qu'", "le", "la", "l'"}, example
        linked = {(src[i], tgt[j]) for i, j in example.alignment}
        assert {pair for pair in linked if "." in pair or "?" in pair} <= {(".", "."), ("?", "?")}
        for english, french in (("two", "deux"), ("many", "beaucoup"), ("never", "jamais")):
            assert ((english, french) in linked) == (english in src)
        assert ("not" in src or "cannot" in src) == ("pas" in tgt)


def test_dependencies_have_one_governor_and_follow_the_rules_of_english() -> None:
    adjectives = set()
    for example in french_examples():
        words, relations = example.src.split(), example.dependencies
        assert len({(name, j) for name, _, j in relations}) == len(relations)
        subjects = [i for name, i, _ in relations if name == "subject"]
        assert len(subjects) == 1 or (not subjects and {"am", "is", "are", "be"} & set(words))
        assert sum(name == "object" for name, _, _ in relations) <= 1
        for name, i, j in relations:
            assert name in ("subject", "object", "adjective", "adverb")
            assert i != j
            if name == "adjective":
                assert i == j + 1, example.src
                adjectives.add(words[j])
    assert {"black", "old", "tired"} <= adjectives
    assert not adjectives & {"the", "a", "not", "two"}
