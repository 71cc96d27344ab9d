"""Imports that take long are avoided: the modules that are loaded after an import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def _loaded(program: str, path: str = "") -> set[str]:
    """Return the modules that are loaded after this program has run in a new process, whose
    `python` is the first on this PATH."""
    process = subprocess.run(
        ["python" if path else sys.executable, "-c", f"import sys\n{program}\nprint(*sys.modules)"],
        cwd=ROOT,
        env={**os.environ, "PATH": path or os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    return {*process.stdout.split()}


def test_importing_a_translator_loads_neither_pages_nor_plotly(warm_path: str) -> None:
    loaded = _loaded("from transformer import Hooks, Translator", warm_path)
    assert loaded & {"plotly", "streamlit", "sacrebleu", "scipy"} == set()
    assert {"torch", "transformer"} <= loaded


def test_pages_do_not_import_what_only_measurements_need(warm_path: str) -> None:
    loaded = _loaded("import transformer.ui.server.asgi", warm_path)
    assert {"scipy.stats", "scipy.optimize"} & loaded == set()


def test_a_process_that_trains_loads_no_compiler_and_no_tables() -> None:
    """Each of these modules takes tens of megabytes in every worker."""
    training = """
import tempfile
from transformer.training.recipe import make_run_config
from transformer.training.run_folder import RunFolder
from transformer.training.train_folder import train_run, warm_up
warm_up(1)
with tempfile.TemporaryDirectory() as folder:
    run = RunFolder(folder)
    run.write_config(make_run_config("copy", settings={"steps": 1}))
    assert train_run(folder) == "finished"
"""
    loaded = _loaded(training)
    assert {"torch._dynamo", "sympy", "pandas", "scipy"} & loaded == set()


def test_supervising_processes_do_not_import_torch() -> None:
    """Only the child processes that train or compute import torch."""
    supervisors = ("jobs.worker", "cluster.host")
    loaded = _loaded("; ".join(f"import transformer.{name}" for name in supervisors))
    assert "torch" not in loaded
    assert "transformer.jobs.worker" in loaded


def test_counting_multiplications_loads_no_compiler(warm_path: str) -> None:
    """The compiler would cost the server a second and 80 MB."""
    program = """
from transformer.analysis.table1.complexity import count_multiplications
for name in ("self-attention", "recurrent"):
    count_multiplications(name, 8, 8)
"""
    assert "torch._dynamo" not in _loaded(program, warm_path)
