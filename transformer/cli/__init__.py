"""The command line, `heads-up COMMAND` or `python -m transformer COMMAND`."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from transformer import __version__
from transformer.text.visible import escape_controls
from transformer.training.console import log
from transformer.training.run_folder import out_of_memory

Command = Callable[[argparse.Namespace], int]

# Each command is a module of this name, imported only when it is run, so that `translate` does not
# import the analyses.
COMMANDS = {
    "serve": "serve the app and open it in a browser; the default of `heads-up`",
    "train": "train a model on sentence pairs",
    "translate": "translate a text, or lines from standard input",
    "evaluate": "measure BLEU and chrF on a file of pairs",
    "analyse": "measure attention heads over a corpus, as CSV or JSON",
    "inspect": "print a checkpoint's languages, sizes and hooks",
    "import": "convert a Marian model of transformers to a checkpoint",
    "export": "write a checkpoint as a folder that transformers can load",
    "site": "write the course and its views as a static site",
}
MAX_ERROR_LENGTH = 1000
"""Maximum characters of an error message; the operating system's repeat a file name in full."""
# Commands whose name cannot be the name of a module.
MODULE_NAMES = {"import": "import_model", "export": "export_model"}


def main(arguments: Sequence[str] | None = None, program: str = "python -m transformer") -> int:
    """Run one command; return 0, or 1 after an error message on standard error.

    Args:
        program: name of the program in usage lines.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    _encode_output()
    command = arguments[0] if arguments else None
    # All options of `serve` except --help are passed to Streamlit.
    to_parse = arguments
    if command == "serve":
        to_parse = ["serve", *(["--help"] if {"-h", "--help"} & {*arguments} else [])]
    settings = argparse.Namespace(settings=arguments[1:])
    try:
        options = _parser(command, program).parse_args(to_parse, settings)
        run: Command = options.run_command
        return run(options)
    except KeyboardInterrupt:
        log("stopped")
        return 130
    except BrokenPipeError:  # the reader has closed the pipe, as `… | head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        message = "out of memory" if out_of_memory(error) else _message(error)
        if len(message) > MAX_ERROR_LENGTH:
            message = message[:MAX_ERROR_LENGTH] + "…"
        log(f"error: {message}")
        return 1


def _encode_output() -> None:
    """Write UTF-8 to files and pipes, whatever the system's code page is; a terminal gets "?" for a
    character that it cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8")


def _message(error: Exception) -> str:
    """Return the message of an error; for system errors the file, then the reason."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{escape_controls(str(error.filename))} cannot be used: {error.strerror}"
    return str(error)


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence with status 1, as all others."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def heads_up() -> int:
    """Run the installed command `heads-up`: like `main`, but without a command it serves the app,
    with any settings of the server."""
    arguments = sys.argv[1:]
    serves = not arguments or (
        arguments[0].startswith("--") and arguments[0] not in ("--help", "--version")
    )
    return main(["serve", *arguments] if serves else arguments, "heads-up")


def _parser(command: str | None, program: str) -> argparse.ArgumentParser:
    parser = _Parser(prog=program, description="Translate with, train, measure and inspect models.")
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
