"""Evaluations of a run: correct, without effect on training, limited in time."""

from __future__ import annotations

import itertools
import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.training.conftest import MakeTrainer, losses, translation_task
from transformer.checkpoint import load_checkpoint
from transformer.inference import Translator
from transformer.inference.trace import WEIGHTS
from transformer.training.data import PreparedData
from transformer.training.evaluation_callback import MAX_TIME_SHARE
from transformer.training.evaluator import ProbeSet
from transformer.training.run_folder import RunFolder


@pytest.fixture
def probe_set(pairs: list[tuple[str, str]]) -> ProbeSet:
    return ProbeSet(probes=pairs[:2], valid=pairs[2:12], language=True)


def test_evaluation_equals_the_translators_results(
    make_trainer: MakeTrainer, data: PreparedData, probe_set: ProbeSet
) -> None:
    """Compare the last snapshot, examples and metrics with traces of the trained model."""
    trainer = make_trainer(probe_set=probe_set, steps=12, average=1)
    trainer.train()
    run = trainer.run
    translator = Translator(trainer.learner.model.eval(), data.vocabulary)
    snapshot, labels = run.snapshot(12), run.labels()
    assert set(snapshot) == {f"{n}.{kind}" for n in range(2) for kind in WEIGHTS}
    for number, (src, tgt) in enumerate(probe_set.probes):
        trace = translator.trace(src, tgt)
        assert labels[number] == {
            "src": list(trace.src_tokens),
            "tgt": list(trace.tgt_tokens),
            "predicted": list(trace.predicted_tokens),
        }
        for kind in WEIGHTS:
            weights = snapshot[f"{number}.{kind}"]
            assert weights.dtype == np.float16
            expected = np.stack([trace.weights(kind, layer) for layer in range(trace.n_layers)])
            np.testing.assert_allclose(weights, expected, atol=1e-3)
    longest = max(len(data.vocabulary.encode(tgt)) for _, tgt in probe_set.valid)
    translations = [translator.translate(src, max_len=longest + 5) for src, _ in probe_set.valid]
    last_evaluation = run.examples()[-1]
    assert last_evaluation["step"] == 12
    assert [example["output"] for example in last_evaluation["examples"]] == [
        t.text for t in translations[:8]
    ]
    assert [example["src"] for example in last_evaluation["examples"]] == [
        src for src, _ in probe_set.valid[:8]
    ]
    forced = [translator.translate(src, target=tgt) for src, tgt in probe_set.valid]
    n_tokens = sum(len(translation.ids) for translation in forced)
    line = [line for line in run.metrics() if "sequence_accuracy" in line][-1]
    nll = -sum(translation.log_probability for translation in forced)
    assert line["valid_loss"] == pytest.approx(nll / n_tokens, rel=1e-4)
    assert line["perplexity"] == pytest.approx(math.exp(line["valid_loss"]))
    is_most_probable = [
        step.candidates[0].id == step.chosen.id
        for translation in forced
        for step in translation.steps
    ]
    assert line["token_accuracy"] == pytest.approx(np.mean(is_most_probable), abs=1.5 / n_tokens)
    assert 0 <= line["bleu"] <= 100
    assert run.inspect()["t"] == 12
    assert load_checkpoint(run.checkpoint_path)


def test_evaluations_do_not_change_training(make_trainer: MakeTrainer, probe_set: ProbeSet) -> None:
    """A run that is stopped between evaluations and resumed takes the same steps, too."""
    reference = make_trainer("reference")
    reference.train()
    evaluated = make_trainer("evaluated", probe_set=probe_set)
    evaluated.train()
    stopped = make_trainer("resumed", probe_set=probe_set, steps=7)
    stopped.train()
    resumed = make_trainer("resumed", probe_set=probe_set)
    resumed.train()
    steps = [
        [entry for entry in losses(t.run) if entry[0] > 0] for t in (reference, evaluated, resumed)
    ]
    assert steps[0] == steps[1] == steps[2]
    for name, weight in reference.learner.model.named_parameters():
        assert torch.equal(weight, evaluated.learner.model.get_parameter(name)), name
        assert torch.equal(weight, resumed.learner.model.get_parameter(name)), name
    assert [line["step"] for line in resumed.run.examples()] == resumed.run.snapshots()


@pytest.mark.parametrize("valid_every", [10, 0])
def test_evaluations_without_a_time_limit_are_at_fixed_steps(
    make_trainer: MakeTrainer, probe_set: ProbeSet, valid_every: int
) -> None:
    """Slow evaluations once moved to later steps, so that curves of several seeds differed."""
    trainer = make_trainer(probe_set=probe_set, steps=40, valid_every=valid_every)
    callback = translation_task(trainer).callback
    assert callback is not None
    callback.clock = itertools.count(0.0, 10.0).__next__  # every evaluation takes ten seconds
    measured = [step for step in range(41) if callback.evaluate_if_due(step, step / 40, 0.1)]
    assert measured == [*range(valid_every, 41, valid_every)] if valid_every else [*range(1, 41)]
    assert trainer.run.snapshots() == [*range(41)]


def test_evaluations_stay_within_their_time_share(
    make_trainer: MakeTrainer, probe_set: ProbeSet
) -> None:
    """A step takes 0.1 s and an evaluation 2 s."""
    trainer = make_trainer(probe_set=probe_set, steps=100, valid_every=0, minutes=60.0)
    callback = translation_task(trainer).callback
    assert callback is not None
    callback.clock = itertools.count(0.0, 2.0).__next__
    n_measured = 0
    for step in range(1001):
        elapsed = 0.1 * step + callback.seconds_spent
        n_measured += bool(callback.evaluate_if_due(step, step / 1000, elapsed))
        # The last evaluation may exceed the share by its own time.
        assert callback.seconds_spent <= MAX_TIME_SHARE * elapsed + 0.2 + 2.0
    assert 5 <= n_measured <= 9  # (100 s + evaluations) · 15% / 2 s, less the first snapshots
    seconds_before = callback.seconds_spent
    # The end is always evaluated.
    assert callback.evaluate_if_due(1000, 1.0, 100.0, final=True)
    assert callback.seconds_spent == pytest.approx(seconds_before + 2.0)


def test_later_snapshots_are_deleted_on_resume(
    make_trainer: MakeTrainer, probe_set: ProbeSet
) -> None:
    trainer = make_trainer(probe_set=probe_set)
    trainer.train()
    assert max(trainer.run.snapshots()) == 12
    trainer.run.rewind(5)
    assert max(trainer.run.snapshots()) == 5
    assert [line["step"] for line in trainer.run.examples()] == trainer.run.snapshots()


def test_incomplete_files_are_skipped(
    tmp_path: Path, make_trainer: MakeTrainer, probe_set: ProbeSet
) -> None:
    run = RunFolder(tmp_path / "none")
    assert (run.snapshots(), run.snapshot(3), run.labels()) == ([], {}, [])
    assert (run.examples(), run.inspect(), run.metrics()) == ([], {}, [])
    trainer = make_trainer(probe_set=probe_set, steps=2)
    trainer.train()
    run = trainer.run
    complete_examples = run.examples()
    for size in (0, 3, 100, 500):
        os.truncate(run.snapshots_path / "00000002.npz", size)
        assert run.snapshot(2) == {}
    with run.examples_path.open("ab") as file:
        file.write(b'{"step": 3, "examples": [{"src": "\xc3')
    assert run.examples() == complete_examples
    for path in (run.inspect_path, run.snapshots_path / "labels.json"):
        path.write_bytes(path.read_bytes()[:20])
    assert (run.inspect(), run.labels()) == ({}, [])
