"""Helpers to test experiments: store results, and find the grid and the buttons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages.conftest import component_data
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.reports import report
from transformer.checkpoint import checkpoint_hash
from transformer.jobs.computation import RESULT, RESULTS_FOLDER, report_computation
from transformer.text.files import write_json


def store_result(runs: Path, result: dict[str, Any], key: str) -> None:
    """Store a result as if its computation had run."""
    (runs / RESULTS_FOLDER / key).mkdir(parents=True)
    write_json(runs / RESULTS_FOLDER / key / RESULT, result)


def run_report(checkpoints: Path, corpus: Corpus, report_name: str) -> tuple[dict[str, Any], str]:
    """Return the result of a report on the model `tiny`, and the key under which it is stored."""
    folder = checkpoints / "tiny"
    result = report(Translator.load(folder, "cpu"), corpus, report_name)
    return result.to_dict(), report_computation(
        folder, checkpoint_hash(folder), report_name, corpus
    ).key


def grid(app: AppTest) -> dict[str, Any]:
    data: dict[str, Any] = next(data for data in component_data(app) if "kinds" in data)
    return data


def button(app: AppTest, label: str) -> Any:
    return next(element for element in app.button if label in element.label)
