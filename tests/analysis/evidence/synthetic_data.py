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
from transformer.analysis.alignment.aligner_errors import AlignerErrors
from transformer.analysis.alignment.error_rate import AlignmentCounts
from transformer.analysis.corpora import Corpus, Sentence
from transformer.analysis.corpora.passes import no_progress
from transformer.analysis.findings import FINDINGS, Finding
from transformer.analysis.findings import by_measure as by_measure_module
from transformer.analysis.findings import single_heads as single_heads_module
from transformer.analysis.findings import word_alignment as words_module
from transformer.analysis.roles.head_measures import StrongestKeys
from transformer.measures.kinds import Head

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


def single(patch: pytest.MonkeyPatch, distance: float, n: int, rng: Rng) -> None:
    """For each kind, 7 of 8 heads cost 1 + `distance`% of the loss, ± 8% for each sentence, and one
    head ten times as much."""

    def losses(
        translator: Translator, corpus: Corpus, groups: list[list[Head]], progress: object
    ) -> tuple[np.ndarray, np.ndarray]:
        costs = [0.1 if group[0][1:] == (1, 3) else 0.01 + distance / 100 for group in groups]
        baseline = rng.gamma(8.0, 2.0, n)  # sentences of all lengths
        noise = rng.normal(0, 0.08, (len(groups), n))
        return baseline, baseline * (1 + np.array(costs)[:, None] + noise)

    patch.setattr(single_heads_module, "losses", losses)


def _patch_aligners(
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
    errors = AlignerErrors(
        pd.DataFrame(),
        AlignmentCounts(heads, counts("diagonal"), np.full(n, float(LINKS))),
        n,
        (),
    )
    patch.setattr(words_module, "measure_aligners", lambda *_, **__: errors)


def _better_aligners(best: Callable[[str, str, int, int], bool]) -> Patch:
    """All aligners and rivals find 50%, those chosen 51 + `distance`%."""

    def apply(patch: pytest.MonkeyPatch, distance: float, n: int, rng: Rng) -> None:
        _patch_aligners(
            patch, n, rng, lambda *key: 51 + distance if len(key) > 1 and best(*key) else 50
        )

    return apply


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
            return FINDINGS[name].test(translator, corpus, no_progress)


GOLD = Corpus.from_lines(["a b\tc d\t0-0 1-1"], "x").sentences[0].gold
TRUTHS: dict[str, Truth] = {
    "positional": Truth(positional, clear_distance=6, small_distance=0.5),
    "single": Truth(single, clear_distance=3, small_distance=0.1),
    "alignment-diagonal": Truth(_better_aligners(lambda by, to, n, h: by == "weights"), 10, 0.5),
    "norms-input": Truth(
        _better_aligners(lambda by, to, n, h: (by, to) == ("norms", "input")), 10, 0.5
    ),
    "norms-output": Truth(
        _better_aligners(lambda by, to, n, h: (by, to) == ("norms", "output")), 10, 0.5
    ),
    "input-layers": Truth(_better_aligners(lambda by, to, n, h: (to, n) == ("input", 0)), 10, 0.5),
    "input-heads": Truth(_better_aligners(lambda by, to, n, h: to == "input"), 10, 0.5),
    "rare": Truth(rare, clear_distance=8, small_distance=0.5),
}
