"""Three methods over the same tokens: complete, in order, and each equal to its own function."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.analysis.attribution import rollout, value_zeroing
from transformer.analysis.attribution.gradients import gradients
from transformer.analysis.attribution.token_attribution import (
    METHODS,
    shares,
    token_attribution,
)
from transformer.inference.trace import Trace
from transformer.model import Transformer


@pytest.mark.parametrize("position", [0, 3])
def test_the_table_has_the_source_and_the_target_prefix(
    model: Transformer, trace: Trace, position: int
) -> None:
    table = token_attribution(model, trace, position)
    source, target = (table[table["side"] == side] for side in ("source", "target"))
    assert tuple(source["token"]) == trace.src_tokens
    assert tuple(target["token"]) == trace.tgt_tokens[: position + 1]
    assert list(target["position"]) == list(range(position + 1))
    # A position is completely attributed: removing future tokens removes no share.
    np.testing.assert_allclose(table[["rollout", "zeroing"]].sum(), 1, atol=1e-6)


def test_columns_equal_the_single_methods(model: Transformer, trace: Trace) -> None:
    table = token_attribution(model, trace, 2)
    n = len(trace.src_tokens)
    gradient = gradients(model, trace, 2)
    joint = {
        "rollout": rollout.joint(trace),
        "zeroing": value_zeroing.joint(model, trace),
    }
    for name, mixed in joint.items():
        np.testing.assert_allclose(table[name][:n], mixed.source[-1, 2])
        np.testing.assert_allclose(table[name][n:], mixed.target[-1, 2, :3])
    np.testing.assert_allclose(
        table["gradient"], [*gradient.source, *gradient.target[:3]], rtol=1e-4, atol=1e-7
    )
    assert list(token_attribution(model, trace, 2, ["rollout"]).columns[3:]) == ["rollout"]


def test_with_a_contrast_token_only_the_gradient_is_computed(
    model: Transformer, trace: Trace
) -> None:
    chosen = trace.predicted_ids[2]
    rival = next(c for c in trace.translation.steps[2].candidates if c.id != chosen)
    table = token_attribution(model, trace, 2, against=rival.id)
    assert list(table.columns[3:]) == ["gradient"]
    np.testing.assert_allclose(
        table["gradient"].sum(),
        sum(gradients(model, trace, 2, against=rival.token).source)
        + sum(gradients(model, trace, 2, against=rival.token).target[:3]),
        rtol=1e-4,
    )
    for method in ("rollout", "zeroing"):
        with pytest.raises(ValueError, match=f"{method} does not depend on the predicted token"):
            token_attribution(model, trace, 2, ["gradient", method], against=rival.id)


def test_normalized_scores_keep_their_signs_and_sum_to_1(model: Transformer, trace: Trace) -> None:
    table = token_attribution(model, trace, 2)
    normalized = shares(table)
    for method in METHODS:
        np.testing.assert_allclose(normalized[method].abs().sum(), 1)
        np.testing.assert_allclose(np.sign(normalized[method]), np.sign(table[method]))
    assert (normalized["gradient"] < 0).any()
    table["zeroing"] = 0.0
    assert (shares(table)["zeroing"] == 0).all()


def test_invalid_positions_and_methods_are_refused(model: Transformer, trace: Trace) -> None:
    last = len(trace.tgt_tokens) - 1
    with pytest.raises(ValueError, match=f"the positions are 0 to {last}"):
        token_attribution(model, trace, last + 1)
    with pytest.raises(
        ValueError, match="there is no method 'lime'; the methods are rollout, zeroing"
    ):
        token_attribution(model, trace, 0, ["lime"])
