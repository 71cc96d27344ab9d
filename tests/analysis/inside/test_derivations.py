"""The code of a number: real functions, and a program that prints the number."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import subprocess

import pytest

from transformer.analysis.inside import computations as module
from transformer.analysis.inside import opened_box, program, source_code
from transformer.inference.translator import Translator

EN_FR = "checkpoints/en-fr"
TEXTS = ("'''\"\"\"", "a\nimport os  # \\", "<b>x</b> {y} 😀 \u202e", "__import__('os')")


@pytest.fixture(scope="module")
def en_fr() -> Translator:
    return Translator.load(EN_FR, device="cpu")


def test_the_code_of_a_table_is_its_calls_and_their_functions(en_fr: Translator) -> None:
    box = opened_box(en_fr.trace("I am a student."), en_fr, "encoder.0.self_attn.softmax", 3)
    code = source_code(box, "weights")
    assert "# e = exponentials(masked)\n# weights = normalize(e)\n" in code
    functions = [node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    assert [node.name for node in functions][-2:] == ["exponentials", "normalize"]
    for node in functions:
        assert ast.get_docstring(node) == getattr(module, node.name).__doc__.replace("\n    ", "\n")


def test_the_program_prints_the_number(en_fr: Translator, warm_path: str) -> None:
    box = opened_box(en_fr.trace("I am a student."), en_fr, "decoder.0.self_attn.norm")
    environment = {**os.environ, "PATH": warm_path}
    process = subprocess.run(
        ["python", "-c", program(box, EN_FR, "y", 1, 9)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(process.stdout) == pytest.approx(box.result.values[1, 9], rel=1e-4)
    assert not process.stderr


@pytest.mark.parametrize("text", TEXTS)
def test_any_user_text_is_quoted_in_the_program(en_fr: Translator, text: str) -> None:
    box = opened_box(en_fr.trace(text, "Oui."), en_fr, "encoder.0.self_attn.query", 2)
    code, printed = program(box, EN_FR, "q", 0, 0), io.StringIO()
    constants = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    assert text in constants
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "program", "exec"), {"__name__": "__main__"})
    assert float(printed.getvalue()) == pytest.approx(box.result.values[0, 0], rel=1e-4)
