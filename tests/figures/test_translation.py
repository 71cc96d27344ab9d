"""Data of a translation in words and of its table of steps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.figures.fake_traces import FakeTrace, fake_trace
from transformer import Translator
from transformer.figures import steps_data
from transformer.figures.glance import UNKNOWN_WORD, WEIGHT_SCALE, glance_data, head_nearest_mean
from transformer.figures.steps import word_steps
from transformer.inference import Trace
from transformer.inference.alternatives import word_alternatives
from transformer.inference.results import Candidate, Step
from transformer.measures.words import words

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


def translated_trace(source: str = "The umbrella.", src: tuple[str, ...] = SRC) -> FakeTrace:
    """Return a trace of four written pieces in two words, with probabilities."""
    trace = fake_trace(src, TGT, layers=2, heads=3, source=source)
    translation = trace.translation
    translation.ids = tuple(range(len(trace.predicted_tokens)))
    translation.steps = [
        Step(n, (), (first := Candidate("▁a", 1, share), Candidate("▁b", 2, second)), first)
        for n, (share, second) in enumerate(zip(SHARES, RUNNER_UP_SHARES, strict=True))
    ]
    return trace


def test_weights_are_summed_over_source_pieces_and_averaged_over_rows() -> None:
    trace = translated_trace()
    data = glance_data(trace)
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
    data = glance_data(trace)
    sent = np.array(data["head_weights"]).reshape(2, 3, 2, 3) / WEIGHT_SCALE
    for layer, head in np.ndindex(2, 3):
        weights = trace.weights("cross", layer)[head]
        rows = [weights[0], weights[1:3].mean(axis=0)]
        expected = [[row[0], row[1:4].sum(), row[4]] for row in rows]
        np.testing.assert_allclose(sent[layer, head], expected, atol=6e-5)
    many = translated_trace(src=(*["▁a"] * 1_500, "</s>"))
    assert glance_data(many)["head_weights"] == []  # too many to send


def test_a_measured_aligner_uses_its_own_rows() -> None:
    trace = translated_trace()
    aligner = SimpleNamespace(layer=1, head=2, weights_to="input")
    data = glance_data(trace, aligner=aligner)
    assert (data["layer"], data["head"], data["to"]) == (1, 2, "input")
    weights = trace.weights("cross", 1)[2]
    first, second = data["words"]
    # The row after the one that writes a piece has read it.
    np.testing.assert_allclose(first["weights"], [weights[1, 0], weights[1, 1:4].sum()], atol=6e-5)
    mean = weights[2:4].mean(axis=0)
    np.testing.assert_allclose(second["weights"], [mean[0], mean[1:4].sum()], atol=6e-5)
    last = glance_data(replace(trace, predicted_tokens=(*trace.predicted_tokens[:-1], "▁et")),
                       aligner=aligner)["words"][-1]  # fmt: skip
    np.testing.assert_allclose(last["weights"], [weights[-1, 0], weights[-1, 1:4].sum()], atol=6e-5)


def test_the_end_token_is_not_a_word() -> None:
    trace = translated_trace()
    cut = replace(trace, predicted_tokens=(*trace.predicted_tokens[:-1], "▁et"))
    assert [word["text"] for word in glance_data(cut)["words"]] == ["Le", "parapluie.", "et"]


def test_typed_words_are_shown_if_their_number_matches() -> None:
    unknown = ("▁The", "▁", "<unk>", "</s>")
    assert glance_data(translated_trace("The  ☂", ("▁The", "<unk>", "</s>")))["source"] == [
        "The",
        "☂",
    ]
    assert glance_data(translated_trace("The ☂", unknown))["source"] == ["The", "▁", UNKNOWN_WORD]


def test_forced_words_and_alternatives() -> None:
    alternative = SimpleNamespace(
        step=1, ids=(7, 8), text="toit.", probability=0.1, first_piece_probability=0.2
    )
    data = glance_data(translated_trace(), [(), (alternative,)], n_forced=3)
    assert data["forced_word"] == 1
    assert [word["alternatives"] for word in data["words"]] == [
        [],
        [{"text": "toit.", "p": 0.2, "step": 1, "ids": [7, 8]}],
    ]
    assert glance_data(translated_trace())["forced_word"] == -1


def test_the_head_shown_agrees_most_with_the_mean() -> None:
    # All heads attend weakly along the diagonal; one only there, one always to the last word.
    weights = np.full((2, 2, 3, 3), 0.2) + 0.2 * np.eye(3)
    weights[1, 0] = np.eye(3)
    weights[0, 1] = [0, 0, 1]
    assert head_nearest_mean(weights) == (1, 0)
    assert head_nearest_mean(np.zeros((2, 2, 0, 3))) == (0, 0)


@pytest.fixture(scope="module")
def trace(checkpoints: Path) -> Trace:
    return Translator.load(checkpoints / "tiny", device="cpu").trace("The baker hides books.")


def test_against_a_real_trace(trace: Trace, checkpoints: Path) -> None:
    translator = Translator.load(checkpoints / "tiny", device="cpu")
    data = glance_data(trace, word_alternatives(translator, trace.translation))
    assert (data["n_layers"], data["n_heads"]) == (trace.n_layers, trace.n_heads)
    assert data["ids"] == list(trace.translation.ids)
    ends = trace.predicted_tokens[-1] == "</s>"
    joined = " ".join(word["text"] for word in data["words"])
    tokens = trace.predicted_tokens[: -1 if ends else None]
    assert joined.replace(" ", "") == "".join(tokens).replace("▁", "").replace(
        "<unk>", UNKNOWN_WORD
    )


@pytest.mark.parametrize("text", ["The baker hides books.", "A pilot sells the boat.", "Hello"])
def test_in_a_greedy_translation_no_alternative_is_more_probable(
    text: str, checkpoints: Path
) -> None:
    """A product over tokens could: a word of two tokens seemed less probable than an alternative of
    one."""
    translator = Translator.load(checkpoints / "tiny", device="cpu")
    trace = translator.trace(text, method="greedy", max_len=20)
    alternatives = word_alternatives(translator, trace.translation, min_probability=1e-4)
    data = glance_data(trace, alternatives)
    assert any(entry["alternatives"] for entry in data["words"])
    for word in data["words"]:
        assert all(alternative["p"] <= word["p"] for alternative in word["alternatives"])
    numbers = words(trace.predicted_tokens)
    for step in word_steps(data, trace.translation.steps, numbers)["steps"]:
        assert step["candidates"][0] == step["chosen"]


def test_the_last_step_in_words_writes_the_end_token(checkpoints: Path) -> None:
    translator = Translator.load(checkpoints / "tiny", device="cpu")
    trace = translator.trace("The baker hides books.", target="Un livre.")
    pieces, numbers = trace.translation.steps, words(trace.predicted_tokens)
    assert pieces[-1].chosen.token == "</s>"
    data = glance_data(trace)
    *before, end = word_steps(data, pieces, numbers, live=True)["steps"]
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
        "can_force": True,
    }
    unfinished = word_steps(data, pieces[:-1], numbers[:-1])["steps"]
    assert not any(step["last"] for step in unfinished)


def test_bytes_are_joined_in_words_and_in_alternatives() -> None:
    tokens = ("<s>", "▁", "<0xC3>", "<0x89>", "teins", "▁la", "<0xE2>", ".")
    trace = fake_trace(SRC, tokens, layers=2, heads=3, source="The umbrella.")
    trace.translation.ids = tuple(range(len(trace.predicted_tokens)))
    candidate = Candidate("▁a", 1, 0.5)
    trace.translation.steps = [Step(n, (), (candidate,), candidate) for n in range(len(tokens))]
    assert [word["text"] for word in glance_data(trace)["words"]] == [
        "Éteins",
        "la�.",
    ]


def test_each_step_has_its_input_candidates_and_choice() -> None:
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


def test_steps_with_any_tokens_are_json() -> None:
    hostile_piece = replace(CHOSEN_PIECE, token="\ud800<b>\u202e\u0000")
    data = steps_data([replace(STEPS[0], candidates=(hostile_piece,), chosen=hostile_piece)])
    assert json.loads(json.dumps(data)) == data


@pytest.mark.parametrize("probability", [float("nan"), -0.1, 1.1])
def test_invalid_probabilities_are_refused(probability: float) -> None:
    with pytest.raises(ValueError, match="not 0 to 1"):
        steps_data([replace(STEPS[0], chosen=replace(CHOSEN_PIECE, probability=probability))])
