"""The class `Task`: numbered examples, so that none is drawn twice.

Each task divides its examples into strata (a length, a kind of sentence) and numbers them within
each. Numbers are sampled without replacement: examples are distinct, the same for the same seed,
and training and validation share none.
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
    """A source and its target, symbols separated by spaces.

    Attributes:
        alignment: sorted (source, target) position pairs, from 0; None if a target symbol depends
            on more than the symbols it could be aligned with.
        dependencies: of the source: a relation and the positions of its head and its dependent.
    """

    src: str
    tgt: str
    alignment: Links | None
    dependencies: tuple[tuple[str, int, int], ...] = ()


class Stratum(NamedTuple):
    """A group of numbered examples: its size, its weight, and a function from number to example."""

    size: int
    weight: float
    example: Callable[[int], Example]


class OptionRange(NamedTuple):
    """The range of an option, both ends included, and its default."""

    minimum: int
    maximum: int
    default: int


GROUPS = ("letters", "arithmetic", "language")
"""Groups of tasks, in the order in which pages show them."""


@dataclass(frozen=True)
class Task:
    """A small generated problem with its explanation, its symbols and all of its examples.

    Attributes:
        group: one of `GROUPS`.
        training: settings with which a tiny model learns the task, where they differ from those of
            `training.recipe`.
        meanings: a short description of each option for the user.
        valid_share: fraction of all examples that is held out; None: at most 500 examples, and at
            most a tenth.
        languages: codes of source and target language, if the task has any.
        parts: returns all training and validation examples of a task where these are fixed; in
            another task the seed of a run draws both.
        probes: examples whose attention shows the task; () leaves the choice to the run.
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
    valid_share: float | None = None
    languages: tuple[str, str] | None = None
    parts: Callable[[], tuple[list[Example], list[Example]]] | None = field(
        default=None, repr=False
    )
    probes: tuple[Example, ...] = ()

    def settings(self, **options: int) -> dict[str, int]:
        """Return all options with their values. Raises ValueError if one is unknown or out of
        range."""
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
        """Return the number of different sources with these options."""
        return sum(stratum.size for stratum in self.strata(self.settings(**options)))

    def pairs(self, n: int, seed: int, **options: int) -> list[Example]:
        """Return `n` examples with different sources in random order, determined by `seed`.

        Every stratum gives its share, or all of its examples if it has fewer. Raises ValueError if
        there are fewer than `n` examples, and for options as `settings` does.
        """
        strata = self.strata(self.settings(**options))
        available = sum(stratum.size for stratum in strata)
        if not 0 <= n <= available:
            raise ValueError(
                f"{n} examples of {self.name} are requested; with these options it has {available}."
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
    """Return training and validation examples; all sources are different.

    Raises ValueError for more examples than the task has, a negative number, and options as
    `Task.settings` does.
    """
    if min(n_train, n_valid) < 0:
        raise ValueError(f"{n_train} and {n_valid} examples are requested; neither may be below 0.")
    if task.parts is not None:
        task.settings(**options)
        train, valid = task.parts()
        for name, n, part in (("training", n_train, train), ("validation", n_valid, valid)):
            if n > len(part):
                raise ValueError(
                    f"{n} {name} examples of {task.name} are requested; it has {len(part)}."
                )
        return train[:n_train], valid[:n_valid]
    drawn = task.pairs(n_train + n_valid, seed, **options)
    return drawn[:n_train], drawn[n_train:]


def _allocate(strata: list[Stratum], n: int, rng: random.Random) -> list[int]:
    """Return how many of `n` examples each stratum gives: by weight, at most its size."""
    shares = [0.0] * len(strata)
    unfilled, remaining = [i for i, stratum in enumerate(strata) if stratum.size], float(n)
    while unfilled:  # strata smaller than their share give all, and the others share the rest
        unit = remaining / sum(strata[i].weight for i in unfilled)
        exhausted = [i for i in unfilled if strata[i].size <= strata[i].weight * unit]
        for i in exhausted or unfilled:
            shares[i] = min(strata[i].size, strata[i].weight * unit)
        remaining -= sum(shares[i] for i in exhausted)
        unfilled = [i for i in unfilled if i not in set(exhausted)] if exhausted else []
    counts = [int(share) for share in shares]
    # The remainder of rounding down goes to random strata, larger fractions more likely first.
    order = sorted(
        range(len(strata)), key=lambda i: (shares[i] - counts[i]) * rng.random(), reverse=True
    )
    n_missing = n - sum(counts)
    while n_missing:
        for i in order:
            if n_missing and counts[i] < strata[i].size:
                counts[i] += 1
                n_missing -= 1
    return counts


def _draw_distinct(rng: random.Random, stratum: Stratum, share: int) -> list[int]:
    """Return `share` different numbers below the stratum's size, without listing all of them."""
    size = stratum.size
    if size < 8 * share:
        return rng.sample(range(size), share)
    numbers: dict[int, None] = {}
    while len(numbers) < share:
        numbers[rng.randrange(size)] = None
    return list(numbers)
