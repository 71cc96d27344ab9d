"""`site`: the course with its views as a site that needs no server."""

from __future__ import annotations

import argparse
import logging

from transformer.training.console import progress_bar
from transformer.ui.site import write_site


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", metavar="OUT", help="a new folder, to be put on any page host")


def run(options: argparse.Namespace) -> int:
    # Streamlit keeps what pages remember, and warns that there is no browser session here.
    for logger in ("scriptrunner_utils.script_run_context", "state.session_state_proxy"):
        logging.getLogger(f"streamlit.runtime.{logger}").setLevel("ERROR")
    with progress_bar() as progress:
        write_site(options.out, progress)
    return 0
