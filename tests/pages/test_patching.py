"""Activation patching: computed, stored, displayed; unsuitable input."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.pages.conftest import (
    Visit,
    charts,
    measure,
    messages,
    numbers,
    run_program,
    view,
    visible_text,
)
from transformer import Translator
from transformer.analysis.interventions.patching_sweep import PatchingSweep, patching_sweep
from transformer.checkpoint import save_checkpoint
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.ui.pages.research import PATCHED_ACTIVATIONS

PAGE = "pages/research.py"
PAIR = {"experiment": "patching", "text": "She hides a boat.", "other": "She rides a boat."}
main_text = partial(visible_text, kinds=("markdown", "caption", "info"))
PATCH = "Patch every activation"


@pytest.fixture(scope="module")
def model_folder(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Transformer, vocabulary: Vocabulary
) -> Path:
    """Return a folder with a model whose output depends on every letter of the source."""
    model = copy.deepcopy(tiny_model)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "cross_attn.w" in name:
                weight.mul_(10 if name.endswith("w_o") else 2)
            elif name.startswith("encoder") and name.endswith("w_o"):
                weight.mul_(2)
    folder = tmp_path_factory.mktemp("sensitive") / "checkpoints"
    save_checkpoint(folder / "sensitive", model, vocabulary, "# A model\n")
    return folder


@pytest.fixture(scope="module")
def sweep(model_folder: Path) -> PatchingSweep:
    translator = Translator.load(model_folder / "sensitive", device="cpu")
    return patching_sweep(translator, PAIR["text"], PAIR["other"])


def test_the_sweep_is_computed_once_and_shown_in_four_ways_and_as_code(
    visit: Visit, model_folder: Path, sweep: PatchingSweep
) -> None:
    app = visit(PAGE, model_folder, **PAIR)
    assert not charts(app)
    measure(app, PATCH)
    assert not messages(app)
    for part in PATCHED_ACTIVATIONS:
        # A new session, as after a reload, must find the stored result.
        app = visit(PAGE, model_folder, **PAIR, patched_activations=part)
        assert view(app).patched_activations == part
        figures = charts(app)
        if part == "heads":
            expected = [sweep.heads(kind) for kind in ("encoder", "decoder", "cross")]
        else:
            expected = [sweep.map(part, stack)[1] for stack in ("encoder", "decoder")]
        for chart, values in zip(figures, expected, strict=True):
            np.testing.assert_allclose(numbers(chart["data"][0]["z"]), values, atol=1e-4)
        if part != "heads":
            tokens = figures[0]["layout"]["xaxis"]["ticktext"]
            assert tokens[-1] == "end"
            assert [token for token in tokens if "|" in token] == ["…h | …r"]
            assert len(figures[0]["layout"]["yaxis"]["ticktext"]) == len(expected[0])
            assert len(figures[1]["layout"]["xaxis"]["ticktext"]) == len(sweep.prefix_tokens)
    assert "restores" in main_text(app)
    app = visit(PAGE, model_folder, **PAIR, exact="1")
    (code,) = [element.value for element in app.code if "patching_sweep" in element.value]
    np.testing.assert_allclose(
        run_program(code)["sweep"].table["restored"], sweep.table["restored"], atol=1e-4
    )


def test_different_lengths_are_rejected_with_both_numbers(visit: Visit, model_folder: Path) -> None:
    app = visit(PAGE, model_folder, **{**PAIR, "other": "She rides a boat again."})
    (message,) = messages(app)
    assert message.startswith("The clean sentence has 14 tokens and the corrupted one 17;")
    assert not [element for element in app.button if element.label == "Patch every activation"]


def test_equal_translations_are_reported(visit: Visit) -> None:
    """The tiny model gives every source the same translation."""
    app = visit(PAGE, **PAIR)
    measure(app, PATCH, "failed")
    (message,) = messages(app)
    assert message.startswith("This could not be measured: the two translations do not differ")
    assert [element for element in app.button if element.label == "Try again"]
