"""A trace has the activations of one forward pass, equal to those of single steps, and labels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.inference import models
from transformer.hooks import Hooks
from transformer.inference import trace_files
from transformer.inference.results import Translation
from transformer.inference.trace import WEIGHTS, Trace
from transformer.inference.translator import Translator

TEXT = "The baker sells the lamp again."
KINDS = ["encoder", "decoder", "cross"]


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return translator.trace(TEXT, max_len=14)


def test_labels_are_input_and_predicted_tokens(trace: Trace, translator: Translator) -> None:
    result = translator.translate(TEXT, max_len=14)
    assert (trace.source, trace.text) == (TEXT, result.text)
    assert trace.src_tokens == result.src_tokens
    assert trace.src_tokens[-1] == "</s>"
    assert trace.predicted_tokens == result.tokens
    assert trace.tgt_tokens == ("<s>", *result.tokens[:-1])
    assert trace.translation.steps[-1].input_tokens == result.steps[-1].input_tokens
    assert trace.translation.score == pytest.approx(result.score, abs=1e-4)
    assert trace.config == translator.model.config.to_dict()
    for kind, rows, columns in (
        ("encoder", trace.src_tokens, trace.src_tokens),
        ("decoder", trace.tgt_tokens, trace.tgt_tokens),
        ("cross", trace.tgt_tokens, trace.src_tokens),
    ):
        assert trace.labels(kind) == (rows, columns)
        assert trace.weights(kind, 1).shape == (4, len(rows), len(columns))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_the_softmax_of_query_times_key(trace: Trace, kind: str) -> None:
    side = "encoder" if kind == "encoder" else "decoder"
    for layer in range(2):
        site = f"{side}.layers.{layer}.{'cross' if kind == 'cross' else 'self'}_attn"
        query, key, value, heads = (
            trace[f"{site}.hook_{part}"] for part in ("query", "key", "value", "heads")
        )
        scores = query.astype(np.float64) @ key.transpose(0, 2, 1) / np.sqrt(16)
        np.testing.assert_allclose(trace[f"{site}.hook_scores"], scores, atol=1e-5)
        if kind == "decoder":
            scores[:, ~np.tri(scores.shape[1], dtype=bool)] = -np.inf
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        assert trace.weights(kind, layer).dtype == np.float32
        np.testing.assert_allclose(trace.weights(kind, layer), weights, atol=1e-6)
        assert (trace.weights(kind, layer)[weights == 0] == 0).all()
        np.testing.assert_allclose(heads, weights @ value, atol=1e-5)


def test_one_pass_equals_the_steps_of_decoding(trace: Trace, translator: Translator) -> None:
    """Row i of each decoder tensor is the last row of a pass over the first i + 1 tokens."""
    step_rows: dict[str, list[torch.Tensor]] = {}

    def last_row(tensor: torch.Tensor, name: str) -> None:
        step_rows.setdefault(name, []).append(tensor[0].cpu())

    names = [
        name
        for name in translator.model.hook_names
        if not name.startswith("encoder") and "hook_positions" not in name
    ]
    stepwise = translator.translate(TEXT, max_len=14, hooks=Hooks(dict.fromkeys(names, last_row)))
    assert stepwise.ids == trace.predicted_ids
    for name in names:
        one_pass, steps = trace[name], step_rows[name]
        assert len(steps) == len(trace.tgt_tokens)
        for i, step in enumerate(steps):
            if name.endswith(("hook_key", "hook_value")):
                expected, actual = one_pass[:, : i + 1] if "self" in name else one_pass, step
            elif one_pass.ndim == 3:
                expected, actual = one_pass[:, i, : step.shape[-1]], step[:, -1]
            else:
                expected, actual = one_pass[i], step[-1]
            np.testing.assert_allclose(expected, actual, atol=1e-5, err_msg=f"{name}, step {i}")


@pytest.mark.parametrize(
    ("kind", "layer", "message"),
    [
        ("cros", 0, "'encoder', 'decoder', 'cross', not 'cros'; did you mean 'cross'"),
        ("cross", -3, "no layer -3; the layers are 0 to 1, or -1 to -2 counted from the highest"),
    ],
)
def test_unknown_kinds_and_layers_are_refused(
    trace: Trace, kind: str, layer: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        trace.weights(kind, layer)


@pytest.mark.parametrize("kind", KINDS)
def test_all_weights_stacks_the_layers(trace: Trace, kind: str) -> None:
    actual = trace.all_weights(kind)
    rows, columns = trace.labels(kind)
    assert actual.shape == (2, 4, len(rows), len(columns))
    for layer in range(2):
        np.testing.assert_array_equal(actual[layer], trace[WEIGHTS[kind].format(layer)])
    actual[:] = 0  # a copy
    assert trace.weights(kind, 0).any()


def test_layers_that_were_not_recorded_are_refused(translator: Translator) -> None:
    partial = translator.trace(TEXT, names=WEIGHTS["cross"].format(0), max_len=5)
    with pytest.raises(ValueError, match=r"recorded without decoder\.layers\.1\.cross_attn"):
        partial.all_weights("cross")


def test_frames_keep_repeated_tokens_apart(translator: Translator) -> None:
    trace = translator.trace("the lamp the lamp the lamp", max_len=6)
    frame = trace.to_frame("cross", layer=1, head=2)
    weights = trace.weights("cross", 1)
    assert list(frame.columns) == [
        "query_position",
        "query_token",
        "predicted_token",
        "key_position",
        "key_token",
        "weight",
    ]
    assert len(set(frame.key_token)) < frame.key_position.nunique() == len(trace.src_tokens)
    pivoted = frame.pivot(index="query_position", columns="key_position", values="weight")
    np.testing.assert_array_equal(pivoted.to_numpy(), weights[2])
    for row in frame.sample(20, random_state=0).itertuples():
        assert row.query_token == trace.tgt_tokens[row.query_position]
        assert row.predicted_token == trace.predicted_tokens[row.query_position]
        assert row.key_token == trace.src_tokens[row.key_position]
    all_rows = trace.to_frame("encoder", layer=0)
    assert "predicted_token" not in all_rows
    assert len(all_rows) == 4 * len(trace.src_tokens) ** 2
    head_rows = all_rows[all_rows["head"] == 3].drop(columns="head").reset_index(drop=True)
    assert head_rows.equals(trace.to_frame("encoder", layer=0, head=3))
    every_head = trace.to_frame("encoder")
    assert list(every_head.columns[:2]) == ["layer", "head"]
    one_layer = every_head[every_head["layer"] == 0].drop(columns="layer")
    assert one_layer.reset_index(drop=True).equals(all_rows)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_npz_restores_everything_and_json_has_it(
    translator: Translator, tmp_path: Path, beam_size: int
) -> None:
    trace = translator.trace(TEXT, beam_size=beam_size, max_len=9)
    trace.save_npz(tmp_path / "deep" / "one.npz")
    loaded = Trace.load_npz(tmp_path / "deep" / "one.npz")
    models.assert_same_trace(loaded, trace)
    assert loaded.translation == trace.translation
    assert loaded.translation.steps == trace.translation.steps
    assert (loaded.translation.tree is not None) == (beam_size > 1)
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["one.npz"]
    record = json.loads(trace.to_json())
    assert record["src_tokens"] == list(trace.src_tokens)
    assert Translation.from_dict(record["translation"]) == trace.translation
    assert tuple(record["tensors"]) == trace.names
    for name in trace:
        np.testing.assert_array_equal(np.float32(record["tensors"][name]), trace[name])


def test_files_of_other_kinds_are_refused(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no trace file"):
        Trace.load_npz(tmp_path / "none.npz")
    trace.save_npz(tmp_path / "whole.npz")
    data = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(data[: len(data) // 2])
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    (tmp_path / "text.npz").write_text("hello")
    for name in ("cut", "other", "text"):
        with pytest.raises(ValueError, match=f"{name}.npz is truncated or is not a trace file"):
            Trace.load_npz(tmp_path / f"{name}.npz")
    with np.load(tmp_path / "whole.npz") as stored:
        header = json.loads(stored[trace_files.HEADER].tobytes())
    for broken, message in (
        ([], "is not a trace file"),
        ({**header, "format": 99}, "format 99; this version reads 1"),
        ({k: v for k, v in header.items() if k != "src_ids"}, "is not a trace file: .*src_ids"),
        ({**header, "translation": {"text": "?"}}, "not a translation"),
    ):
        encoded = np.frombuffer(json.dumps(broken).encode(), dtype=np.uint8)
        np.savez(tmp_path / "broken.npz", **{trace_files.HEADER: encoded})
        with pytest.raises(ValueError, match=message):
            Trace.load_npz(tmp_path / "broken.npz")


def test_interventions_appear_in_the_trace(translator: Translator, trace: Trace) -> None:
    """A head is ablated in the trace and its translation, but not in later calls."""
    name = "decoder.layers.1.cross_attn.hook_heads"

    def ablate_head(tensor: torch.Tensor, name: str) -> torch.Tensor:
        changed = tensor.clone()
        changed[:, 2] = 0
        return changed

    hooks = Hooks({name: ablate_head})
    changed = translator.trace(TEXT, hooks=hooks, max_len=14)
    assert (changed[name][2] == 0).all()
    assert (changed[name][1] != 0).any()
    assert changed.predicted_ids == translator.translate(TEXT, hooks=hooks, max_len=14).ids
    probabilities = torch.tensor(changed["hook_logits"]).softmax(dim=-1)
    for i, step in enumerate(changed.translation.steps):
        assert step.probability == pytest.approx(float(probabilities[i, step.chosen.id]), abs=1e-5)
    models.assert_same_trace(translator.trace(TEXT, max_len=14), trace)
