"""`serve`: run the app with the settings of `streamlit run`."""

from __future__ import annotations

import argparse
import runpy
import sys

from transformer.app_folders import APP_FOLDER
from transformer.jobs import runs_folder
from transformer.training.console import log

SETTINGS = """The settings of the server are those of `streamlit run`, for example:
  --server.port N              the port (8501, or the next free one)
  --server.address HOST        the address to listen on (localhost); 0.0.0.0: all networks
  --server.allowedHosts NAME   the server's host name, if browsers open it by another name than
                               localhost or an IP address
  --server.headless true       do not open a browser

`streamlit run --help` lists all of them. Environment variables: HEADS_UP_RUNS (folder of training
runs), HEADS_UP_LIMITS (file of limits), HEADS_UP_CHECKPOINTS (folder of checkpoints)."""


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
