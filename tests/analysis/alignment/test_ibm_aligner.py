"""The statistical aligner: compared with EM over all alignments, explicit sums and the links of our
grammar."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from scipy.special import digamma

from transformer.analysis.alignment.baselines import NULL_PROBABILITY, learn, normalizer, prior
from transformer.analysis.alignment.error_rate import alignment_error
from transformer.text import TASKS

CORPUS = [
    (["the", "cat"], ["le", "chat"]),
    (["the", "dog", "sleeps"], ["le", "chien", "dort"]),
    (["a", "cat", "sleeps"], ["un", "chat", "dort", "bien"]),
    (["a", "dog"], ["un", "chien"]),
]
TENSION = 3.0


def position_prior(i: int, j: int, n: int, m: int, tension: float) -> float:
    """Return the prior of source word j for target word i, from 1, by explicit summation."""
    terms = [math.exp(-tension * abs(i / m - k / n)) for k in range(1, n + 1)]
    return NULL_PROBABILITY if j == 0 else (1 - NULL_PROBABILITY) * terms[j - 1] / sum(terms)


def em_over_all_alignments(
    rounds: int, sparse: float, tension: float
) -> dict[tuple[str, str], float]:
    """Return translation probabilities by EM, with the posterior of every complete alignment."""
    words = {word for _, target in CORPUS for word in target}
    probabilities: dict[tuple[str, str], float] = defaultdict(lambda: 1 / len(words))
    for _ in range(rounds):
        counts: dict[tuple[str, str], float] = defaultdict(float)
        for source, target in CORPUS:
            n, m = len(source), len(target)
            source_words = ["", *source]
            alignment_probabilities = {}
            for links in itertools.product(range(n + 1), repeat=m):
                alignment_probabilities[links] = math.prod(
                    position_prior(i + 1, j, n, m, tension)
                    * probabilities[source_words[j], target[i]]
                    for i, j in enumerate(links)
                )
            total = sum(alignment_probabilities.values())
            for links, probability in alignment_probabilities.items():
                for i, j in enumerate(links):
                    counts[source_words[j], target[i]] += probability / total
        sums: dict[str, float] = defaultdict(float)
        for (source_word, _), count in counts.items():
            sums[source_word] += count + sparse
        probabilities = defaultdict(
            lambda: 0.0,
            {
                (source_word, target_word): math.exp(
                    digamma(count + sparse) - digamma(sums[source_word])
                )
                if sparse
                else count / sums[source_word]
                for (source_word, target_word), count in counts.items()
            },
        )
    return dict(probabilities)


@pytest.mark.parametrize("sparse", [0.0, 0.01])
@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("tension", [0.0, TENSION])
def test_training_equals_em_over_all_alignments(rounds: int, sparse: float, tension: float) -> None:
    """Without tension it is IBM model 1."""
    aligner = learn(CORPUS, rounds=rounds, tension=tension, alpha=sparse)
    expected = em_over_all_alignments(rounds, sparse, tension)
    assert aligner.table.keys() == expected.keys()
    for pair, probability in expected.items():
        assert aligner.table[pair] == pytest.approx(probability, rel=1e-9, abs=1e-30)
    assert aligner.tension == tension


@pytest.mark.parametrize("tension", [0.0, 0.1, 1.0, 4.0, 20.0])
def test_the_normaliser_equals_the_sum_over_positions(tension: float) -> None:
    for n, m in itertools.product(range(1, 9), repeat=2):
        expected = [
            sum(math.exp(-tension * abs(i / m - j / n)) for j in range(1, n + 1))
            for i in range(1, m + 1)
        ]
        np.testing.assert_allclose(normalizer(np.arange(1, m + 1), n, m, tension), expected, 1e-12)


def test_the_prior_sums_to_one_and_follows_the_diagonal() -> None:
    probabilities = prior(6, 3, 5.0, 0.1)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities[:, 1:].argmax(axis=1).tolist() == [1, 3, 5]
    assert (probabilities[:, 0] == 0.1).all()


def test_em_never_lowers_the_likelihood() -> None:
    """λ is learned, too: both steps of EM raise the same bound."""
    pairs = [(e.src.split(), e.tgt.split()) for e in TASKS["french"].pairs(60, seed=4)]
    log_likelihood = learn(pairs, rounds=8, alpha=0.0).log_likelihood
    assert (np.diff(log_likelihood) > 0).all()


def test_the_aligner_recovers_the_links_of_the_grammar() -> None:
    examples = TASKS["french"].pairs(1500, seed=3)
    pairs = [(e.src.split(), e.tgt.split()) for e in examples]
    aligner = learn(pairs)
    predicted, diagonal, sure = set(), set(), set()
    for number, ((source, target), example) in enumerate(zip(pairs, examples, strict=True)):
        predicted |= {
            (100 * number + i, 100 * number + j) for i, j in aligner.links(source, target)
        }
        sure |= {(100 * number + i, 100 * number + j) for i, j in example.alignment or ()}
        diagonal |= {
            (100 * number + int((j + 0.5) * len(source) / len(target)), 100 * number + j)
            for j in range(len(target))
        }
    assert alignment_error(predicted, sure) < 0.15
    assert alignment_error(predicted, sure) < alignment_error(diagonal, sure) / 2


def test_unknown_words_are_linked_along_the_diagonal() -> None:
    aligner = learn(CORPUS, rounds=10)
    assert aligner.links(["the", "cat"], ["le", "chat"]) == {(0, 0), (1, 1)}
    # For unknown words the diagonal decides.
    assert aligner.links(["x", "y"], ["z", "w"]) == {(0, 0), (1, 1)}
    with pytest.raises(ValueError, match="needs at least one pair"):
        learn([([], ["le"])])
