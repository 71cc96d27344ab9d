"""`translate`: texts from arguments and standard input, JSON, traces and errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from tests.cli.conftest import Shell, check_refused
from tests.conftest import ROOT
from transformer import Trace, Translator

TEXT = "The baker sells bread."


def test_the_translation_is_printed(shell: Shell, checkpoint: Path) -> None:
    result = shell("translate", TEXT, "--checkpoint", checkpoint, "--max-len", 9)
    expected = Translator.load(checkpoint, "cpu").translate(TEXT, max_len=9)
    assert (result.status, result.out, result.err) == (0, expected.text + "\n", "")


def test_options_are_passed_to_the_search(shell: Shell, checkpoint: Path) -> None:
    arguments = ("translate", TEXT, "--checkpoint", checkpoint, "--max-len", 6, "--json")
    beam = json.loads(shell(*arguments, "--beam", 3, "--length-penalty", 1.0).out)
    assert beam["method"] == "beam"
    assert beam["score"] == pytest.approx(beam["log_probability"] / ((5 + len(beam["ids"])) / 6))
    outputs = [shell(*arguments, "--method", "sample", "--seed", seed).out for seed in (1, 1, 2)]
    assert outputs[0] == outputs[1] != outputs[2]


def test_json_has_every_step(shell: Shell, checkpoint: Path) -> None:
    content = json.loads(
        shell("translate", TEXT, "--checkpoint", checkpoint, "--json", "--target", "Le pain.").out
    )
    assert content["method"] == "forced"
    threads = torch.get_num_threads()
    assert content["computed"] == {"precision": "float32", "device": "cpu", "threads": threads}
    assert content["text"] == "Le pain."
    for number, step in enumerate(content["steps"]):
        assert step["chosen"]["token"] == content["tokens"][number]
        probabilities = [candidate["probability"] for candidate in step["candidates"]]
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0 < sum(probabilities) <= 1.001
    total = sum(np.log(step["chosen"]["probability"]) for step in content["steps"])
    assert content["log_probability"] == pytest.approx(total, rel=1e-4)


def test_every_input_line_gives_one_output_line(shell: Shell, checkpoint: Path) -> None:
    lines = [*(f"{TEXT} {n}" for n in range(40)), "", "An owl 🦉 sleeps."]
    stdin = ("\r\n".join(lines) + "\n").encode()
    result = shell("translate", "--checkpoint", checkpoint, "--max-len", 4, stdin=stdin)
    out = result.out.split("\n")[:-1]
    assert result.status == 0
    assert len(out) == len(lines)
    assert out[40] == ""
    translator = Translator.load(checkpoint, "cpu")
    for number in (0, 39, 41):
        assert out[number] == translator.translate(lines[number], max_len=4).text


@pytest.mark.parametrize("suffix", ["npz", "json"])
def test_a_trace_is_written(shell: Shell, checkpoint: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"trace.{suffix}"
    options = ("--checkpoint", checkpoint, "--max-len", 5, "--trace", path)
    assert shell("translate", TEXT, *options).status == 0
    translator = Translator.load(checkpoint, "cpu")
    expected = translator.trace(TEXT, max_len=5)
    if suffix == "npz":
        tensors: Any = Trace.load_npz(path)
    else:
        tensors = json.loads(path.read_text("utf-8"))["tensors"]
    assert tuple(tensors) == translator.model.hook_names
    for name in expected:
        np.testing.assert_allclose(tensors[name], expected[name], atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["   "], b"", "no text to translate"),
        (["word " * 600], b"", "at most 512"),
        ([], b"", "standard input is empty"),
        ([], b"fine\nf\xe9e\n", "line 2 is not UTF-8 (byte 0xe9 at"),
        ([TEXT, "--trace", "x.pt"], b"", ".npz or .json, not 'x.pt'"),
        (["--trace", "x.npz"], b"hello", "need the text as an argument"),
        ([TEXT, "--beam", "0"], b"", "beam_size must be at least 1"),
        ([TEXT, "--device", "tpu"], b"", "not 'tpu'"),
        ([TEXT, "--checkpoint", "nowhere"], b"", "no checkpoint folder nowhere"),
    ],
)
def test_errors_are_one_sentence(
    shell: Shell, checkpoint: Path, arguments: list[str], stdin: bytes, message: str
) -> None:
    with_checkpoint = (
        arguments if "--checkpoint" in arguments else [*arguments, "--checkpoint", str(checkpoint)]
    )
    check_refused(shell("translate", *with_checkpoint, stdin=stdin), message)


def test_an_unwritable_trace_leaves_no_file(shell: Shell, checkpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    options = ("--checkpoint", checkpoint, "--max-len", 3, "--trace", file / "x.npz")
    result = shell("translate", TEXT, *options)
    assert result.status == 1
    assert "Traceback" not in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_too_little_memory_gives_a_one_sentence_error(
    shell: Shell, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Translator, "translate", Mock(side_effect=MemoryError))
    result = shell("translate", TEXT, "--checkpoint", checkpoint)
    assert (result.status, result.err) == (1, "error: out of memory\n")


ESCAPE_SEQUENCES = "\x1b]0;mine\x07 \x9b2J"


def test_error_messages_contain_no_control_characters(shell: Shell, tmp_path: Path) -> None:
    for arguments in (
        ["translate", TEXT, "--checkpoint", tmp_path / ESCAPE_SEQUENCES],
        ["translate", "a", ESCAPE_SEQUENCES],
    ):
        result = shell(*arguments)
        assert result.status != 0
        assert not any(character in result.err for character in "\x1b\x07\x9b")
        assert "\\u001b]0;mine\\u0007 \\u009b2J" in result.err


def test_translating_imports_only_what_it_needs(checkpoint: Path, warm_path: str) -> None:
    program = (
        "import sys\n"
        "from transformer.cli import main\n"
        f"main(['translate', 'A pilot finds bread.', '--checkpoint', {str(checkpoint)!r}])\n"
        "print(*sys.modules)"
    )
    process = subprocess.run(
        ["python", "-c", program],
        cwd=ROOT,
        env={**os.environ, "PATH": warm_path},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(process.stdout.splitlines()[-1].split())
    slow_packages = {"torch._dynamo", "sympy", "scipy.stats", "plotly", "streamlit", "sacrebleu"}
    assert "transformer.inference.translator" in loaded
    assert slow_packages & loaded == set()
    assert not [name for name in loaded if name.startswith("transformer.analysis")]


def test_a_forced_translation_has_its_probability(shell: Shell, checkpoint: Path) -> None:
    expected = Translator.load(checkpoint, "cpu").translate(TEXT, target="Le pain.")
    result = shell("translate", TEXT, "--checkpoint", checkpoint, "--target", "Le pain.")
    assert result.out.split("\n")[0] == "Le pain."
    assert f"log probability {expected.log_probability:.3f}\n" in result.out


def test_closed_standard_input_is_named(checkpoint: Path) -> None:
    command = 'exec "$0" -m transformer translate --checkpoint "$1" <&-'
    process = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, checkpoint],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert process.returncode == 1
    assert "standard input is closed" in process.stderr
    assert "Traceback" not in process.stderr
