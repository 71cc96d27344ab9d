"""The published results: BLEU and training cost on newstest2014 (Table 2), with those of other
models."""

from __future__ import annotations

from dataclasses import dataclass

P100 = 9.5e12
"""Floating-point operations per second that the paper assumes for one of its GPUs (footnote 5)."""


@dataclass(frozen=True)
class Table2Row:
    """A row of Table 2; None where it has no entry.

    Attributes:
        kind: "ours" of the paper, "single" or "ensemble".
        de, fr: BLEU, English to German and to French.
        cost_de, cost_fr: of training, floating-point operations.
    """

    name: str
    kind: str
    de: float | None = None
    fr: float | None = None
    cost_de: float | None = None
    cost_fr: float | None = None


TABLE_2 = (
    Table2Row("ByteNet", "single", de=23.75),
    Table2Row("Deep-Att + PosUnk", "single", fr=39.2, cost_fr=1.0e20),
    Table2Row("GNMT + RL", "single", 24.6, 39.92, 2.3e19, 1.4e20),
    Table2Row("ConvS2S", "single", 25.16, 40.46, 9.6e18, 1.5e20),
    Table2Row("MoE", "single", 26.03, 40.56, 2.0e19, 1.2e20),
    Table2Row("Deep-Att + PosUnk, ensemble", "ensemble", fr=40.4, cost_fr=8.0e20),
    Table2Row("GNMT + RL, ensemble", "ensemble", 26.30, 41.16, 1.8e20, 1.1e21),
    Table2Row("ConvS2S, ensemble", "ensemble", 26.36, 41.29, 7.7e19, 1.2e21),
    Table2Row("Transformer, base", "ours", 27.3, 38.1, 3.3e18, 3.3e18),
    Table2Row("Transformer, big", "ours", 28.4, 41.8, 2.3e19, 2.3e19),
)
"""In the paper's order. The paper gives the Transformer's cost once for both languages. 41.8 is
from the table on arXiv; the proceedings' table, the abstract and section 6.1 have 41.0."""


def cost(hours: float, gpus: int = 8, gpu_flops: float = P100) -> float:
    """Return the operations of a training as the paper estimates them (section 6.1): time × GPUs ×
    speed."""
    return hours * 3600 * gpus * gpu_flops
