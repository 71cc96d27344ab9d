"""The panels of every box, compared with torch's functions and evaluated line by line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.analysis.inside.traced_models import KINDS, TracedModel, evaluate_latex, trace_model
from transformer.analysis.inside import OpenedBox, Panel, boxes, opened_box, worked_steps
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text import Vocabulary


@pytest.fixture(scope="module", params=KINDS)
def traced_model(
    request: pytest.FixtureRequest, vocabulary: Vocabulary, tmp_path_factory: Any
) -> TracedModel:
    return trace_model(request.param, vocabulary, tmp_path_factory.mktemp("inside") / request.param)


@pytest.fixture(scope="module")
def all_boxes(traced_model: TracedModel) -> list[OpenedBox]:
    """All boxes, opened for head 3."""
    trace, translator = traced_model.trace, traced_model.translator
    box_list = boxes(translator.model.config)
    return [opened_box(trace, translator, box.name, 3) for box in box_list]


def tensor(panel: Panel) -> torch.Tensor:
    return torch.from_numpy(panel.values)


def test_the_walkthrough_visits_every_hook_point_in_order() -> None:
    config = ModelConfig.preset("tiny", vocab_size=320)
    box_list = boxes(config)
    hooks = Transformer(config).hook_names
    sites = [box.site for box in box_list if box.site]
    assert sorted(sites) == sorted(hooks)
    assert len({box.name for box in box_list}) == len(box_list)
    assert box_list[3].name == "encoder.0.self_attn.query"
    assert box_list[3].shape == "n_heads × src × d_k = 4 × src × 16"


def test_a_box_shows_the_tensor_of_its_hook_point(
    traced_model: TracedModel, all_boxes: list[OpenedBox]
) -> None:
    for box in all_boxes:
        assert box.result.role == "result"
        if box.box.site and box.box.step != "logits":
            recorded = traced_model.trace[box.box.site]
            recorded = recorded[3] if recorded.ndim == 3 else recorded
            np.testing.assert_array_equal(box.result.values, recorded.astype(np.float64))


def test_an_input_equals_the_output_of_the_box_it_names(all_boxes: list[OpenedBox]) -> None:
    by_name = {box.box.name: box for box in all_boxes}
    inputs = [p for box in by_name.values() for p in box.panels if p.role == "input"]
    assert len(inputs) > len(by_name) / 2
    for panel in inputs:
        np.testing.assert_allclose(panel.values, by_name[panel.origin].result.values, atol=1e-12)


def test_softmax_and_values_equal_torch(traced_model: TracedModel) -> None:
    for stack, block in (("encoder", "self"), ("decoder", "self"), ("decoder", "cross")):
        attention = f"{stack}.0.{block}_attn"
        q, k, v, scores, weights, heads = (
            opened_box(traced_model.trace, traced_model.translator, f"{attention}.{step}", 2).result
            for step in ("query", "key", "value", "scores", "softmax", "heads")
        )
        query, key, value = map(tensor, (q, k, v))
        causal = (stack, block) == ("decoder", "self")
        config = traced_model.translator.model.config
        if config.score == "additive":
            allowed = torch.ones(len(query), len(key)).tril() if causal else torch.tensor(1.0)
            masked = tensor(scores).masked_fill(allowed == 0, -torch.inf)
            expected = masked.softmax(-1) @ value
        else:
            scale = config.d_k**-0.5 if config.score == "scaled_dot" else 1.0
            expected = functional.scaled_dot_product_attention(
                query, key, value, is_causal=causal, scale=scale
            )
        torch.testing.assert_close(tensor(heads), expected, atol=1e-5, rtol=1e-4)
        np.testing.assert_allclose(weights.values.sum(axis=1), 1, atol=1e-6)
        if causal:
            assert np.all(weights.values[np.triu_indices(len(query), 1)] == 0)


def test_the_mask_hides_only_later_tokens(traced_model: TracedModel) -> None:
    future = opened_box(traced_model.trace, traced_model.translator, "decoder.0.self_attn.mask", 0)
    above = np.triu(np.ones(future.result.values.shape, bool), 1)
    np.testing.assert_array_equal(np.isinf(future.result.values), above)
    np.testing.assert_array_equal(future.panel("allowed").values, ~above)
    for attention in ("encoder.0.self_attn", "decoder.0.cross_attn"):
        box = opened_box(traced_model.trace, traced_model.translator, f"{attention}.mask", 0)
        np.testing.assert_array_equal(box.result.values, box.panel("scaled").values)


def test_the_layernorm_derivation_equals_torch(traced_model: TracedModel) -> None:
    block = "decoder.0.cross_attn"
    box = opened_box(traced_model.trace, traced_model.translator, f"{block}.norm")
    norm: Any = traced_model.translator.model.get_submodule("decoder.layers.0.cross_attn_norm.norm")
    r = tensor(box.panel("total"))
    gain, shift = tensor(box.panel("gain"))[0], tensor(box.panel("shift"))[0]
    np.testing.assert_allclose(gain, norm.weight.double())
    expected = functional.layer_norm(r, r.shape[1:], gain, shift, norm.eps)
    torch.testing.assert_close(tensor(box.panel("y")), expected, atol=1e-5, rtol=1e-5)
    normalized = tensor(box.panel("hat"))
    expected = functional.layer_norm(r, r.shape[1:], eps=norm.eps)
    torch.testing.assert_close(normalized, expected, atol=1e-5, rtol=1e-5)
    variance = r.var(dim=1, correction=0, keepdim=True)
    torch.testing.assert_close(tensor(box.panel("variance")), variance, atol=1e-5, rtol=1e-5)


def test_the_outputs_of_the_heads_sum_to_the_attention_output(traced_model: TracedModel) -> None:
    name = "encoder.0.self_attn.output"
    head_boxes = [
        opened_box(traced_model.trace, traced_model.translator, name, head) for head in range(4)
    ]
    total = sum(box.panel("u").values for box in head_boxes)
    bias = traced_model.translator.model.encoder.layers[0].self_attn.b_o  # type: ignore[union-attr]
    total = total if bias is None else total + bias.numpy()  # type: ignore[operator]
    np.testing.assert_allclose(total, head_boxes[0].result.values, atol=1e-5)


def test_the_network_is_also_two_convolutions(traced_model: TracedModel) -> None:
    for step, table, convolution in (("hidden", "z", "z_conv"), ("output", "ffn", "ffn_conv")):
        box = opened_box(traced_model.trace, traced_model.translator, f"decoder.0.ffn.{step}")
        expected = box.panel(table).values
        np.testing.assert_allclose(box.panel(convolution).values, expected, atol=1e-5)


def test_the_output_box_shows_the_top_tokens_and_the_chosen_one(traced_model: TracedModel) -> None:
    trace, translator = traced_model.trace, traced_model.translator
    logits = torch.tensor(trace["hook_logits"]).double()
    probabilities = opened_box(trace, translator, "output.softmax").result
    expected, ids = logits.softmax(-1).topk(10)
    np.testing.assert_allclose(probabilities.values, expected, rtol=1e-5)
    assert probabilities.cells[1] == tuple(translator.vocabulary.tokens(ids[1]))
    word = opened_box(trace, translator, "output.choice")
    predicted_ids = torch.tensor(trace.predicted_ids)[:, None]
    np.testing.assert_allclose(
        word.result.values, logits.softmax(-1).gather(1, predicted_ids), rtol=1e-5
    )
    assert tuple(row[0] for row in word.result.cells) == trace.predicted_tokens
    order = logits.argsort(dim=1, descending=True)
    np.testing.assert_array_equal(
        word.panel("rank").values[:, 0], (order == predicted_ids).int().argmax(dim=1) + 1
    )


def test_every_line_of_a_derivation_equals_the_number(all_boxes: list[OpenedBox]) -> None:
    lines = 0
    for box in all_boxes:
        for panel in box.panels:
            rows, columns = panel.values.shape
            for row, column in {(0, columns - 1), (rows - 1, 0), (rows // 2, columns // 2)}:
                value = panel.values[row, column]
                symbols, *numbers = worked_steps(panel, row, column)
                assert not symbols.startswith("=")
                assert numbers[-1].startswith("=")
                for line in numbers:
                    assert line.count("{") == line.count("}")
                    if line.startswith("="):
                        lines += 1
                        # Numbers have four digits, and some are small differences of large ones.
                        assert evaluate_latex(line) == pytest.approx(value, rel=4e-3, abs=4e-3), (
                            line
                        )
    assert lines > 500


def test_a_trace_with_an_intervention_is_refused(traced_model: TracedModel) -> None:
    site = "encoder.layers.0.self_attn.hook_heads"
    tensors = dict(traced_model.trace.tensors)
    tensors[site] = torch.as_tensor(tensors[site]) * 0
    changed = replace(traced_model.trace, tensors=tensors)
    with pytest.raises(ValueError, match=f"{site} of this trace does not follow"):
        opened_box(changed, traced_model.translator, "encoder.0.self_attn.heads")
    opened_box(changed, traced_model.translator, "encoder.0.self_attn.softmax")


def test_missing_boxes_and_heads_are_named(traced_model: TracedModel) -> None:
    trace, translator = traced_model.trace, traced_model.translator
    with pytest.raises(ValueError, match=r"no box 'encoder.0.self_attn.querry'; did you mean"):
        opened_box(trace, translator, "encoder.0.self_attn.querry")
    with pytest.raises(ValueError, match="no head 4; the heads are 0 to 3"):
        opened_box(trace, translator, "encoder.0.self_attn.query", 4)
    box = opened_box(trace, translator, "encoder.0.self_attn.query")
    assert box.head == 0
    with pytest.raises(ValueError, match=r"columns 0 to 5; there is no cell 0, 6\."):
        worked_steps(box.result, 0, 6)
    partial_trace = translator.trace("She finds bread.", "Oui.", names=["hook_logits"])
    with pytest.raises(KeyError, match=r"the trace has no .*self_attn_norm"):
        opened_box(partial_trace, translator, "encoder.0.ffn.add")
