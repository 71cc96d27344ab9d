"""Changes of a sentence by the browser's model equal those by the Python model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.figures.deno import run_deno
from transformer.analysis.attribution.norms import contributions
from transformer.analysis.importance.sentence import sentence_importances
from transformer.analysis.interventions import (
    combined,
    compare,
    masked_tokens,
    patched,
    replaced_row,
    switched_off,
    to_mean,
    uniform,
)
from transformer.analysis.interventions.blanking import blank_cells
from transformer.app_folders import APP_FOLDER
from transformer.inference.translator import Translator

EXAMPLES = ("I am a student.", "She has never seen the sea.")
TEXT, OTHER = "Who gave you that red umbrella?", "Who gave you that black hat?"
HEADS = [("cross", 0, 0), ("cross", 5, 3), ("encoder", 0, 1), ("decoder", 1, 0)]
OFF = "c0.0,c5.3,e0.1,d1.0"
ROWS = {
    "c5.1.3:0x70,4x30": (("cross", 5, 1), 3, {0: 70, 4: 30}),
    "d2.3.2:0x1,1x99": (("decoder", 2, 3), 2, {0: 1, 1: 99}),
    "e0.0.1:5x100": (("encoder", 0, 0), 1, {5: 100}),
}
PATCHES = {
    "encoder.layers.2.ffn_norm.hook_output:4,5:4,5": ((4, 5), (4, 5)),
    "decoder.layers.3.cross_attn_norm.hook_output:2:1": ((2,), (1,)),
    "encoder.embed.hook_output:0:3": ((0,), (3,)),
}
CELLS = [("cross", 5, 1, 2), ("encoder", 2, 3, 0), ("decoder", 4, 7, 3)]
CASES: list[dict[str, str]] = [
    {"off": OFF},
    {"off": OFF, "ablation": "uniform"},
    {"off": "c3,e1.2", "ablation": "mean"},
    {"masked_tokens": "2,4"},
    *({"edited_row": code} for code in ROWS),
    *({"patch": code, "other": OTHER} for code in PATCHES),
    {"off": "c4", "masked_tokens": "1", "edited_row": "c5.1.3:0x70,4x30"},
]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(APP_FOLDER / "checkpoints" / "en-fr", "cpu")


def _hooks(translator: Translator, changes: dict[str, str], beam_size: int) -> Any:
    config = translator.model.config
    trace = translator.trace(TEXT, beam_size=beam_size)
    hooks = []
    if off := changes.get("off"):
        heads = HEADS if off == OFF else [(k, n, h) for k, n, h in _written(off)]
        how = changes.get("ablation", "zero")
        if how == "mean":
            traces = [translator.trace(text) for text in EXAMPLES]
            hooks.append(to_mean(config, heads, traces))
        else:
            hooks.append({"zero": switched_off, "uniform": uniform}[how](config, heads))
    if masked := changes.get("masked_tokens"):
        hooks.append(masked_tokens(trace, [int(number) for number in masked.split(",")]))
    if code := changes.get("edited_row"):
        head, query, weights = ROWS[code]
        n_keys = query + 1 if head[0] == "decoder" else len(trace.src_tokens)
        row = [float(weights.get(key, 0)) for key in range(n_keys)]
        hooks.append(replaced_row(trace, head, query, row))
    if code := changes.get("patch"):
        here, there = PATCHES[code]
        donor = translator.trace(changes["other"], beam_size=beam_size)
        site = code.split(":")[0]
        hooks.append(patched(trace, donor, site, here, donor_positions=there))
    return combined(*hooks)


def _written(off: str) -> list[Any]:
    kinds = {"c": "cross", "e": "encoder", "d": "decoder"}
    heads: list[Any] = []
    for code in off.split(","):
        layer, _, head = code[1:].partition(".")
        numbers = [int(head)] if head else range(8)
        heads += [(kinds[code[0]], int(layer), number) for number in numbers]
    return heads


def test_changes_have_the_same_effect(translator: Translator, tmp_path: Path) -> None:
    cases = [{"text": TEXT, "beamSize": 1, "changes": changes} for changes in CASES]
    cases += [{"text": TEXT, "beamSize": 4, "changes": changes} for changes in CASES[:2]]
    (tmp_path / "cases.json").write_text(json.dumps({"examples": EXAMPLES, "cases": cases}))
    results = run_deno("changes", str(tmp_path), str(APP_FOLDER / "checkpoints" / "en-fr"))
    for case, result in zip(cases, results, strict=True):
        beam_size: Any = case["beamSize"]
        changes: Any = case["changes"]
        expected = compare(
            translator, TEXT, _hooks(translator, changes, beam_size), beam_size=beam_size
        )
        assert result["problems"] == [], changes
        assert result["ids"] == list(expected.translation.ids), changes
        after = expected.probabilities["after"].to_numpy()
        np.testing.assert_allclose(result["after"], after, atol=1e-4, err_msg=str(changes))
        for kind, weights in result["weights"].items():
            top = expected.forced.weights(kind, -1).ravel()
            np.testing.assert_allclose(weights, top, atol=1e-4, err_msg=str(changes))


def test_importances_norms_and_blanked_cells_are_equal(
    translator: Translator, tmp_path: Path
) -> None:
    texts = [*EXAMPLES[:1], TEXT]
    heads = [dict(zip(("kind", "layer", "head", "row"), cell, strict=True)) for cell in CELLS]
    (tmp_path / "cases.json").write_text(json.dumps({"texts": texts, "heads": heads}))
    results = run_deno("cells", str(tmp_path), str(APP_FOLDER / "checkpoints" / "en-fr"))
    for text, result in zip(texts, results, strict=True):
        trace = translator.trace(text)
        expected = sentence_importances(translator, trace)
        losses = {tuple(entry["head"].values()): entry["loss"] for entry in result["importances"]}
        assert losses == pytest.approx(expected, abs=2e-4)
        for (kind, layer, head, row), actual in zip(CELLS, result["heads"], strict=True):
            norms = contributions(translator.model, trace, kind, layer)[head]
            np.testing.assert_allclose(actual["norms"], norms.ravel(), rtol=1e-3, atol=1e-5)
            effects = blank_cells(translator, trace, (kind, layer, head), [row]).effects
            np.testing.assert_allclose(actual["effects"], effects, atol=2e-4)


PROBLEMS: list[tuple[dict[str, str], str]] = [
    ({"off": "c9.9"}, "This model has no head c9.9; counted from 0, it has layers 0 to 5 and"),
    ({"masked_tokens": "99"}, "There is no position 99; positions are 0 to 7."),
    ({"edited_row": "c5.1.3:99x5"}, "Query 3 has no key 99; its keys are 0 to 7."),
    ({"edited_row": "c5.9.3:0x5"}, "There is no head 9; the heads are 0 to 7."),
    ({"patch": "encoder.hook_memory:1:"}, "1 positions but 0 donor positions"),
    ({"patch": "no.site:1:1"}, "There are no activations no.site that can be patched."),
]


def test_changes_that_do_not_fit_are_explained(tmp_path: Path) -> None:
    cases = [{"text": TEXT, "beamSize": 1, "changes": changes} for changes, _ in PROBLEMS]
    (tmp_path / "cases.json").write_text(json.dumps({"examples": [], "cases": cases}))
    results = run_deno("changes", str(tmp_path), str(APP_FOLDER / "checkpoints" / "en-fr"))
    for (_, problem), result in zip(PROBLEMS, results, strict=True):
        [sentence] = result["problems"]
        assert sentence.startswith(problem)
