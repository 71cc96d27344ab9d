"""`python -m transformer COMMAND`: a thin door to the rooms below, one file a command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from transformer.cli.analyse import add_analyse
from transformer.cli.evaluate import add_evaluate
from transformer.cli.gates import add_gates
from transformer.cli.inspect import add_inspect
from transformer.cli.train import add_train
from transformer.cli.translate import add_translate
from transformer.text.visible import shown
from transformer.training.console import say
from transformer.training.errors import out_of_memory

Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 if it went well, 1 with a sentence on standard error if not."""
    options = _parser().parse_args(arguments)
    run: Command = options.run_command
    try:
        return run(options)
    except KeyboardInterrupt:
        say("stopped")
        return 130
    except BrokenPipeError:  # `… | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        said = "there is not enough memory for it" if out_of_memory(error) else str(error)
        say(f"error: {said}")
        return 1


class _Parser(argparse.ArgumentParser):
    """One that repeats a wrong word without letting it steer the terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(shown(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m transformer", description="Translate, train, measure and look into models."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_train(commands.add_parser("train", help="train a model on sentence pairs"))
    add_translate(commands.add_parser("translate", help="translate a text, or lines from stdin"))
    add_evaluate(commands.add_parser("evaluate", help="BLEU and chrF on a file of pairs"))
    add_analyse(commands.add_parser("analyse", help="what heads do over a corpus: CSV or JSON"))
    add_gates(commands.add_parser("gates", help="learn which heads a checkpoint needs"))
    add_inspect(commands.add_parser("inspect", help="what a checkpoint is"))
    return parser
