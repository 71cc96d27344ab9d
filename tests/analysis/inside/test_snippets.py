"""Every program is run, and prints the number it was made for."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import subprocess
import sys

import pytest

from tests.analysis.inside.opened import KINDS, Looked, look
from transformer import checkpoint
from transformer.analysis.inside import Opened, boxes, opened, snippet
from transformer.inference.translator import Translator
from transformer.text import Vocabulary

EN_FR = "checkpoints/en-fr"
NUMBERS = (
    ("encoder.embed.tokens", "t", 2, 17),
    ("encoder.2.self_attn.softmax", "weights", 1, 3),
    ("decoder.5.cross_attn.output", "u", 3, 200),
    ("decoder.5.ffn.hidden", "strongest", 1, 0),
    ("output.choice", "p", 1, 0),
)
TEXTS = ("'''\"\"\"", "a\nimport os  # \\", "<b>x</b> {y} 😀 \u202e", "__import__('os')")


@pytest.fixture(scope="module", params=KINDS)
def looked(
    request: pytest.FixtureRequest,
    vocabulary: Vocabulary,
    tmp_path_factory: pytest.TempPathFactory,
) -> Looked:
    return look(request.param, vocabulary, tmp_path_factory.mktemp("snippets") / request.param)


@pytest.fixture(scope="module")
def walked(looked: Looked) -> list[Opened]:
    """The boxes of the last layer, and those that belong to none, opened for head 3."""
    config = looked.translator.model.config
    names = [box.name for box in boxes(config) if box.layer in (None, config.n_layers - 1)]
    return [opened(looked.trace, looked.translator, name, 3) for name in names]


@pytest.fixture(scope="module")
def english() -> Translator:
    return Translator.load(EN_FR, device="cpu")


def printed(program: str) -> float:
    """What the program prints when it is run here."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "snippet", "exec"), {"__name__": "__main__"})
    return float(out.getvalue())


def test_every_panel_of_every_box_is_printed_again(
    looked: Looked, walked: list[Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Hundreds of programs that load the same folder: here it is read once.
    load = functools.cache(checkpoint.load_checkpoint)
    monkeypatch.setattr(checkpoint, "load_checkpoint", load)
    for found in walked:
        for panel in found.panels:
            rows, columns = panel.values.shape
            row, column = (rows - 1) // 2, columns - 1
            program = snippet(found, str(looked.folder), panel.name, row, column)
            expected = panel.values[row, column]
            assert printed(program) == pytest.approx(expected, rel=1e-4, abs=1e-5), program


def test_no_program_reads_the_hook_of_the_number_it_prints(
    looked: Looked, walked: list[Opened]
) -> None:
    for found in walked:
        if found.box.site:
            program = snippet(found, str(looked.folder), found.result.name, 0, 0)
            assert repr(found.box.site) not in program
            assert len(program.splitlines()) <= 24


def test_a_masked_score_is_printed_as_minus_infinity(looked: Looked) -> None:
    found = opened(looked.trace, looked.translator, "decoder.0.self_attn.mask")
    assert printed(snippet(found, str(looked.folder), "masked", 0, 1)) == float("-inf")


@pytest.mark.parametrize(("box", "panel", "row", "column"), NUMBERS)
def test_the_shipped_model_says_the_same(
    english: Translator, box: str, panel: str, row: int, column: int
) -> None:
    found = opened(english.trace("I am a student."), english, box, 5)
    program = snippet(found, EN_FR, panel, row, column)
    expected = found.panel(panel).values[row, column]
    assert printed(program) == pytest.approx(expected, rel=1e-4)


def test_a_program_runs_by_itself(english: Translator) -> None:
    found = opened(english.trace("I am a student."), english, "decoder.0.self_attn.norm")
    program = snippet(found, EN_FR, "y", 1, 9)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(found.result.values[1, 9], rel=1e-4)
    assert not done.stderr


@pytest.mark.parametrize("text", TEXTS)
def test_whatever_a_user_writes_is_a_text_in_the_program(english: Translator, text: str) -> None:
    found = opened(english.trace(text, "Oui."), english, "encoder.embed.tokens")
    program = snippet(found, EN_FR, "t", 0, 0)
    literals = [one.value for one in ast.walk(ast.parse(program)) if isinstance(one, ast.Constant)]
    assert text in literals
    assert printed(program) == pytest.approx(found.result.values[0, 0], rel=1e-4)


def test_a_panel_or_cell_that_is_not_there_is_named(looked: Looked) -> None:
    found = opened(looked.trace, looked.translator, "output.choice")
    with pytest.raises(ValueError, match="no panel 'q'; it has rank, p"):
        snippet(found, str(looked.folder), "q", 0, 0)
    with pytest.raises(ValueError, match="there is no cell 0, 1"):
        snippet(found, str(looked.folder), "p", 0, 1)
