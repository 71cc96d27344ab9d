"""A translation in words and its table of steps, as the browser draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.figures.deno import drawn
from tests.figures.fake_traces import FakeTrace, fake_trace
from transformer import Translator
from transformer.figures.glance import alternative_fields, glance_data
from transformer.figures.packed_trace import describe
from transformer.figures.packing import unpack
from transformer.inference import Trace
from transformer.inference.alternatives import word_alternatives
from transformer.inference.results import Candidate, Step

SRC = ("▁The", "▁um", "brella", ".", "</s>")
TGT = ("<s>", "▁Le", "▁para", "pluie", ".")
SHARES = (0.5, 0.8, 0.25, 0.5, 0.9)
RUNNER_UP_SHARES = (0.3, 0.1, 0.2, 0.05, 0.01)  # of the strongest piece that was not taken
CHOSEN_PIECE, OTHER_PIECE, END = (
    Candidate("▁Je", 7, 0.8),
    Candidate("▁Tu", 8, 0.1),
    Candidate("</s>", 2, 0.99),
)
STEPS = (
    Step(0, ("<s>",), (CHOSEN_PIECE, OTHER_PIECE), CHOSEN_PIECE),
    Step(1, ("<s>", "▁Je"), (END, OTHER_PIECE), END),
)


def step_table(steps: Sequence[Step]) -> SimpleNamespace:
    """Return the steps as `results.StepTable` has them."""
    return SimpleNamespace(
        chosen=[step.chosen for step in steps],
        tokens=[[candidate.token for candidate in step.candidates] for step in steps],
        ids=[[candidate.id for candidate in step.candidates] for step in steps],
        probabilities=[[candidate.probability for candidate in step.candidates] for step in steps],
    )


def translated_trace(source: str = "The umbrella.", src: tuple[str, ...] = SRC) -> FakeTrace:
    """Return a trace of four written pieces in two words, with probabilities."""
    trace = fake_trace(src, TGT, layers=2, heads=3, source=source)
    trace.translation.table = step_table(
        [
            Step(n, (), (first := Candidate("▁a", 1, share), Candidate("▁b", 2, second)), first)
            for n, (share, second) in enumerate(zip(SHARES, RUNNER_UP_SHARES, strict=True))
        ]
    )
    return trace


def glance(trace: Any, *arguments: Any, n_forced: int = 0, **options: Any) -> dict[str, Any]:
    """Return what the first page draws of a trace."""
    packed = glance_data({}, trace, *arguments, **options)
    drawn_data: dict[str, Any] = drawn("glance", packed, n_forced)
    return drawn_data


def table(trace: Any, alternatives: Any = None, **options: Any) -> list[dict[str, Any]]:
    """Return the rows of the table of steps; `alternatives` are of each word, for whole words."""
    data = {
        "trace": describe(trace, []),
        "words": alternatives is not None,
        "alternatives": alternative_fields(alternatives or ()),
        "live": False,
        "forced": -1,
        **options,
    }
    rows: list[dict[str, Any]] = drawn("table", data)
    return rows


def test_weights_are_summed_over_source_pieces_and_averaged_over_rows() -> None:
    trace = translated_trace()
    data = glance(trace)
    assert data["source"] == ["The", "umbrella."]
    assert [word["text"] for word in data["words"]] == ["Le", "parapluie."]
    weights = trace.weights("cross", data["layer"])[data["head"]]
    first, second = data["words"]
    np.testing.assert_allclose(first["weights"], [weights[0, 0], weights[0, 1:4].sum()], atol=6e-5)
    mean = weights[1:3].mean(axis=0)  # the row of the full stop looks elsewhere than its word
    np.testing.assert_allclose(second["weights"], [mean[0], mean[1:4].sum()], atol=6e-5)
    for word in data["words"]:
        assert sum(word["weights"]) + word["end_weight"] == pytest.approx(1, abs=2e-4)
    assert [word["p"] for word in data["words"]] == pytest.approx([0.5, 0.25])


def test_the_weights_of_all_heads_are_between_the_same_words() -> None:
    trace = translated_trace()
    data = glance(trace)
    sent = np.array(data["head_weights"]).reshape(2, 3, 2, 3)
    for layer, head in np.ndindex(2, 3):
        weights = trace.weights("cross", layer)[head]
        rows = [weights[0], weights[1:3].mean(axis=0)]
        expected = [[row[0], row[1:4].sum(), row[4]] for row in rows]
        np.testing.assert_allclose(sent[layer, head], expected, atol=6e-5)
    many = translated_trace(src=(*["▁a"] * 1_500, "</s>"))
    assert glance(many)["head_weights"] == []  # too many to show
    aligner = SimpleNamespace(layer=1, head=2, weights_to="output")
    assert [*unpack(glance_data({}, many, aligner=aligner))[1]] == ["weights.cross.1"]
    assert glance(many, aligner=aligner)["layer"] == 1


def test_a_measured_aligner_uses_its_own_rows() -> None:
    trace = translated_trace()
    aligner = SimpleNamespace(layer=1, head=2, weights_to="input")
    data = glance(trace, aligner=aligner)
    assert (data["layer"], data["head"], data["to"]) == (1, 2, "input")
    weights = trace.weights("cross", 1)[2]
    first, second = data["words"]
    # The row after the one that writes a piece has read it.
    np.testing.assert_allclose(first["weights"], [weights[1, 0], weights[1, 1:4].sum()], atol=6e-5)
    mean = weights[2:4].mean(axis=0)
    np.testing.assert_allclose(second["weights"], [mean[0], mean[1:4].sum()], atol=6e-5)
    last = glance(replace(trace, predicted_tokens=(*trace.predicted_tokens[:-1], "▁et")),
                       aligner=aligner)["words"][-1]  # fmt: skip
    np.testing.assert_allclose(last["weights"], [weights[-1, 0], weights[-1, 1:4].sum()], atol=6e-5)


def test_typed_words_are_shown_if_their_number_matches() -> None:
    unknown = ("▁The", "▁", "<unk>", "</s>")
    assert glance(translated_trace("The  ☂", ("▁The", "<unk>", "</s>")))["source"] == [
        "The",
        "☂",
    ]
    assert glance(translated_trace("The ☂", unknown))["source"] == ["The", "▁", "▯"]


def test_forced_words_and_alternatives() -> None:
    alternative = SimpleNamespace(
        step=1, ids=(7, 8), text="toit.", probability=0.1, first_piece_probability=0.2
    )
    data = glance(translated_trace(), [(), (alternative,)], n_forced=3)
    assert data["forced_word"] == 1
    assert [word["alternatives"] for word in data["words"]] == [
        [],
        [{"text": "toit.", "p": 0.2, "step": 1, "ids": [7, 8]}],
    ]
    assert glance(translated_trace())["forced_word"] == -1


@pytest.fixture(scope="module")
def trace(checkpoints: Path) -> Trace:
    return Translator.load(checkpoints / "tiny", device="cpu").trace("The baker hides books.")


def test_against_a_real_trace(trace: Trace, checkpoints: Path) -> None:
    translator = Translator.load(checkpoints / "tiny", device="cpu")
    data = glance(trace, word_alternatives(translator, trace.translation))
    assert (data["n_layers"], data["n_heads"]) == (trace.n_layers, trace.n_heads)
    assert data["ids"] == list(trace.translation.ids)
    ends = trace.predicted_tokens[-1] == "</s>"
    joined = " ".join(word["text"] for word in data["words"])
    tokens = trace.predicted_tokens[: -1 if ends else None]
    assert joined.replace(" ", "") == "".join(tokens).replace("▁", "").replace("<unk>", "▯")


@pytest.mark.parametrize("text", ["The baker hides books.", "A pilot sells the boat.", "Hello"])
def test_in_a_greedy_translation_no_alternative_is_more_probable(
    text: str, checkpoints: Path
) -> None:
    """A product over tokens could: a word of two tokens seemed less probable than an alternative of
    one."""
    translator = Translator.load(checkpoints / "tiny", device="cpu")
    trace = translator.trace(text, method="greedy", max_len=20)
    alternatives = word_alternatives(translator, trace.translation, min_probability=1e-4)
    data = glance(trace, alternatives)
    assert any(entry["alternatives"] for entry in data["words"])
    for word in data["words"]:
        assert all(alternative["p"] <= word["p"] for alternative in word["alternatives"])
    for step in table(trace, alternatives):
        assert step["candidates"][0] == step["chosen"]


def test_the_last_step_in_words_writes_the_end_token(checkpoints: Path) -> None:
    translator = Translator.load(checkpoints / "tiny", device="cpu")
    trace = translator.trace("The baker hides books.", target="Un livre.")
    pieces = trace.translation.steps
    assert pieces[-1].chosen.token == "</s>"
    data = glance(trace)
    *before, end = table(trace, (), live=True)
    assert [step["last"] for step in before] == [False] * len(data["words"])
    chosen = {
        "token": "</s>",
        "id": pieces[-1].chosen.id,
        "probability": pieces[-1].chosen.probability,
        "step": len(pieces) - 1,
    }
    assert end == {
        "step": len(data["words"]) + 1,
        "first": len(pieces) - 1,
        "input": ["<s>", *(word["text"] for word in data["words"])],
        "candidates": [chosen],
        "chosen": chosen,
        "last": True,
        "tokens": 1,
        "forced": False,
        "canForce": True,
    }
    unfinished = translator.trace("The baker hides books.", max_len=1)
    assert not any(step["last"] for step in table(unfinished, ()))


def test_bytes_are_joined_in_words_and_in_alternatives() -> None:
    tokens = ("<s>", "▁", "<0xC3>", "<0x89>", "teins", "▁la", "<0xE2>", ".")
    trace = fake_trace(SRC, tokens, layers=2, heads=3, source="The umbrella.")
    candidate = Candidate("▁a", 1, 0.5)
    steps = [Step(n, (), (candidate,), candidate) for n in range(len(tokens))]
    trace.translation.table = step_table(steps)
    assert [word["text"] for word in glance(trace)["words"]] == [
        "Éteins",
        "la�.",
    ]


def test_each_step_has_its_input_candidates_and_choice() -> None:
    trace = fake_trace(["▁I", "</s>"], ["<s>", "▁Je"])
    trace.translation.table = step_table(STEPS)
    first, second = table(trace)
    assert first == {
        "step": 1,
        "first": 0,
        "input": ["<s>"],
        "candidates": [
            {"token": "▁Je", "id": 7, "probability": 0.8},
            {"token": "▁Tu", "id": 8, "probability": 0.1},
        ],
        "chosen": {"token": "▁Je", "id": 7, "probability": 0.8},
        "last": False,
        "tokens": 1,
        "forced": False,
        "canForce": False,
    }
    assert (second["step"], second["input"], second["last"]) == (2, ["<s>", "▁Je"], True)
