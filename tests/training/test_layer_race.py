"""The race between layer types: equal weights, reproducible results, and learning."""

from __future__ import annotations

import json
from typing import Any

import pytest

from transformer.training.layer_race import (
    COLUMNS,
    ENTRIES,
    REFERENCE_LAYER,
    VALID_PER_DISTANCE,
    compute,
)

TASK = {"letters": 4, "word": 2, "longest": 6}


def race(**arguments: Any) -> tuple[list[dict[str, Any]], list[tuple[float, str]]]:
    """Return the lines of a race on a small task, and all reports of its progress."""
    reports: list[tuple[float, str]] = []
    arguments = {"seeds": [1], "steps": 2, "task": TASK, **arguments}
    result = compute(arguments, lambda fraction, stage: reports.append((fraction, stage)))
    return json.loads(json.dumps(result, allow_nan=False))["lines"], reports


def test_all_layer_types_have_almost_equally_many_weights_and_their_reach() -> None:
    lines, reports = race(steps=1)
    facts = {line["entry"]: line for line in lines}
    assert list(facts) == [*ENTRIES]
    assert all({*line} == {*COLUMNS} for line in lines)
    for entry, line in facts.items():
        assert abs(line["weights"] / facts[REFERENCE_LAYER]["weights"] - 1) < 0.02, entry
    # L (k - 1) / 2, L (r - 1) / 2 and m^L - 1 for two layers; the others reach every position.
    reach = {"convolutional": 6, "restricted": 8, "dilated": 15}
    assert {entry: line["reach"] for entry, line in facts.items()} == {
        entry: reach.get(entry) for entry in ENTRIES
    }
    assert {line["chance"] for line in lines} == {0.25}
    assert [line["distance"] for line in lines[:4]] == [2, 3, 4, 6]
    fractions = [fraction for fraction, _ in reports]
    assert fractions == sorted(fractions)
    assert reports[-1] == (1.0, "training dilated, seed 1")


def test_a_seed_gives_the_same_result_whatever_ran_before() -> None:
    both, _ = race(seeds=[1, 2], entries=["GRU"])
    second, _ = race(seeds=[2], entries=["GRU"])
    assert [line for line in both if line["seed"] == 2] == second
    assert [line["accuracy"] for line in both[:4]] != [line["accuracy"] for line in second]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"entries": ["pooling"]}, r"no entries \['pooling'\]; there are self-attention"),
        ({"task": {"letters": 99}}, "letters must be from 2 to 26, not 99"),
    ],
)
def test_invalid_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        race(**arguments)


def test_a_convolution_learns_within_its_receptive_field_only() -> None:
    lines, _ = race(entries=["convolutional"], steps=400, task={**TASK, "longest": 16})
    accuracies = {line["distance"]: line["accuracy"] for line in lines}
    assert all(accuracies[distance] > 0.8 for distance in (2, 3, 4))
    for distance in (8, 12, 16):  # chance level 1/4, within four standard deviations
        assert abs(accuracies[distance] - 1 / 4) < 4 * (
            (1 / 4 * 3 / 4 / (2 * VALID_PER_DISTANCE)) ** 0.5
        )
