"""Adam's update written out: every number of it, held against torch's own Adam."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.training.conftest import SMALL, MakeTrainer
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.run_config import INSPECT
from transformer.text.batching import make_batch
from transformer.training.data import Prepared
from transformer.training.distributed import World
from transformer.training.evaluation_callback import CORNER, Moments
from transformer.training.learner import Learner


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_update_is_the_one_that_torch_made(data: Prepared, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    config = ModelConfig(vocab_size=len(data.vocabulary), **(SMALL | {"d_model": 32}))
    learner = Learner(Transformer(config), dtype, World())
    moments = Moments(learner)
    assert moments.after_update() == {}
    weight = learner.model.get_parameter(INSPECT)
    m = v = largest = np.zeros((CORNER, CORNER))
    for t, rate in enumerate([1e-3, 4e-3, 2e-3, 5e-4], start=1):
        batch = make_batch(data.train, range(8 * t, 8 * t + 8), pad_id=0, bos_id=1)
        learner.gradients(batch, int((batch.tgt_out != 0).sum()), 0.1)
        before = weight.detach()[:CORNER, :CORNER].double().numpy().copy()
        moments.before_update()
        learner.update(rate, 0.5)
        after = weight.detach()[:CORNER, :CORNER].double().numpy()
        told = moments.after_update()
        table = {k: np.array(x) for k, x in told.items() if isinstance(x, list)}
        assert (told["name"], told["shape"], told["t"]) == (INSPECT, [96, 32], t)
        beta1, beta2, epsilon = told["beta1"], told["beta2"], told["epsilon"]
        assert (told["learning_rate"], beta1, beta2, epsilon) == (rate, 0.9, 0.98, 1e-9)
        assert weight.grad is not None
        gradient = weight.grad[:CORNER, :CORNER].double().numpy()  # clipped in place
        m, v = 0.9 * m + 0.1 * gradient, 0.98 * v + 0.02 * gradient**2
        m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.98**t)
        np.testing.assert_array_equal(table["before"], before)
        np.testing.assert_array_equal(table["value"], after)
        np.testing.assert_array_equal(table["gradient"], gradient)
        # m is a sum of either sign: four roundings a step, of numbers up to the largest gradient,
        # stay where the sum cancels. v cannot cancel.
        largest = np.maximum(largest, np.abs(gradient))
        rounding = 4 * 2**-24 * t * largest
        assert (np.abs(table["m"] - m) <= rounding).all()
        assert (np.abs(table["m_hat"] - m_hat) <= rounding / (1 - 0.9**t)).all()
        for name, expected in (("v", v), ("v_hat", v_hat)):
            np.testing.assert_allclose(table[name], expected, rtol=1e-5, atol=0)
        step = rate * table["m_hat"] / (np.sqrt(table["v_hat"]) + epsilon)
        np.testing.assert_allclose(table["step"], step, rtol=1e-12)
        np.testing.assert_allclose(before - step, after, rtol=0, atol=1e-7)
        assert np.abs(step).max() > 1e-4


def test_a_small_matrix_is_shown_whole(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=1)
    moments = Moments(trainer.learner, "encoder.layers.0.ffn.w_1.weight")
    trainer.train()
    told = moments.after_update()
    assert told["shape"] == [32, 16]
    assert np.array(told["m"]).shape == (16, 16)


@pytest.mark.parametrize("name", ["decoder.layers.0.cross_attn.w_qk", "encoder.layers.9.w_o"])
def test_a_matrix_that_is_not_there_is_refused(name: str, make_trainer: MakeTrainer) -> None:
    with pytest.raises(ValueError, match=f"has no matrix '{name}'; did you mean"):
        Moments(make_trainer().learner, name)
