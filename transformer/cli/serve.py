"""`serve`: run the app with the settings of `streamlit run`."""

from __future__ import annotations

import argparse
import runpy
import sys

from transformer.app_folders import APP_FOLDER
from transformer.jobs import runs_folder
from transformer.training.console import log

SETTINGS = """settings of the server are those of `streamlit run`, among them:
  --server.port N              the port (8501, or the next free one)
  --server.address HOST        0.0.0.0 opens it to the network (localhost)
  --server.allowedHosts NAME   a name by which browsers address it, if not localhost or a number
  --server.headless true       do not open a browser

`streamlit run --help` lists all of them. Environment variables: HEADS_UP_RUNS, HEADS_UP_LIMITS and
HEADS_UP_CHECKPOINTS name another folder of runs, file of limits and folder of checkpoints."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no options: all except --help are passed to Streamlit."""
    parser.usage = "%(prog)s [--help] [SETTING VALUE ...]"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = SETTINGS


def run(options: argparse.Namespace) -> int:
    log(f"training runs are stored in {runs_folder()}")
    sys.argv = ["streamlit", "run", str(APP_FOLDER / "app.py"), *options.settings]
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)  # which ends the process
    return 0
