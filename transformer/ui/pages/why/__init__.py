"""The Why self-attention page."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, field

PARTS = {
    "table": "Table 1",
    "paths": "Paths",
    "race": "Race",
    "scores": "Scores",
}


@dataclass(frozen=True)
class Why(View):
    """Sizes n, d, k and r as in Table 1, and d_k for the scores.

    Attributes:
        race: name of the open comparison of layers; "" is none.
    """

    part: str = field("table", "Part", choices=PARTS)
    n: int = field(64, "n, sequence length", bounds=(2, 65536))
    d: int = field(512, "d, dimension of the vectors", bounds=(8, 4096))
    k: int = field(3, "k, kernel size", bounds=(1, 31))
    r: int = field(15, "r, neighbourhood size", bounds=(1, 127))
    dk: int = field(64, "d_k, dimension of a query", bounds=(1, 1024))
    race: str = field()
