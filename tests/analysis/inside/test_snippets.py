"""Every generated program runs and prints the number of its cell."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import os
import subprocess

import pytest

from tests.analysis.inside.traced_models import KINDS, TracedModel, trace_model
from transformer import checkpoint
from transformer.analysis.inside import OpenedBox, boxes, opened_box, snippet
from transformer.inference.translator import Translator
from transformer.text import Vocabulary

EN_FR = "checkpoints/en-fr"
TEXTS = ("'''\"\"\"", "a\nimport os  # \\", "<b>x</b> {y} 😀 \u202e", "__import__('os')")


@pytest.fixture(scope="module", params=KINDS)
def traced_model(
    request: pytest.FixtureRequest,
    vocabulary: Vocabulary,
    tmp_path_factory: pytest.TempPathFactory,
) -> TracedModel:
    return trace_model(
        request.param, vocabulary, tmp_path_factory.mktemp("snippets") / request.param
    )


@pytest.fixture(scope="module")
def open_boxes(traced_model: TracedModel) -> list[OpenedBox]:
    """The boxes of the last layer and those outside the layers, opened for head 3."""
    config = traced_model.translator.model.config
    names = [box.name for box in boxes(config) if box.layer in (None, config.n_layers - 1)]
    return [opened_box(traced_model.trace, traced_model.translator, name, 3) for name in names]


@pytest.fixture(scope="module")
def en_fr() -> Translator:
    return Translator.load(EN_FR, device="cpu")


def run_snippet(program: str) -> float:
    """Run the program in this process and return the number that it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "snippet", "exec"), {"__name__": "__main__"})
    return float(out.getvalue())


def test_the_snippet_of_every_panel_prints_its_numbers(
    traced_model: TracedModel, open_boxes: list[OpenedBox], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Hundreds of programs load the same folder; read it only once.
    load = functools.cache(checkpoint.load_checkpoint)
    monkeypatch.setattr(checkpoint, "load_checkpoint", load)
    for result in open_boxes:
        for panel in result.panels:
            rows, columns = panel.values.shape
            row, column = (rows - 1) // 2, columns - 1
            program = snippet(result, str(traced_model.folder), panel.name, row, column)
            expected = panel.values[row, column]
            assert run_snippet(program) == pytest.approx(expected, rel=1e-4, abs=1e-5), program


def test_no_snippet_reads_the_result_from_its_hook_point(
    traced_model: TracedModel, open_boxes: list[OpenedBox]
) -> None:
    for result in open_boxes:
        if result.box.site:
            program = snippet(result, str(traced_model.folder), result.result.name, 0, 0)
            assert repr(result.box.site) not in program
            assert len(program.splitlines()) <= 24


def test_a_snippet_is_a_standalone_program(en_fr: Translator, warm_path: str) -> None:
    box = opened_box(en_fr.trace("I am a student."), en_fr, "decoder.0.self_attn.norm")
    program = snippet(box, EN_FR, "y", 1, 9)
    environment = {**os.environ, "PATH": warm_path}
    process = subprocess.run(
        ["python", "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert float(process.stdout) == pytest.approx(box.result.values[1, 9], rel=1e-4)
    assert not process.stderr


@pytest.mark.parametrize("text", TEXTS)
def test_any_user_text_is_quoted_in_the_snippet(en_fr: Translator, text: str) -> None:
    box = opened_box(en_fr.trace(text, "Oui."), en_fr, "encoder.embed.tokens")
    program = snippet(box, EN_FR, "t", 0, 0)
    literals = [
        node.value for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Constant)
    ]
    assert text in literals
    assert run_snippet(program) == pytest.approx(box.result.values[0, 0], rel=1e-4)
