"""Synthetic measurements for every finding, drawn from a known truth.

Each of `TRUTHS` replaces the measurements of `n` sentences by synthetic ones. The distance of the
truth from the finding's floor is given in the effect's own unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from transformer import Translator
from transformer.analysis.alignment.error_rate import AlignmentCounts
from transformer.analysis.alignment.leaderboard import Leaderboard
from transformer.analysis.corpora import Corpus, Sentence
from transformer.analysis.corpora.passes import no_progress
from transformer.analysis.evidence.bootstrap import BleuCounts
from transformer.analysis.findings import FINDINGS, Finding, pruning_over_training
from transformer.analysis.findings import by_measure as by_measure_module
from transformer.analysis.findings import faithful as faithful_module
from transformer.analysis.findings import half_explanation as half_explanation_module
from transformer.analysis.findings import over_training as training_module
from transformer.analysis.findings import removal as removal_module
from transformer.analysis.findings import word_alignment as words_module
from transformer.analysis.importance.by_gradient import Importance
from transformer.analysis.interventions.switching import Head
from transformer.analysis.roles.head_measures import StrongestKeys

Rng = np.random.Generator
LAYERS, HEADS = 2, 4  # of the tiny model
LINKS = 8  # links of a sentence: in the gold alignment and predicted
Patch = Callable[[pytest.MonkeyPatch, float, int, Rng], None]


def positional(patch: pytest.MonkeyPatch, distance: float, n: int, rng: Rng) -> None:
    """Sentences of 12 tokens; the better of two heads attends to the next token in
    90 + `distance`% of rows."""
    length = 12
    share = 0.9 + distance / 100 + rng.uniform(-0.02, 0.02, n)
    position = np.tile(np.arange(length), n)
    strongest = []
    for deficit in (0.0, 0.2):
        ahead = rng.random((n, length)) < (share - deficit)[:, None]
        ahead[:, -1] = False
        strongest.append(position + ahead.ravel())
    size = np.full(n * length, length)
    positions = StrongestKeys(
        np.array(strongest, dtype=np.int16)[None],
        position,
        size,
        size,
        np.repeat(np.arange(n), length),
    )
    measured = SimpleNamespace(strongest_keys={"encoder": positions})
    patch.setattr(by_measure_module, "measure_heads", lambda *_: measured)


def rare(patch: pytest.MonkeyPatch, distance: float, n: int, rng: Rng) -> None:
    """Sentences of 12 tokens; one head attends to the rarest one in 50 + `distance`% of rows."""
    rates = np.array([[0.5 + distance / 100, 0.1], [0.9, 0.9]])[..., None] + rng.normal(0, 0.02, n)
    values = rng.binomial(12, np.clip(rates, 0, 1)) / 12
    measured = SimpleNamespace(
        values={"encoder": {"rare": values}}, rows={"encoder": {"rare": np.full(n, 12.0)}}
    )
    patch.setattr(by_measure_module, "measure_heads", lambda *_: measured)


def _patch_removal_losses(
    patch: pytest.MonkeyPatch, n: int, rng: Rng, cost: Callable[[list[Head]], float]
) -> None:
    """Losses of sentences of all lengths; removing heads adds the fraction `cost`, ± 8%."""

    def losses(
        translator: Translator, corpus: Corpus, groups: list[list[Head]], progress: object
    ) -> tuple[np.ndarray, np.ndarray]:
        baseline = rng.gamma(8.0, 2.0, n)
        noise = rng.normal(0, 0.08, (len(groups), n))
        return baseline, baseline * (
            1 + np.array([cost(group) for group in groups])[:, None] + noise
        )

    uniform = {kind: np.ones((LAYERS, HEADS)) for kind in ("encoder", "decoder", "cross")}
    patch.setattr(removal_module, "losses", losses)
    patch.setattr(removal_module, "gradient_importance", lambda *_, **__: Importance(uniform))


def single(patch: pytest.MonkeyPatch, distance: float, n: int, rng: Rng) -> None:
    """For each kind, 7 of 8 heads cost 1 + `distance`% of the loss, and one ten times as much."""
    usual_cost = 0.01 + distance / 100
    _patch_removal_losses(
        patch, n, rng, lambda group: 0.1 if group[0][1:] == (1, 3) else usual_cost
    )


def fragile(patch: pytest.MonkeyPatch, distance: float, n: int, rng: Rng) -> None:
    cost = {"encoder": 0.2, "decoder": 0.3, "cross": 0.31 + distance / 100}
    _patch_removal_losses(patch, n, rng, lambda group: cost[group[0][0]] if group else 0.0)


def last_cross(patch: pytest.MonkeyPatch, distance: float, n: int, rng: Rng) -> None:
    def cost(group: list[Head]) -> float:
        return 0.21 + distance / 100 if group[0][:2] == ("cross", 1) else 0.2

    _patch_removal_losses(patch, n, rng, cost)


def _patch_leaderboard(
    patch: pytest.MonkeyPatch, n: int, rng: Rng, accuracy: Callable[..., float]
) -> None:
    """Aligners that find this many of 100 links; some sentences are harder for all of them."""
    difficulty = rng.uniform(-0.15, 0.15, n)

    def counts(*key: object) -> np.ndarray:
        hits = rng.binomial(LINKS, np.clip(accuracy(*key) / 100 + difficulty, 0, 1))
        return np.stack([hits, hits, np.full(n, LINKS)]).astype(np.float64)

    heads = {
        (by, to): np.stack(
            [
                np.stack([counts(by, to, layer, head) for head in range(HEADS + 1)], axis=1)
                for layer in range(LAYERS)
            ],
            axis=1,
        )
        for by in ("weights", "norms")
        for to in ("output", "input")
    }
    rivals = {name: counts(name) for name in ("diagonal", "chance", "statistical")}
    board = Leaderboard(
        pd.DataFrame(),
        AlignmentCounts(heads, rivals, np.full(n, float(LINKS))),
        n,
        (),
        n_training_pairs=1000,
    )
    patch.setattr(words_module, "leaderboard", lambda *_, **__: board)


def _better_aligners(best: Callable[[str, str, int, int], bool]) -> Patch:
    """All aligners and rivals find 50%, those chosen 51 + `distance`%."""

    def apply(patch: pytest.MonkeyPatch, distance: float, n: int, rng: Rng) -> None:
        _patch_leaderboard(
            patch, n, rng, lambda *key: 51 + distance if len(key) > 1 and best(*key) else 50
        )

    return apply


def _patch_agreement(rank: Callable[[int, int], float]) -> Patch:
    """Correlations of 0.3, and for the layers in `rank` (by method) the floor plus `distance`."""

    def apply(patch: pytest.MonkeyPatch, distance: float, n: int, rng: Rng) -> None:
        truth = [[0.3 + (0.05 + distance) * rank(m, layer) for layer in range(2)] for m in range(4)]
        correlations = (
            np.array(truth) + rng.normal(0, 0.15, (n, 4, 2)) + rng.normal(0, 0.1, (n, 1, 1))
        )
        patch.setattr(faithful_module, "agreement", lambda *_: correlations)

    return apply


def _better_method(method: int) -> Patch:
    return _patch_agreement(lambda m, layer: float(m == method))


_better_second_layer = _patch_agreement(lambda m, layer: float(m == 1 and layer == 1))


def half_explanation(patch: pytest.MonkeyPatch, distance: float, n: int, rng: Rng) -> None:
    """Correlations of 0.75 − `distance` in every layer."""
    correlations = 0.75 - distance + rng.normal(0, 0.05, (2, n, LAYERS + 1))
    table = pd.DataFrame({"perturbed": ["memory"], "layer": [0], "correlation": [0.75 - distance]})
    patch.setattr(
        half_explanation_module, "relevance_correlations", lambda *_: (correlations, table)
    )


def tolerance(patch: pytest.MonkeyPatch, distance: float, n: int, rng: Rng) -> None:
    """Without the heads, the first checkpoint translates half of the sentences as before, and the
    last `distance` + 1 points more; all other translations share no word with their reference."""
    shares = iter((1.0, 0.5, 1.0, 0.51 + distance / 100))

    def bleu(translator: Translator, corpus: Corpus, references: list[str]) -> BleuCounts:
        is_unchanged = rng.random(n) < next(shares)
        lost = "w x y z q v"
        return BleuCounts(
            [r if keep else lost for r, keep in zip(references, is_unchanged, strict=True)],
            references,
        )

    order = Importance({kind: np.ones((LAYERS, HEADS)) for kind in ("encoder", "decoder", "cross")})
    patch.setattr(training_module, "corpus_bleu", bleu)
    patch.setattr(training_module, "reference_texts", lambda *_: ["a b c d e f"] * n)
    patch.setattr(training_module, "gradient_importance", lambda *_, **__: order)


@dataclass(frozen=True)
class Truth:
    """How a finding's data are drawn, and which distances from the floor are clear or small."""

    apply: Patch
    clear_distance: float
    small_distance: float

    def verdict_of(
        self, name: str, distance: float, n: int, seed: int, translator: Translator
    ) -> Finding:
        """Return the finding measured over `n` synthetic sentences."""
        with pytest.MonkeyPatch.context() as patch:
            self.apply(patch, distance, n, np.random.default_rng([seed, n]))
            corpus = Corpus("synthetic", (Sentence("a b", "c d", GOLD),) * n)
            if name == "tolerance":
                return pruning_over_training([(1, translator), (2, translator)], corpus)
            return FINDINGS[name].test(translator, corpus, no_progress)


GOLD = Corpus.from_lines(["a b\tc d\t0-0 1-1"], "x").sentences[0].gold
TRUTHS: dict[str, Truth] = {
    "positional": Truth(positional, clear_distance=6, small_distance=0.5),
    "single": Truth(single, clear_distance=3, small_distance=0.1),
    "fragile": Truth(fragile, clear_distance=8, small_distance=0.5),
    "last-cross": Truth(last_cross, clear_distance=8, small_distance=0.5),
    "alignment-diagonal": Truth(_better_aligners(lambda by, to, n, h: by == "weights"), 10, 0.5),
    "alignment-statistical": Truth(_better_aligners(lambda by, to, n, h: by == "weights"), 10, 0.5),
    "norms-input": Truth(
        _better_aligners(lambda by, to, n, h: (by, to) == ("norms", "input")), 10, 0.5
    ),
    "norms-output": Truth(
        _better_aligners(lambda by, to, n, h: (by, to) == ("norms", "output")), 10, 0.5
    ),
    "input-layers": Truth(_better_aligners(lambda by, to, n, h: (to, n) == ("input", 0)), 10, 0.5),
    "input-heads": Truth(_better_aligners(lambda by, to, n, h: to == "input"), 10, 0.5),
    "rollout-encoder": Truth(_better_method(1), 0.15, 0.01),
    "rollout-depth-encoder": Truth(_better_second_layer, 0.15, 0.01),
    "value-zeroing": Truth(_better_method(3), 0.15, 0.01),
    "rollout": Truth(_better_method(1), 0.15, 0.01),
    "rollout-depth": Truth(_better_second_layer, 0.15, 0.01),
    "alti": Truth(_better_method(2), 0.15, 0.01),
    "half-explanation": Truth(half_explanation, 0.1, 0.005),
    "rare": Truth(rare, clear_distance=8, small_distance=0.5),
    "tolerance": Truth(tolerance, 25, 2),
}
