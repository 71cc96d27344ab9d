"""Looks at a run: right in what they see, harmless to what is learned, bounded in time."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.training.conftest import SMALL, MakeTrainer, losses, translation
from transformer.checkpoint import load_checkpoint
from transformer.config import ModelConfig
from transformer.inference import Translator
from transformer.inference.trace import WEIGHTS
from transformer.model import Transformer
from transformer.training.data import Prepared
from transformer.training.evaluation_callback import SHARE, EvaluationCallback
from transformer.training.evaluator import Evaluator, ProbeSet
from transformer.training.run import RunFolder
from transformer.training.trainer import Trainer


@pytest.fixture
def probe_set(pairs: list[tuple[str, str]]) -> ProbeSet:
    return ProbeSet(probes=pairs[:2], valid=pairs[2:12], language=True)


def generous(trainer: Trainer) -> Trainer:
    """With a clock that stands still for looks, so that none has to wait."""
    callback = translation(trainer).callback
    assert callback is not None
    callback.clock = lambda: 0.0
    return trainer


def test_what_is_seen_is_what_the_translator_says(
    make_trainer: MakeTrainer, data: Prepared, probe_set: ProbeSet
) -> None:
    """The last snapshot, examples and figures, against the checkpoint's own traces."""
    trainer = generous(make_trainer(probe_set=probe_set, steps=12, average=1))
    trainer.train()
    run = trainer.run
    translator = Translator(trainer.learner.model.eval(), data.vocabulary, "fp32")
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
            found = snapshot[f"{number}.{kind}"]
            assert found.dtype == np.float16
            expected = np.stack([trace.weights(kind, k) for k in range(trace.n_layers)])
            np.testing.assert_allclose(found, expected, atol=1e-3)
    longest = max(len(data.vocabulary.encode(tgt)) for _, tgt in probe_set.valid)
    texts = [translator.translate(src, max_len=longest + 5) for src, _ in probe_set.valid]
    last = run.examples()[-1]
    assert last["step"] == 12
    assert [example["output"] for example in last["examples"]] == [t.text for t in texts[:8]]
    assert [example["src"] for example in last["examples"]] == [
        src for src, _ in probe_set.valid[:8]
    ]
    forced = [translator.translate(src, target=tgt) for src, tgt in probe_set.valid]
    n_tokens = sum(len(one.ids) for one in forced)
    line = [line for line in run.metrics() if "sequence_accuracy" in line][-1]
    nll = -sum(one.log_probability for one in forced)
    assert line["valid_loss"] == pytest.approx(nll / n_tokens, rel=1e-4)
    assert line["perplexity"] == pytest.approx(math.exp(line["valid_loss"]))
    best = [step.candidates[0].id == step.chosen.id for one in forced for step in one.steps]
    assert line["token_accuracy"] == pytest.approx(np.mean(best), abs=1.5 / n_tokens)
    assert 0 <= line["bleu"] <= 100
    assert run.inspect()["t"] == 12
    assert load_checkpoint(run.checkpoint_path)


def test_looks_change_nothing_that_is_learned(
    make_trainer: MakeTrainer, probe_set: ProbeSet
) -> None:
    """Nor does being stopped between them."""
    alone = make_trainer("alone")
    alone.train()
    seen = generous(make_trainer("seen", probe_set=probe_set))
    seen.train()
    first = generous(make_trainer("again", probe_set=probe_set, steps=7))
    first.train()
    again = generous(make_trainer("again", probe_set=probe_set))
    again.train()
    steps = [[one for one in losses(t.run) if one[0] > 0] for t in (alone, seen, again)]
    assert steps[0] == steps[1] == steps[2]
    for name, weight in alone.learner.model.named_parameters():
        assert torch.equal(weight, seen.learner.model.get_parameter(name)), name
        assert torch.equal(weight, again.learner.model.get_parameter(name)), name
    assert [line["step"] for line in again.run.examples()] == again.run.snapshots()


@pytest.fixture
def callback(make_trainer: MakeTrainer, probe_set: ProbeSet) -> EvaluationCallback:
    found = translation(make_trainer(probe_set=probe_set, steps=100)).callback
    assert found is not None
    return found


class Paced:
    """Looks on a clock of the test's own, on which seeing and measuring take so many seconds."""

    def __init__(
        self, callback: EvaluationCallback, see: float, measure: float, first: float | None = None
    ) -> None:
        """`first` is how long seeing takes the first time, if that is longer."""
        self.callback, self.now, self.seen = callback, 0.0, list[int]()

        def take(seconds: float) -> dict[str, int]:
            self.now += seconds
            return {"n": 1}

        def seeing(step: int) -> dict[str, int]:
            self.seen.append(step)
            return take(see if first is None or self.seen[1:] else first)

        callback.clock = lambda: self.now
        callback._see = seeing  # type: ignore[method-assign]
        callback.evaluator.measure = lambda **_: take(measure)  # type: ignore[method-assign]

    def looks(self, steps: int, seconds: float) -> Iterator[tuple[int, bool]]:
        """Steps that take so many seconds each, and whether there was something measured."""
        for step in range(steps + 1):
            yield step, bool(self.callback.look(step, step / steps, self.now))
            self.now += seconds


def test_looks_are_dense_at_first_and_then_even(callback: EvaluationCallback) -> None:
    paced = Paced(callback, see=0.0, measure=0.0)
    measured = [step for step, found in paced.looks(400, 1.0) if found]
    assert paced.seen == sorted({0, 1, 2, 4, 8, 16, 32, 64, *range(0, 401, 10)})
    assert measured == [*range(10, 401, 10)]


def test_looks_keep_to_their_share_of_the_time(callback: EvaluationCallback) -> None:
    paced, looks = Paced(callback, see=0.05, measure=2.0), 0
    for step, found in paced.looks(1000, 0.1):
        looks += found
        if step > 400:  # the second measurement is paid back
            assert callback.spent <= SHARE * paced.now + 0.2
    assert 5 <= looks <= 9  # (100 s + looks) · 15% / 2 s, less what seeing takes
    spent = callback.spent
    # The end is seen whatever it takes.
    assert callback.look(1000, 1.0, paced.now, whole=True) == {"n": 1}
    assert callback.spent == pytest.approx(spent + 2.05)


def test_neither_a_slow_first_look_nor_cheap_measuring_starves_the_film(
    make_trainer: MakeTrainer, probe_set: ProbeSet, callback: EvaluationCallback
) -> None:
    """The first takes 5 s, cold and on a busy machine; each later one 0.05 s."""
    paced = Paced(callback, see=0.05, measure=0.0, first=5.0)
    assert [*paced.looks(1000, 0.1)]
    assert len(paced.seen) > 20  # what the first took is paid back after some 30 s of 100
    other = translation(make_trainer("other", probe_set=probe_set)).callback
    assert other is not None
    paced = Paced(other, see=1.0, measure=0.1)
    assert [*paced.looks(2000, 0.05)]
    assert len(paced.seen) >= 10  # 15% of 100 s and more, at 1.1 s


def test_what_a_resumed_run_will_see_again_is_forgotten(
    make_trainer: MakeTrainer, probe_set: ProbeSet
) -> None:
    trainer = generous(make_trainer(probe_set=probe_set))
    trainer.train()
    assert max(trainer.run.snapshots()) == 12
    trainer.run.forget_seen(5)
    assert max(trainer.run.snapshots()) == 5
    assert [line["step"] for line in trainer.run.examples()] == trainer.run.snapshots()


def test_reading_survives_what_is_half_written(
    tmp_path: Path, make_trainer: MakeTrainer, probe_set: ProbeSet
) -> None:
    run = RunFolder(tmp_path / "none")
    assert (run.snapshots(), run.snapshot(3), run.labels()) == ([], {}, [])
    assert (run.examples(), run.inspect(), run.metrics()) == ([], {}, [])
    trainer = generous(make_trainer(probe_set=probe_set, steps=2))
    trainer.train()
    run = trainer.run
    whole = run.examples()
    for size in (0, 3, 100, 500):
        os.truncate(run.snapshots_path / "00000002.npz", size)
        assert run.snapshot(2) == {}
    with run.examples_path.open("ab") as file:
        file.write(b'{"step": 3, "examples": [{"src": "\xc3')
    assert run.examples() == whole
    for path in (run.inspect_path, run.snapshots_path / "labels.json"):
        path.write_bytes(path.read_bytes()[:20])
    assert (run.inspect(), run.labels()) == ({}, [])


def test_an_output_that_was_cut_off_is_not_right(data: Prepared) -> None:
    model = Transformer(ModelConfig(vocab_size=len(data.vocabulary), **SMALL))
    evaluator = Evaluator(model, data.vocabulary, ProbeSet(probes=(), valid=[("The baker", "Le")]))
    example = evaluator.examples()[0]
    assert (example["src"], example["tgt"], example["right"]) == ("The baker", "Le", False)
