"""What the tests of the heads lab do on it, and how they read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages.conftest import shown
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.reports import report
from transformer.checkpoint import checkpoint_hash
from transformer.jobs.computation import report_computation
from transformer.jobs.computation_service import RESULTS_FOLDER
from transformer.jobs.results import RESULT
from transformer.text.files import write_json


def kept(runs: Path, made: dict[str, Any], key: str) -> None:
    """A pass that was made already."""
    (runs / RESULTS_FOLDER / key).mkdir(parents=True)
    write_json(runs / RESULTS_FOLDER / key / RESULT, made)


def made(checkpoints: Path, corpus: Corpus, what: str) -> tuple[dict[str, Any], str]:
    """What a pass comes to, and its key."""
    folder = checkpoints / "tiny"
    found = report(Translator.load(folder, "cpu"), corpus, what)
    return found.to_dict(), report_computation(folder, checkpoint_hash(folder), what, corpus).key


def grid(app: AppTest) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in shown(app) if "grids" in one)
    return found


def button(app: AppTest, label: str) -> Any:
    return next(one for one in app.button if label in one.label)
