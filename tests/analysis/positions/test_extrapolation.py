"""Positions beyond training: shifted and joined texts, and sequences that are too long."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.analysis.small_models import TARGETS, TEXTS, small_translator
from transformer import Translator
from transformer.analysis import positions
from transformer.analysis.positions import (
    grammar_sentences,
    joined_log_probability,
    separate_log_probabilities,
    shifted_log_probability,
)
from transformer.analysis.positions.extrapolation import length_accuracies, shifted_and_joined
from transformer.checkpoint import checkpoint_hash
from transformer.text import Vocabulary
from transformer.text.tasks import TASKS

PAIRS = list(zip(TEXTS, TARGETS, strict=True))


@pytest.fixture(scope="module")
def letters() -> Vocabulary:
    return Vocabulary.from_symbols(TASKS["copy"].symbols)


def test_a_shift_of_0_changes_nothing(translator: Translator) -> None:
    plain = [translator.translate(src, target=tgt) for src, tgt in PAIRS]
    pieces = sum(len(translation.ids) for translation in plain)
    expected = sum(translation.log_probability for translation in plain) / pieces
    assert positions.shifted_log_probability(translator, PAIRS, 0) == pytest.approx(
        expected, rel=1e-4
    )
    assert positions.shifted_log_probability(translator, PAIRS, 30) != pytest.approx(
        expected, rel=1e-3
    )


def test_a_shifted_input_equals_a_hand_shifted_one(vocabulary: Vocabulary) -> None:
    """Equals a model whose position table starts later."""
    translator = small_translator(vocabulary, positions="learned", max_len=40)
    later = small_translator(vocabulary, positions="learned", max_len=40)
    with torch.no_grad():
        for stack in (later.model.encoder, later.model.decoder):
            weight = stack.embed.positions.weight
            weight.copy_(weight.roll(-9, dims=0))
    at_9 = pytest.approx(positions.shifted_log_probability(later, PAIRS[:1], 0), rel=1e-4)
    assert positions.shifted_log_probability(translator, PAIRS[:1], 9) == at_9
    with pytest.raises(ValueError, match="learned 40 positions"):
        positions.shifted_log_probability(translator, PAIRS[:1], 35)


def test_concatenated_texts_are_one_text(translator: Translator) -> None:
    pieces, result = positions.joined_log_probability(translator, PAIRS[:2])
    joined = translator.translate(" ".join(TEXTS[:2]), target=" ".join(TARGETS[:2]))
    assert pieces == len(joined.src_ids)
    assert result == pytest.approx(joined.log_probability / len(joined.ids))
    with pytest.raises(ValueError, match="at most 512"):
        positions.joined_log_probability(translator, PAIRS[:1] * 200)


@pytest.mark.parametrize("task", positions.LENGTH_TASKS)
@pytest.mark.parametrize("length", [2, 17])
def test_an_untrained_model_has_accuracy_0(task: str, length: int) -> None:
    translator = small_translator(Vocabulary.from_symbols(TASKS[task].symbols))
    assert positions.accuracy_at_length(translator, task, length, n=5) == positions.LengthAccuracy(
        length, 0.0
    )


def test_a_trained_model_has_accuracy_1_on_its_own_task() -> None:
    """The shipped model reverses, up to the lengths that it was trained on."""
    translator = Translator.load("toy-reverse", "cpu")
    assert positions.accuracy_at_length(translator, "reverse", 5, n=7).share == 1
    assert positions.accuracy_at_length(translator, "copy", 5, n=7).share == 0
    assert positions.accuracy_at_length(translator, "reverse", 20, n=7).share == 0


def test_beyond_the_learned_positions_an_error_is_reported(letters: Vocabulary) -> None:
    translator = small_translator(letters, positions="learned", max_len=12)
    assert positions.accuracy_at_length(translator, "copy", 11, n=3).share == 0
    beyond = positions.accuracy_at_length(translator, "copy", 12, n=3)
    assert beyond.share is None
    assert beyond.reason == (
        "The text has 13 tokens; at most 12 can be translated at once. Split it into sentences."
    )


def test_invalid_lengths_and_tasks_are_refused(letters: Vocabulary) -> None:
    assert set(positions.LENGTH_TASKS) == {"copy", "reverse", "sort", "cipher", "brackets"}
    with pytest.raises(ValueError, match="'dates' has no adjustable length: choose one of copy"):
        positions.accuracy_at_length(small_translator(letters), "dates", 3)
    with pytest.raises(ValueError, match="longest is 21; it must be from 1 to 20"):
        positions.accuracy_at_length(small_translator(letters), "copy", 21)


def test_the_computation_equals_the_python_functions(checkpoints: Path) -> None:
    folder, counts, shares = checkpoints / "tiny", [1, 2, 400], list[float]()
    request = {"checkpoint": str(folder), "hash": checkpoint_hash(folder), "french": True}
    request |= {"starts": [0, 7], "shifted": 3, "counts": counts}
    result = shifted_and_joined(request, lambda share, stage: shares.append(share))
    translator, pairs = Translator.load(folder), grammar_sentences(400)
    assert result["shifted"] == pytest.approx(
        [shifted_log_probability(translator, pairs[:3], at) for at in (0, 7)]
    )
    for count, value in zip(counts[:2], result["joined"], strict=False):
        assert value == pytest.approx(joined_log_probability(translator, pairs[:count]))
    assert "at most 512 can be translated at once" in result["joined"][2]
    assert result["separate"] == pytest.approx(
        separate_log_probabilities(translator, pairs, counts)
    )
    assert shares == sorted(shares)
    assert max(shares) < 1


@pytest.mark.parametrize("measure", [length_accuracies, shifted_and_joined])
def test_a_changed_checkpoint_is_refused(measure: object, checkpoints: Path) -> None:
    folder = str(checkpoints / "tiny")
    request = {"checkpoint": folder, "hash": "0", "models": [[folder, "0"]], "max_length": 1}
    request |= {"starts": [0], "counts": [1]}
    assert callable(measure)
    with pytest.raises(ValueError, match="tiny has changed since"):
        measure(request, lambda share, stage: None)
