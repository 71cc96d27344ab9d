"""Helpers to test the Train page: submit runs and write their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from transformer.checkpoint import save_checkpoint
from transformer.config import ModelConfig
from transformer.jobs import Jobs
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.tasks import TASKS
from transformer.training.recipe import make_run_config

PAGE = "pages/train.py"
OTHER_VISITOR = "o" * 32
PAIRS = [(f"cat {n}", f"chat {n}") for n in range(30)]
TSV = "".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS)


def labels(app: AppTest) -> set[str]:
    return {element.label for element in app.button}


def number_field(app: AppTest, label: str) -> Any:
    return next(element for element in app.number_input if element.label == label)


def submit_run(jobs: Jobs, owner: str = OTHER_VISITOR, **options: Any) -> str:
    return jobs.submit(make_run_config("reverse", title="A run", **options), owner)


def write_run(jobs: Jobs, name: str, status: str, reason: str = "") -> Path:
    """Write a run with this status, without training it."""
    path = jobs.folder(name).path
    state = {"status": status, "reason": reason, "step": 2, "seconds": 3.0}
    (path / "state.json").write_text(json.dumps(state))
    return path


def write_checkpoint(path: Path) -> None:
    """Write a checkpoint of the reverse task and its example sources, as a run does."""
    vocabulary = Vocabulary.from_symbols(TASKS["reverse"].symbols)
    config = ModelConfig.preset("tiny", vocab_size=len(vocabulary))
    save_checkpoint(path / "checkpoint", Transformer(config), vocabulary, "# A run\n")
    examples = [{"src": s, "tgt": s[::-1], "output": "", "right": False} for s in ("a b c", "d d")]
    (path / "examples.jsonl").write_text(json.dumps({"step": 1, "examples": examples}) + "\n")
