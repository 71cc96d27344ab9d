"""The command line, `heads-up COMMAND` or `python -m transformer COMMAND`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from transformer import __version__
from transformer.text.visible import escape_controls
from transformer.training.console import log
from transformer.training.errors import out_of_memory

Command = Callable[[argparse.Namespace], int]

# Each is a module of this name, imported only when its command is run: translating a sentence need
# not import the analysis of a corpus.
COMMANDS = {
    "serve": "the app, in a browser; `heads-up` without a command does the same",
    "train": "train a model on sentence pairs",
    "translate": "translate a text, or lines from stdin",
    "trace": "trace a file of sentences into one dataset: Parquet and npz",
    "evaluate": "BLEU and chrF on a file of pairs",
    "analyse": "what heads do over a corpus: CSV or JSON",
    "gates": "learn which heads a checkpoint needs",
    "inspect": "what a checkpoint is",
    "import": "make a checkpoint of a Marian model of transformers",
    "export": "write a checkpoint as a folder that transformers opens",
    "site": "write the course and its views as a site that needs no server",
}
MAX_ERROR_LENGTH = 1000
"""Maximum characters of an error message: the system repeats a file name that is too long."""
# Commands whose name cannot be the name of a module.
MODULE_NAMES = {"import": "import_model", "export": "export_model"}


def main(arguments: Sequence[str] | None = None, program: str = "python -m transformer") -> int:
    """Run one command; return 0, or 1 after an error message on standard error.

    Args:
        program: name of the program in usage lines.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    command = arguments[0] if arguments else None
    # All options of `serve` except --help are passed to Streamlit.
    to_parse = arguments
    if command == "serve":
        to_parse = ["serve", *(["--help"] if {"-h", "--help"} & {*arguments} else [])]
    settings = argparse.Namespace(settings=arguments[1:])
    options = _parser(command, program).parse_args(to_parse, settings)
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
        message = "there is not enough memory for it" if out_of_memory(error) else _message(error)
        if len(message) > MAX_ERROR_LENGTH:
            message = message[:MAX_ERROR_LENGTH] + "…"
        log(f"error: {message}")
        return 1


def _message(error: Exception) -> str:
    """Return the message of an error; for system errors with the file first, without a number."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{escape_controls(str(error.filename))} cannot be used: {error.strerror}"
    return str(error)


class _Parser(argparse.ArgumentParser):
    """An argument parser that escapes control characters in error messages."""

    def error(self, message: str) -> NoReturn:
        super().error(escape_controls(message))


def heads_up() -> int:
    """Run the installed command `heads-up`: like `main`, but serve the app if there is no command
    or only settings of the server."""
    arguments = sys.argv[1:]
    serves = not arguments or (
        arguments[0].startswith("--") and arguments[0] not in ("--help", "--version")
    )
    return main(["serve", *arguments] if serves else arguments, "heads-up")


def _parser(command: str | None, program: str) -> argparse.ArgumentParser:
    parser = _Parser(prog=program, description="Translate, train, measure and look into models.")
    parser.add_argument("--version", action="version", version=f"Heads Up {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, description in COMMANDS.items():
        subparser = commands.add_parser(
            name, help=description, description=f"{description[0].upper()}{description[1:]}."
        )
        if name == command:
            module = import_module(f"{__name__}.{MODULE_NAMES.get(name, name)}")
            module.add_arguments(subparser)
            subparser.set_defaults(run_command=module.run)
    return parser
