"""What a task is: sentences made from numbers, so that none is ever drawn twice.

Each task lays all of its examples out in strata (a length, a kind of sentence) and numbers them
within one. Drawing is then drawing numbers without putting them back: examples are distinct, the
same for the same seed, and training and validation share none.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Links = tuple[tuple[int, int], ...]
Options = Mapping[str, int]


@dataclass(frozen=True)
class Example:
    """A source and its target, symbols between blanks.

    `alignment`: every (source, target) pair of positions that belong together, counted from 0, in
    order; None where a target's symbol depends on more than what it could be linked to.
    `dependencies`: of the source, a relation with the positions of its governor and its dependent.
    """

    src: str
    tgt: str
    alignment: Links | None
    dependencies: tuple[tuple[str, int, int], ...] = ()


class Stratum(NamedTuple):
    """A kind of example: how many there are, its share of a draw, and the one with a number.

    `draw` gives a number of chance where some are to be met more often than others; every number
    must have a chance. Without it all are alike.
    """

    size: int
    weight: float
    example: Callable[[int], Example]
    draw: Callable[[random.Random], int] | None = None


class OptionRange(NamedTuple):
    """The values an option may take, both ends included, and the one it has if nothing is said."""

    minimum: int
    maximum: int
    default: int


GROUPS = ("letters", "reckoning", "language")
"""What tasks are about, in the order in which pages show them."""


@dataclass(frozen=True)
class Task:
    """A small problem of our own with its explanation, its symbols and all of its examples.

    Attributes:
        group: one of `GROUPS`.
        training: settings of a run in which a tiny model learns it, where they are not those of
            `training.recipe`.
        meanings: what each option sets, for people.
    """

    name: str
    title: str
    group: str
    explanation: str
    look_for: str
    symbols: tuple[str, ...]
    options: Mapping[str, OptionRange]
    training: dict[str, Any]
    strata: Callable[[Options], list[Stratum]] = field(repr=False)
    meanings: Mapping[str, str] = field(default_factory=dict)

    def settings(self, **options: int) -> dict[str, int]:
        """All options with their values. Raises ValueError for one that is unknown or too far."""
        for name, value in options.items():
            if name not in self.options:
                valid_names = ", ".join(self.options) or "none"
                raise ValueError(
                    f'The task {self.name} has no option "{name}"; it has: {valid_names}.'
                )
            minimum, maximum, _ = self.options[name]
            if isinstance(value, bool) or not isinstance(value, int):
                raise ValueError(f"{name} is {value!r}; it must be a whole number.")
            if not minimum <= value <= maximum:
                raise ValueError(f"{name} is {value}; it must be from {minimum} to {maximum}.")
        return {name: choice.default for name, choice in self.options.items()} | options

    def count(self, **options: int) -> int:
        """How many different sources there are with these options."""
        return sum(stratum.size for stratum in self.strata(self.settings(**options)))

    def pairs(self, n: int, seed: int, **options: int) -> list[Example]:
        """`n` examples with different sources in an order of chance, the same for the same `seed`.

        Every stratum gives its share, or all it has if that is less. Raises ValueError if there are
        fewer than `n` examples, and for options as `settings` does.
        """
        strata = self.strata(self.settings(**options))
        available = sum(stratum.size for stratum in strata)
        if not 0 <= n <= available:
            raise ValueError(
                f"{n} examples of {self.name} are wanted; with these options it has {available}."
            )
        rng = random.Random(f"{self.name} {seed}")
        drawn: list[Example] = []
        for stratum, share in zip(strata, _allocate(strata, n, rng), strict=True):
            drawn += [stratum.example(number) for number in _draw_distinct(rng, stratum, share)]
        rng.shuffle(drawn)
        return drawn


def split(
    task: Task, n_train: int, n_valid: int, seed: int, **options: int
) -> tuple[list[Example], list[Example]]:
    """Examples to learn from and examples to be judged by: no source is in both, or twice in one.
    Raises ValueError as `Task.pairs` does for both numbers together, and for a negative one."""
    if min(n_train, n_valid) < 0:
        raise ValueError(f"{n_train} and {n_valid} examples are wanted; neither may be below 0.")
    drawn = task.pairs(n_train + n_valid, seed, **options)
    return drawn[:n_train], drawn[n_train:]


def _allocate(strata: list[Stratum], n: int, rng: random.Random) -> list[int]:
    """How many of `n` each stratum gives: by weight, but none more than it has."""
    shares = [0.0] * len(strata)
    unfilled, remaining = [i for i, stratum in enumerate(strata) if stratum.size], float(n)
    while unfilled:  # those too small for their share give all, and the others share the rest
        unit = remaining / sum(strata[i].weight for i in unfilled)
        full = [i for i in unfilled if strata[i].size <= strata[i].weight * unit]
        for i in full or unfilled:
            shares[i] = min(strata[i].size, strata[i].weight * unit)
        remaining -= sum(shares[i] for i in full)
        unfilled = [i for i in unfilled if i not in set(full)] if full else []
    counts = [int(share) for share in shares]
    # What rounding down has left over goes to strata of chance, the larger fractions first.
    order = sorted(
        range(len(strata)), key=lambda i: (shares[i] - counts[i]) * rng.random(), reverse=True
    )
    rest = n - sum(counts)
    while rest:
        for i in order:
            if rest and counts[i] < strata[i].size:
                counts[i] += 1
                rest -= 1
    return counts


def _draw_distinct(rng: random.Random, stratum: Stratum, share: int) -> list[int]:
    """`share` different numbers below the stratum's size, however large that is."""
    size, draw = stratum.size, stratum.draw
    if size < 8 * share:
        return rng.sample(range(size), share)
    numbers: dict[int, None] = {}
    while len(numbers) < share:
        numbers[draw(rng) if draw else rng.randrange(size)] = None
    return list(numbers)
