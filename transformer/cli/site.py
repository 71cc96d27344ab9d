"""`site`: write the course and its views as a static site."""

from __future__ import annotations

import argparse
import logging

from transformer.training.console import log, progress_bar
from transformer.ui.site.static_site import write_site


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", metavar="OUT", help="a new folder, for any static web host")


def run(options: argparse.Namespace) -> int:
    # Pages use session state; without a browser session, Streamlit would log warnings about it.
    for logger in ("scriptrunner_utils.script_run_context", "state.session_state_proxy"):
        logging.getLogger(f"streamlit.runtime.{logger}").setLevel("ERROR")
    with progress_bar() as progress:
        write_site(options.out, progress, lambda sentence: log(f"warning: {sentence}"))
    return 0
