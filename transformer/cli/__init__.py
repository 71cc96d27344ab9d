"""`heads-up COMMAND`, `python -m transformer COMMAND`: a thin door, one file a command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from transformer.text.visible import shown
from transformer.training.console import log
from transformer.training.errors import out_of_memory

Command = Callable[[argparse.Namespace], int]

# Each is the file of its name, read when it is asked for: who translates a sentence does not wait
# for what measures a corpus.
COMMANDS = {
    "serve": "the app, in a browser; what `heads-up` alone does",
    "train": "train a model on sentence pairs",
    "translate": "translate a text, or lines from stdin",
    "trace": "a file of sentences as one dataset: Parquet and npz",
    "evaluate": "BLEU and chrF on a file of pairs",
    "analyse": "what heads do over a corpus: CSV or JSON",
    "gates": "learn which heads a checkpoint needs",
    "inspect": "what a checkpoint is",
    "import": "a Marian model of transformers made a checkpoint",
    "export": "a checkpoint as a folder that transformers opens",
    "site": "the course with its views as a site that needs no server",
}
LONGEST = 1000
"""Letters of an error: the system repeats a name that is too long for it."""
# Not a name that a file can have and be imported by.
FILES = {"import": "import_model", "export": "export_model"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 if it went well, 1 with a sentence on standard error if not."""
    arguments = sys.argv[1:] if arguments is None else arguments
    command = arguments[0] if arguments else None
    # What stands behind `serve` is Streamlit's, `--help` too.
    ours = arguments[:1] if command == "serve" else arguments
    options = _parser(command).parse_args(ours, argparse.Namespace(settings=arguments[len(ours) :]))
    run: Command = options.run_command
    try:
        return run(options)
    except KeyboardInterrupt:
        log("stopped")
        return 130
    except BrokenPipeError:  # `… | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        said = "there is not enough memory for it" if out_of_memory(error) else str(error)
        log(f"error: {said if len(said) <= LONGEST else said[:LONGEST] + '…'}")
        return 1


class _Parser(argparse.ArgumentParser):
    """One that repeats a wrong word without letting it steer the terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(shown(message))


def heads_up() -> int:
    """As `main`, for the installed command: with no command, or settings of the server alone, it
    serves the app."""
    given = sys.argv[1:]
    serves = not given or (given[0].startswith("--") and given[0] != "--help")
    return main(["serve", *given] if serves else given)


def _parser(command: str | None) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m transformer", description="Translate, train, measure and look into models."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, what in COMMANDS.items():
        added = commands.add_parser(name, help=what)
        if name == command:
            module = import_module(f"{__name__}.{FILES.get(name, name)}")
            module.add_arguments(added)
            added.set_defaults(run_command=module.run)
    return parser
