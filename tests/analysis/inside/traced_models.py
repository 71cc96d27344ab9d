"""Small translators of every kind, and LaTeX evaluated as arithmetic."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tests.analysis.small_models import MARIAN
from tests.model.small import make_model
from transformer.checkpoint import save_checkpoint
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator
from transformer.text import Vocabulary

KINDS: dict[str, dict[str, Any]] = {
    "scaled_dot": {"score": "scaled_dot", "positions": "sinusoidal", "n_layers": 2},
    "dot": {"score": "dot", "positions": "learned", "n_layers": 1},
    "swish": {"n_layers": 1, **MARIAN},
    "gelu": {"n_layers": 1, "biases": True, "activation": "gelu", "output_bias": True},
    "additive": {"score": "additive", "positions": "none", "n_layers": 1},
}
SOURCE, TARGET = "She finds 'bread' \"today\".", "Elle trouve du pain."


@dataclass(frozen=True)
class TracedModel:
    """A checkpoint and a trace of its model."""

    folder: Path
    translator: Translator
    trace: Trace


def trace_model(kind: str, vocabulary: Vocabulary, folder: Path) -> TracedModel:
    """Save a model of this kind, and trace it over `SOURCE` and `TARGET`."""
    model = make_model(dtype=torch.float32, vocab_size=len(vocabulary), max_len=64, **KINDS[kind])
    save_checkpoint(folder, model, vocabulary, "# A model for tests\n")
    translator = Translator.load(folder, device="cpu")
    return TracedModel(folder, translator, translator.trace(SOURCE, TARGET))


def evaluate_latex(line: str) -> float:
    """Evaluate a line of a computation: `= \\frac{e^{0.5}}{1.2} + \\underbrace{…}_{i=3}`."""
    text = line.removeprefix("=")
    text = re.sub(r"\\left|\\right", "", text)
    text = text.replace(r"\mathrm{erf}", "erf").replace(r"\cdot", "*").replace(r"\infty", "inf")
    while match := re.search(r"\\underbrace{|\\frac{|\\sqrt{|\^{", text):
        first, rest = _braces(text[match.end() - 1 :])
        if match[0] == r"\underbrace{":
            value, rest = f"({first})", _braces(rest.removeprefix("_"))[1]
        elif match[0] == r"\frac{":
            second, rest = _braces(rest)
            value = f"(({first})/({second}))"
        else:
            value = f"sqrt({first})" if match[0] == r"\sqrt{" else f"**({first})"
        text = text[: match.start()] + value + rest
    text = re.sub(r"\\(tanh|sin|cos|max)", r"\1", text).replace("^2", "**2")
    text = re.sub(r"\)\s*\(", ")*(", text)
    functions = {
        name: getattr(math, name) for name in ("sqrt", "tanh", "sin", "cos", "e", "inf", "erf")
    }
    return float(eval(text, {"__builtins__": {}}, {**functions, "max": max}))


def _braces(text: str) -> tuple[str, str]:
    """Return the contents of the braces that `text` begins with, and what follows them."""
    depth = 0
    for index, letter in enumerate(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth == 0:
            return text[1:index], text[index + 1 :]
    raise ValueError(f"braces without an end: {text}")
