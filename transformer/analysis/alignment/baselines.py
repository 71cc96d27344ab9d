"""Aligners that attention must beat: the diagonal, chance, and two learned from the sentences.

    aligner = learn([("the black cat".split(), "le chat noir".split()), …])
    aligner.links("the black cat".split(), "le chat noir".split())   # {(0, 0), (2, 1), (1, 2)}

One of the two is IBM model 1 (Brown et al. 1993, https://aclanthology.org/J93-2003), for which all
places are alike (λ = 0). The other is the same with the diagonal prior of Dyer, Chahuneau and Smith
2013, "A Simple, Fast, and Effective Reparameterization of IBM Model 2"
(https://aclanthology.org/N13-1073), section 2:
each target word i of m is made by one source word j of n, or by none,

    p(f_i | e) = p₀ t(f_i | ∅) + (1 − p₀) Σ_j e^{λ h(i, j)} / Z_λ(i) · t(f_i | e_j),
    h(i, j) = −|i/m − j/n|,   i and j counted from 1,

so that λ, the tension, says how near to the diagonal words are sought. It is learned by EM. A
Dirichlet prior on t, of few words for each, keeps rare words from taking whatever stands beside
them: of their variational step only the sums change. Over 250 short sentences it halves the errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
from jaxtyping import Float
from scipy.special import digamma

from transformer.analysis.alignment.error_rate import Counts
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import Link, Linked
from transformer.text import TASKS

MORE = 1_000
"""Sentences of our grammar that a statistical aligner learns from beside those that are given:
with a thousand its errors are within half a point of those with four thousand."""
_WORD = re.compile(r"\w+'?|[^\w\s]")


def teaching(corpus: Corpus) -> list[tuple[list[str], list[str]]]:
    """The words of all pairs of a corpus, for a statistical aligner to learn from.

    If some are of our grammar, `MORE` others of its sentences are added: a few hundred pairs would
    make the verdict one about their number.
    """
    grammar = TASKS["french"]
    known, ours, found = {symbol.casefold() for symbol in grammar.symbols}, False, []
    for one in corpus.sentences:
        if one.gold:
            pair = _folded(one.gold.source_words), _folded(one.gold.target_words)
            ours = ours or known.issuperset(chain(*pair))
        else:
            pair = _folded(_WORD.findall(one.source)), _folded(_WORD.findall(one.target))
        found.append(pair)
    if ours:
        more = grammar.pairs(MORE, seed=2)
        found += [(example.src.split(), example.tgt.split()) for example in more]
    return [pair for pair in found if all(pair)]


def _folded(words: Iterable[str]) -> list[str]:
    return [word.casefold() for word in words]


def baseline_counts(
    sentences: Sequence[Linked], pairs: Iterable[tuple[Sequence[str], Sequence[str]]]
) -> dict[str, Counts]:
    """Links found in each sentence, and how many are right, of four aligners.

    "diagonal" links each target word to the source word at the same relative place. "chance" is the
    mean over all source words. "model 1" is IBM model 1 and "statistical" the same with a diagonal
    prior, both learned from `pairs`.
    """
    pairs = list(pairs)
    learned = {"model 1": learn(pairs, tension=0, sparse=0), "statistical": learn(pairs)}
    found = {name: np.zeros((3, len(sentences))) for name in ("diagonal", "chance", *learned)}
    for number, each in enumerate(sentences):
        n_tgt, n_src = each.sure.shape
        targets = np.array(sorted(set(each.target)))
        along = ((targets + 0.5) * n_src / n_tgt).astype(int)
        words = _folded(each.gold.source_words), _folded(each.gold.target_words)
        links = {name: aligner.links(*words) for name, aligner in learned.items()}
        for which, table in enumerate((each.sure, each.possible)):
            found["diagonal"][which, number] = table[targets, along].sum()
            found["chance"][which, number] = table[targets].mean(axis=1).sum()
            for name, own in links.items():
                found[name][which, number] = sum(table[target, source] for source, target in own)
        found["diagonal"][2, number] = found["chance"][2, number] = len(targets)
        for name, own in links.items():
            found[name][2, number] = len(own)
    return found


NULL = 0.08
"""p₀, the share of target words that come from none, as in github.com/clab/fast_align, theirs."""
TENSION, LEAST_TENSION, MOST_TENSION = 4.0, 0.1, 20.0
"""Where λ begins, and between which bounds it is sought."""
ROUNDS = 5
SPARSE = 0.01
"""α of the Dirichlet prior, as in their program."""
UNSEEN = 1e-9
"""t of two words that were never seen together: the diagonal decides among such."""

Pairs = Sequence[tuple[Sequence[str], Sequence[str]]]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Aligner:
    """What was learned.

    Attributes:
        tension: λ.
        null: p₀.
        table: t(target word | source word) of words seen in one sentence pair; "" is ∅.
        log_likelihood: of the training pairs before each round of EM, nats; without a prior on t it
            never falls.
    """

    tension: float
    null: float
    table: dict[tuple[str, str], float]
    log_likelihood: tuple[float, ...]

    def links(self, source: Sequence[str], target: Sequence[str]) -> set[Link]:
        """Each target word with the source word most likely to have made it, if not ∅."""
        along = prior(len(source), len(target), self.tension, self.null)
        found = set()
        for i, word in enumerate(target):
            made = [self.table.get((one, word), UNSEEN) for one in ("", *source)]
            if best := int((along[i] * made).argmax()):
                found.add((best - 1, i))
        return found


def prior(
    n_src: int, n_tgt: int, tension: float, null: float
) -> Float[np.ndarray, "target null_and_source"]:
    """The probability of ∅ and of every source word, before the words are known; rows sum to 1."""
    i, j = np.arange(1, n_tgt + 1)[:, None], np.arange(1, n_src + 1)
    near = np.exp(-tension * np.abs(i / n_tgt - j / n_src))
    along = (1 - null) * near / normaliser(i, n_src, n_tgt, tension)
    return np.concatenate([np.full((n_tgt, 1), null), along], axis=1)


def normaliser(i: Ints, n_src: npt.ArrayLike, n_tgt: npt.ArrayLike, tension: float) -> Floats:
    """Z_λ(i) = Σ_j e^{λ h(i, j)} for target place i from 1, without going through the j.

    To both sides of the diagonal the terms fall by the same factor e^{-λ/n} from word to word, so
    each side is a geometric series (their section 3.1; the number is from memory).
    """
    place, n, m = (np.asarray(of, dtype=np.float64) for of in (i, n_src, n_tgt))
    if tension == 0:  # every term is 1, and the ratio of the series too
        return np.asarray(np.broadcast_arrays(n, place * m)[0])
    below = np.floor(place * n / m + 1e-9)  # the last source word not beyond the diagonal
    ratio = np.exp(-tension / n)

    def side(nearest: Floats, count: Floats) -> Floats:
        first = np.exp(-tension * np.abs(place / m - nearest / n))
        return np.asarray(first * (1 - ratio**count) / (1 - ratio))

    return np.asarray(side(below, below) + side(below + 1, n - below))


class _Cells:
    """Every target word of the corpus beside ∅ and every source word of its sentence."""

    def __init__(self, pairs: Pairs) -> None:
        source = {word: n for n, word in enumerate(dict.fromkeys(w for s, _ in pairs for w in s))}
        target = {word: n for n, word in enumerate(dict.fromkeys(w for _, t in pairs for w in t))}
        self.words = ["", *source], list(target)
        columns: list[list[Ints]] = []
        rows = 0
        for src, tgt in pairs:
            n_src, n_tgt = len(src), len(tgt)
            i, j = np.divmod(np.arange(n_tgt * (n_src + 1)), n_src + 1)
            e = np.array([0, *(source[word] + 1 for word in src)])[j]
            f = np.array([target[word] for word in tgt])[i]
            size = np.full(len(i), n_src), np.full(len(i), n_tgt)
            columns.append([e, f, i + rows, i + 1, j, *size])
            rows += n_tgt
        every = [np.concatenate(column) for column in zip(*columns, strict=True)]
        e, f, self.row, i, j, n, m = every
        known, self.pair = np.unique(e * len(target) + f, return_inverse=True)
        self.pair_e, self.pair_f = np.divmod(known, len(target))
        self.far = np.abs(i / m - j / n)
        self.is_null = j == 0
        # Few places there are, of many cells: their normalisers are worked out once each.
        side = 1 + max(n.max(), m.max())
        _, first, self.place = np.unique(
            (i * side + n) * side + m, return_index=True, return_inverse=True
        )
        self.places = i[first], n[first], m[first]

    def prior(self, tension: float, null: float) -> Floats:
        z = normaliser(*self.places, tension)[self.place]
        return np.where(self.is_null, null, (1 - null) * np.exp(-tension * self.far) / z)

    def tightest(self, shares: Floats) -> float:
        """The λ under which the links that were found are most likely; one summit, as log Z is
        convex."""
        linked = np.where(self.is_null, 0, shares)
        total = float((linked * self.far).sum())
        weight = np.bincount(self.place, weights=linked)

        # Here, for it takes a third of a second and who opens a page learns no aligner.
        from scipy.optimize import minimize_scalar

        def less(tension: float) -> float:
            return tension * total + float(weight @ np.log(normaliser(*self.places, tension)))

        bounds = LEAST_TENSION, MOST_TENSION
        return float(minimize_scalar(less, bounds=bounds, method="bounded").x)


def learn(
    pairs: Iterable[tuple[Sequence[str], Sequence[str]]],
    *,
    rounds: int = ROUNDS,
    tension: float | None = None,
    sparse: float = SPARSE,
) -> Aligner:
    """EM from t that is the same for all words, λ with it unless `tension` holds it.

    Args:
        tension: λ; 0 makes all places alike, as in IBM model 1.
        sparse: α, the prior's count for every word beside another; 0 is maximum likelihood.

    Raises:
        ValueError: if there is no pair with words on both sides.
    """
    some = [pair for pair in pairs if all(pair)]
    if not some:
        raise ValueError("an aligner learns from pairs, and there is none with words on both sides")
    cells, now = _Cells(some), TENSION if tension is None else tension
    likely = np.full(len(cells.pair_e), 1 / len(cells.words[1]))
    log_likelihoods = []
    for _ in range(rounds):
        joint = cells.prior(now, NULL) * likely[cells.pair]
        rows = np.bincount(cells.row, weights=joint)
        log_likelihoods.append(float(np.log(rows).sum()))
        shares = joint / rows[cells.row]
        counts = np.bincount(cells.pair, weights=shares) + sparse
        sums = np.bincount(cells.pair_e, weights=counts)[cells.pair_e]
        likely = np.exp(digamma(counts) - digamma(sums)) if sparse else counts / sums
        if tension is None:
            now = cells.tightest(shares)
    sources, targets = cells.words
    table = {
        (sources[e], targets[f]): float(p)
        for e, f, p in zip(cells.pair_e, cells.pair_f, likely, strict=True)
    }
    return Aligner(now, NULL, table, tuple(log_likelihoods))
