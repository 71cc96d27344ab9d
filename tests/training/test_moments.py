"""The recorded update of a matrix equals the formulas of Adam."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.training.conftest import SHAPE
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text.batching import make_batch
from transformer.training.data import PreparedData
from transformer.training.evaluation_callback import MAX_CORNER, Moments
from transformer.training.learner import Learner
from transformer.training.run_config import INSPECT


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_recorded_moments_equal_the_formulas_of_adam(
    data: PreparedData, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    config = ModelConfig(vocab_size=len(data.vocabulary), **(SHAPE | {"d_model": 32}))
    learner = Learner(Transformer(config), dtype)
    moments = Moments(learner)
    assert moments.after_update() == {}
    weight = learner.model.get_parameter(INSPECT)
    m = v = largest_gradient = np.zeros((MAX_CORNER, MAX_CORNER))
    for t, rate in enumerate([1e-3, 4e-3, 2e-3, 5e-4], start=1):
        batch = make_batch(data.train, range(8 * t, 8 * t + 8), pad_id=0, bos_id=1)
        learner.compute_gradients(batch.to(torch.get_default_device()), 0.1)
        before = weight.detach()[:MAX_CORNER, :MAX_CORNER].double().cpu().numpy().copy()
        moments.before_update()
        learner.update(rate, 0.5)
        after = weight.detach()[:MAX_CORNER, :MAX_CORNER].double().cpu().numpy()
        update = moments.after_update()
        table = {k: np.array(x) for k, x in update.items() if isinstance(x, list)}
        assert (update["name"], update["shape"], update["t"]) == (INSPECT, [96, 32], t)
        beta1, beta2, epsilon = update["beta1"], update["beta2"], update["epsilon"]
        assert (update["learning_rate"], beta1, beta2, epsilon) == (rate, 0.9, 0.98, 1e-9)
        assert weight.grad is not None
        gradient = weight.grad[:MAX_CORNER, :MAX_CORNER].double().cpu().numpy()  # clipped in place
        m, v = 0.9 * m + 0.1 * gradient, 0.98 * v + 0.02 * gradient**2
        m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.98**t)
        np.testing.assert_array_equal(table["before"], before)
        np.testing.assert_array_equal(table["value"], after)
        np.testing.assert_array_equal(table["gradient"], gradient)
        # m sums numbers of both signs: four rounding errors per step, relative to the largest
        # gradient, remain when the sum cancels. v cannot cancel.
        largest_gradient = np.maximum(largest_gradient, np.abs(gradient))
        rounding = 4 * 2**-24 * t * largest_gradient
        assert (np.abs(table["m"] - m) <= rounding).all()
        assert (np.abs(table["m_hat"] - m_hat) <= rounding / (1 - 0.9**t)).all()
        for name, expected in (("v", v), ("v_hat", v_hat)):
            np.testing.assert_allclose(table[name], expected, rtol=1e-5, atol=0)
        step = rate * table["m_hat"] / (np.sqrt(table["v_hat"]) + epsilon)
        np.testing.assert_allclose(table["step"], step, rtol=1e-12)
        np.testing.assert_allclose(before - step, after, rtol=0, atol=1e-7)
        assert np.abs(step).max() > 1e-4
