"""The table of steps says what was decoded."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from transformer.figures import steps_data
from transformer.inference.results import Candidate, Step

JE, TU, END = Candidate("▁Je", 7, 0.8), Candidate("▁Tu", 8, 0.1), Candidate("</s>", 2, 0.99)
STEPS = (
    Step(0, ("<s>",), (JE, TU), JE),
    Step(1, ("<s>", "▁Je"), (END, TU), END),
)


def test_each_step_has_its_input_its_candidates_and_the_one_taken() -> None:
    first, second = steps_data(STEPS)["steps"]
    assert first == {
        "step": 1,
        "input": ["<s>"],
        "candidates": [
            {"token": "▁Je", "id": 7, "probability": 0.8},
            {"token": "▁Tu", "id": 8, "probability": 0.1},
        ],
        "chosen": {"token": "▁Je", "id": 7, "probability": 0.8},
        "last": False,
    }
    assert (second["step"], second["input"], second["last"]) == (2, ["<s>", "▁Je"], True)


def test_it_is_json_whatever_the_tokens_are() -> None:
    odd = replace(JE, token="\ud800<b>\u202e\u0000")
    data = steps_data([replace(STEPS[0], candidates=(odd,), chosen=odd)])
    assert json.loads(json.dumps(data)) == data


@pytest.mark.parametrize("probability", [float("nan"), -0.1, 1.1])
def test_what_is_no_probability_is_refused(probability: float) -> None:
    with pytest.raises(ValueError, match="not 0 to 1"):
        steps_data([replace(STEPS[0], chosen=replace(JE, probability=probability))])
