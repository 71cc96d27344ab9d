"""`serve`: the app, from wherever it is installed, with the settings that `streamlit run` takes."""

from __future__ import annotations

import argparse
import runpy
import sys

from transformer.house import HOUSE
from transformer.jobs import runs_folder
from transformer.training.console import log


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None of ours: what stands behind it is Streamlit's to read."""


def run(options: argparse.Namespace) -> int:
    log(f"what is trained here is kept in {runs_folder()}")
    sys.argv = ["streamlit", "run", str(HOUSE / "app.py"), *options.settings]
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)  # which ends the process
    return 0
