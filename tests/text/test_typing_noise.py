"""Variants of a pair as visitors type it, and sources segmented at random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import TrainingConfig
from transformer.text import Vocabulary
from transformer.text.typing_noise import typing_variant, without_final_mark
from transformer.training.data import augment_pairs

KNOWN_WORDS = ("moon", "sun", "garden", "river", "house")
TEXT = [
    f"the {a} sees the {b}." for a in ("cat", "dog", "bird", "boat", "tree") for b in KNOWN_WORDS
]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.train(TEXT * 20, 283)


@pytest.mark.parametrize(
    ("pair", "shorter"),
    [
        (("Wait!", "Attends !"), ("Wait", "Attends")),
        (("Wait...", "Attends…"), ("Wait", "Attends")),
        (("He left.", "Il est parti"), ("He left.", "Il est parti")),
        (("?", "?"), ("?", "?")),
        (("Dr. Who", "Dr. Who"), ("Dr. Who", "Dr. Who")),
    ],
)
def test_final_punctuation_is_removed_on_both_sides_or_none(
    pair: tuple[str, str], shorter: tuple[str, str]
) -> None:
    assert without_final_mark(*pair) == shorter


@given(st.integers(0, 10_000), st.sampled_from(TEXT))
def test_typing_noise_keeps_the_words(seed: int, text: str) -> None:
    src, tgt = typing_variant(text, "La cible reste.", np.random.default_rng(seed))
    assert src.lower().replace(" ", "").rstrip(".") == text.replace(" ", "").rstrip(".")
    assert tgt in ("La cible reste.", "La cible reste")
    assert src.endswith(".") == tgt.endswith(".")


def test_sampled_segmentations_keep_the_text_and_follow_the_seed(
    vocabulary: Vocabulary,
) -> None:
    texts = TEXT[:5] * 40
    segmentations = vocabulary.sample_batch(texts, alpha=0.1, seed=3)
    assert [vocabulary.decode(ids) for ids in segmentations] == texts
    assert segmentations == vocabulary.sample_batch(texts, alpha=0.1, seed=3)
    assert segmentations != vocabulary.sample_batch(texts, alpha=0.1, seed=4)
    assert len({tuple(ids) for ids in segmentations}) > 5
    assert vocabulary.sample_batch(texts, alpha=1000.0, seed=3) == vocabulary.encode_batch(texts)


def test_an_epoch_changes_the_given_fraction_of_pairs(vocabulary: Vocabulary) -> None:
    pairs = [
        tuple(np.array(ids, np.uint16) for ids in vocabulary.encode_batch([text, "the moon."]))
        for text in TEXT * 20
    ]
    config = TrainingConfig(typing_noise=0.4)
    changed = augment_pairs(vocabulary, config, pairs, np.random.default_rng(2))
    assert all(src.dtype == np.uint16 for src, _ in changed)
    texts = [vocabulary.decode(src) for src, _ in changed]
    unchanged = sum(new == old for new, old in zip(texts, TEXT * 20, strict=True))
    # 200 of 500 are drawn. Of these lower-case texts 0.5 keep the mark, 0.89 the case and 0.94
    # the spaces: 83 of the 200, standard deviation 7.
    assert 355 < unchanged < 412
    assert changed[0][1][-1] == vocabulary.eos_id


def test_only_sources_are_segmented_at_random(vocabulary: Vocabulary) -> None:
    pairs = [
        tuple(np.array(ids, np.uint16) for ids in vocabulary.encode_batch([text, text]))
        for text in TEXT
    ]
    config = TrainingConfig(subword_alpha=0.1)
    changed = augment_pairs(vocabulary, config, pairs, np.random.default_rng(2))
    for (src, tgt), old in zip(changed, pairs, strict=True):
        assert vocabulary.decode(src) == vocabulary.decode(old[0])
        assert tgt.tolist() == old[1].tolist()
    all_pairs = zip(changed, pairs, strict=True)
    assert (
        3 <= sum(len(new) != len(old) for (new, _), (old, _) in all_pairs) <= 22
    )  # half of the 25 sources
