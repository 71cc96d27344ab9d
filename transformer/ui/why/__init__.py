"""The Why self-attention page."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, field

PARTS = {
    "table": "Table 1",
    "time": "Time",
    "paths": "Paths",
    "race": "Race",
    "scores": "Scores",
    "results": "Results",
}


@dataclass(frozen=True)
class Why(View):
    """n, d, k, r as in Table 1; dk: the width of a query, where scores are measured.

    Attributes:
        race: name of the race that is looked at; "" is none.
    """

    part: str = field("table", "Part", choices=PARTS)
    n: int = field(64, "n, length of the sequence", bounds=(2, 65536))
    d: int = field(512, "d, width of the vectors", bounds=(8, 4096))
    k: int = field(3, "k, kernel of the convolution", bounds=(1, 31))
    r: int = field(15, "r, neighbourhood", bounds=(1, 127))
    dk: int = field(64, "d_k, components of a query", bounds=(1, 1024))
    race: str = field()
