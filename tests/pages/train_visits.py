"""What the tests of Train do on it, and how they read it."""

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


def form(app: AppTest, task: str) -> AppTest:
    app.button(f"change-{task}").click().run()
    assert not app.exception
    return app


def number(app: AppTest, label: str) -> Any:
    return next(element for element in app.number_input if element.label == label)


def put(jobs: Jobs, owner: str = OTHER_VISITOR, **more: Any) -> str:
    return jobs.submit(make_run_config("reverse", title="A run", **more), owner)


def stand(jobs: Jobs, name: str, status: str, reason: str = "") -> Path:
    """The run stands so, without anybody having trained it."""
    path = jobs.folder(name).path
    state = {"status": status, "reason": reason, "step": 2, "seconds": 3.0}
    (path / "state.json").write_text(json.dumps(state))
    return path


def trained(path: Path) -> None:
    """A checkpoint of the reverse task and the sources of its examples, as a run leaves them."""
    vocabulary = Vocabulary.from_symbols(TASKS["reverse"].symbols)
    config = ModelConfig.preset("tiny", vocab_size=len(vocabulary))
    save_checkpoint(path / "checkpoint", Transformer(config), vocabulary, "# A run\n")
    examples = [{"src": s, "tgt": s[::-1], "output": "", "right": False} for s in ("a b c", "d d")]
    (path / "examples.jsonl").write_text(json.dumps({"step": 1, "examples": examples}) + "\n")
