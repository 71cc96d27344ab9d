"""What is changed by hand, as the address writes it, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from transformer.analysis.interventions.switching import Head
from transformer.measures import naming
from transformer.measures.head_codes import LETTERS
from transformer.ui.widgets import exact

_KINDS = {letter: kind for kind, letter in LETTERS.items()}


@dataclass(frozen=True)
class Row:
    """A painted row: the head, the query, and a weight from 0 for each key that has one."""

    head: Head
    query: int
    weights: Mapping[int, int]

    def written(self) -> str:
        """As the address has it: "c5.1.3:0x70,4x30"."""
        kind, layer, head = self.head
        keys = ",".join(f"{key}x{weight}" for key, weight in sorted(self.weights.items()))
        return f"{LETTERS[kind]}{layer}.{head}.{self.query}:{keys}"

    def whole(self, n_keys: int) -> list[float]:
        """A weight for every key. Raises ValueError for a weight of a key that is not there."""
        if max(self.weights) >= n_keys:
            raise ValueError(
                f"query {self.query} has no key {max(self.weights)}; its keys are 0 to {n_keys - 1}"
            )
        return [float(self.weights.get(key, 0)) for key in range(n_keys)]


@dataclass(frozen=True)
class Patch:
    """A site, positions of this sentence, and as many of the other one."""

    site: str
    here: tuple[int, ...] = ()
    there: tuple[int, ...] = ()

    def written(self) -> str:
        """As the address has it: "encoder.hook_memory:1,2:3,4"."""
        return f"{self.site}:{numbers_written(self.here)}:{numbers_written(self.there)}"


def row_of(paint: str) -> Row | None:
    """The painted row that `View.paint` writes."""
    if not paint:
        return None
    place, keys = paint.split(":")
    layer, head, query = map(int, place[1:].split("."))
    cells = (one.split("x") for one in keys.split(","))
    weights = {int(key): int(weight) for key, weight in cells}
    return Row((_KINDS[place[0]], layer, head), query, weights)


def patch_of(patch: str) -> Patch | None:
    """The patch that `View.patch` writes."""
    if not patch:
        return None
    site, here, there = patch.split(":")
    return Patch(site, numbers_of(here), numbers_of(there))


def numbers_of(written: str) -> tuple[int, ...]:
    """Positions written with commas."""
    return tuple(dict.fromkeys(int(one) for one in written.split(",") if one))


def numbers_written(numbers: Sequence[int]) -> str:
    """The inverse of `numbers_of`."""
    return ",".join(map(str, numbers))


def place(at: int, token: str, now: bool | None = None) -> str:
    """A token in a list to choose from, told apart by its place; `now`: whether names are exact,
    where that may be asked outside of the session."""
    on = exact.on() if now is None else now
    return f"{naming.counted(at, on)} {naming.token_name(token, on)}"
