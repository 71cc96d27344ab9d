"""Values of other types than a signature says, as a caller without a type checker gives them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# In a process of its own: in this one, every call of ours has its types checked before it begins.
CALLS = """
import sys
import torch
from transformer import Translator
from transformer.inference.options import Decoding

translator = Translator.load(sys.argv[1], torch.device("cpu"))
trace = translator.trace("She paints.", max_len=3)
for kind, call in (
    (TypeError, lambda: translator.translate(b"She paints.")),
    (TypeError, lambda: translator.translate_batch([3])),
    (TypeError, lambda: trace.weights("cross", 0.5)),
    (TypeError, lambda: trace.weights("cross", torch.ones(2))),
    (TypeError, lambda: trace.to_frame("cross", 0, [0])),
    (ValueError, lambda: Translator.load(sys.argv[1], 3)),
    (ValueError, lambda: Decoding(candidates="8")),
    (ValueError, lambda: Decoding(temperature=[1.0])),
    (ValueError, lambda: Decoding(method=torch.ones(2))),
):
    try:
        print("taken", call())
    except kind as error:
        print(error)
"""
SAID = [
    "a text must be a string, not bytes",
    "a text must be a string, not int",
    "'float' object cannot be interpreted as an integer",
    "only integer tensors of a single element can be converted to an index",
    "'list' object cannot be interpreted as an integer",
    "device must be one of auto, cpu, cuda, mps (or cuda:1), not 3",
    "candidates must be a whole number, not '8'",
    "temperature must be a number, not [1.0]",
    "method must be a name, not tensor([1., 1.])",
]


def test_what_is_of_another_type_is_refused_in_words(checkpoints: Path) -> None:
    command = [sys.executable, "-c", CALLS, str(checkpoints / "tiny")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == SAID
