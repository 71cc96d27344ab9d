"""The strongest connections of a model: each edge's score, and the true effect of the drawn ones.

connections = find_connections(model, pairs)
connections.table                 # a row per edge: upstream, downstream, input, score, effect
connections.rank_correlation      # of score and effect over the edges that were patched
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd
import torch

from transformer.analysis.circuits.edge_attribution import edge_attribution
from transformer.analysis.circuits.edge_patching import patched_effects
from transformer.analysis.circuits.example_pairs import ExamplePairs
from transformer.analysis.corpora.passes import Progress, no_progress
from transformer.model import Transformer

N_DRAWN = 24
"""Number of edges that are patched and drawn."""
COLUMNS = ["upstream", "downstream", "input", "score", "effect"]


@dataclass(frozen=True, eq=False)
class Connections:
    """Edges of a model, the one with the largest absolute score first.

    Attributes:
        clean, corrupted: logit difference of the unpatched model, and of the corrupted examples;
            the mean over the pairs.
        accuracy: share of the measured positions where the right token has the largest logit.
        table: upstream and downstream are node names (`graph.CircuitNode.name`), input is that of
            `graph.Edge`; score is the estimate of `edge_attribution`, effect that of
            `patched_effects`, missing for edges that were not patched. Both are falls of the logit
            difference.
    """

    clean: float
    corrupted: float
    accuracy: float
    table: pd.DataFrame

    @property
    def patched(self) -> pd.DataFrame:
        """The rows whose effect was measured."""
        return self.table[self.table["effect"].notna()]

    @property
    def rank_correlation(self) -> float:
        """Spearman's rank correlation of score and effect over `patched`; NaN if all are equal."""
        ranks = self.patched[["score", "effect"]].rank()
        return float(ranks["score"].corr(ranks["effect"]))

    @property
    def absolute_rank_correlation(self) -> float:
        """Spearman's rank correlation of the absolute values of score and effect over `patched`."""
        ranks = self.patched[["score", "effect"]].abs().rank()
        return float(ranks["score"].corr(ranks["effect"]))

    def strongest(self, count: int = N_DRAWN) -> pd.DataFrame:
        """The rows with the largest absolute scores."""
        return self.table.head(count)

    def to_dict(self, count: int | None = None) -> dict[str, Any]:
        """Return a dictionary for JSON, with the first `count` edges or all."""
        rows = self.table if count is None else self.table.head(count)
        records = [
            {**row, "effect": None if pd.isna(row["effect"]) else row["effect"]}
            for row in rows.to_dict(orient="records")
        ]
        fields = {"clean": self.clean, "corrupted": self.corrupted, "accuracy": self.accuracy}
        return {**fields, "edges": len(self.table), "table": records}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Restore connections from `to_dict`."""
        table = pd.DataFrame(values["table"], columns=COLUMNS)
        table["effect"] = table["effect"].astype(float)
        return cls(values["clean"], values["corrupted"], values["accuracy"], table)


def find_connections(
    model: Transformer,
    pairs: ExamplePairs,
    *,
    patched: int | None = N_DRAWN,
    progress: Progress = no_progress,
) -> Connections:
    """Score every edge, and really patch the strongest.

    Args:
        model: in evaluation mode.
        pairs: clean and corrupted examples, from `pair_examples`.
        patched: number of edges to patch, those with the largest absolute scores; None: all.

    Raises:
        ValueError: as `edge_attribution`.
    """
    pairs = pairs.to(model.embedding.weight.device)
    progress(0.0, "scoring edges")
    scores = edge_attribution(model, pairs)
    ordered = sorted(scores, key=lambda edge: -abs(scores[edge]))
    effects = patched_effects(model, pairs, ordered[:patched], progress=progress)
    rows = [
        (edge.upstream.name, edge.downstream.name, edge.input, scores[edge], effects.get(edge))
        for edge in ordered
    ]
    table = pd.DataFrame(rows, columns=COLUMNS).astype({"score": float, "effect": float})
    progress(1.0, "measured")
    return Connections(*_baselines(model, pairs), table)


@torch.no_grad()
def _baselines(model: Transformer, pairs: ExamplePairs) -> tuple[float, float, float]:
    """Return the clean and the corrupted metric, and the accuracy where the answers differ."""
    clean = model(pairs.src, pairs.tgt)
    corrupted = pairs.logit_difference(model(pairs.corrupted_src, pairs.corrupted_tgt))
    is_correct = (clean.argmax(-1) == pairs.answers)[pairs.differs].double()
    return (
        float(pairs.logit_difference(clean).mean()),
        float(corrupted.mean()),
        float(is_correct.mean()),
    )
