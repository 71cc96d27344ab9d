"""Six methods over the same tokens: complete, in order, and each equal to its own function."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.analysis.attribution import alti, flow, rollout, value_zeroing
from transformer.analysis.attribution.gradients import gradients
from transformer.analysis.attribution.integrated import integrated_gradients
from transformer.analysis.attribution.token_attribution import (
    METHODS,
    VECTOR_METHODS,
    shares,
    source_share,
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
    np.testing.assert_allclose(table[["rollout", "alti", "zeroing"]].sum(), 1, atol=1e-6)
    assert table["flow"].between(0, 1).all()


def test_columns_equal_the_single_methods(model: Transformer, trace: Trace) -> None:
    table = token_attribution(model, trace, 2)
    n = len(trace.src_tokens)
    gradient, flows = gradients(model, trace, 2), flow.joint(trace, [2])
    joint = {
        "rollout": rollout.joint(trace),
        "alti": alti.joint(model, trace),
        "zeroing": value_zeroing.joint(model, trace),
    }
    for name, mixed in joint.items():
        np.testing.assert_allclose(table[name][:n], mixed.source[-1, 2])
        np.testing.assert_allclose(table[name][n:], mixed.target[-1, 2, :3])
    np.testing.assert_allclose(table["flow"], [*flows.source[0], *flows.target[0, :3]])
    np.testing.assert_allclose(
        table["gradient"], [*gradient.source, *gradient.target[:3]], rtol=1e-4, atol=1e-7
    )
    integrated = integrated_gradients(model, trace, 2)
    np.testing.assert_allclose(
        table["integrated"], [*integrated.source, *integrated.target], atol=1e-6
    )
    assert list(token_attribution(model, trace, 2, ["alti"]).columns[3:]) == ["alti"]


def test_with_a_contrast_token_only_gradient_methods_are_computed(
    model: Transformer, trace: Trace
) -> None:
    chosen = trace.predicted_ids[2]
    rival = next(c for c in trace.translation.steps[2].candidates if c.id != chosen)
    table = token_attribution(model, trace, 2, against=rival.id)
    assert list(table.columns[3:]) == ["gradient", "integrated"]
    np.testing.assert_allclose(
        table["gradient"].sum(),
        sum(gradients(model, trace, 2, against=rival.token).source)
        + sum(gradients(model, trace, 2, against=rival.token).target[:3]),
        rtol=1e-4,
    )
    sums = table.attrs["integrated"]
    logits = trace["hook_logits"][2]
    assert sums["value"] == pytest.approx(logits[chosen] - logits[rival.id], abs=1e-4)
    total = table["integrated"].sum()
    assert total == pytest.approx(sums["value"] - sums["baseline"] + sums["gap"], abs=1e-5)
    for method in VECTOR_METHODS:
        with pytest.raises(ValueError, match=f"{method} does not depend on the predicted token"):
            token_attribution(model, trace, 2, ["gradient", method], against=rival.id)


def test_normalized_scores_keep_their_signs_and_sum_to_1(model: Transformer, trace: Trace) -> None:
    table = token_attribution(model, trace, 2)
    normalized = shares(table)
    for method in METHODS:
        np.testing.assert_allclose(normalized[method].abs().sum(), 1)
        np.testing.assert_allclose(np.sign(normalized[method]), np.sign(table[method]))
    assert (normalized["gradient"] < 0).any()
    table["flow"] = 0.0
    assert (shares(table)["flow"] == 0).all()


def test_the_source_share_is_the_sum_of_its_rows(model: Transformer, trace: Trace) -> None:
    table = source_share(model, trace)
    assert tuple(table["token"]) == trace.predicted_tokens
    np.testing.assert_allclose(table["rollout"], 1 - 0.5**2, atol=1e-6)
    assert table["alti"].std() > 0.001
    for position in (0, 4):
        rows = token_attribution(model, trace, position, ["alti"])
        source_share_of_rows = rows.loc[rows["side"] == "source", "alti"].sum()
        assert table["alti"][position] == pytest.approx(source_share_of_rows)


def test_invalid_positions_and_methods_are_refused(model: Transformer, trace: Trace) -> None:
    last = len(trace.tgt_tokens) - 1
    with pytest.raises(ValueError, match=f"the positions are 0 to {last}"):
        token_attribution(model, trace, last + 1)
    with pytest.raises(
        ValueError, match="there is no method 'lime'; the methods are rollout, flow"
    ):
        token_attribution(model, trace, 0, ["lime"])
