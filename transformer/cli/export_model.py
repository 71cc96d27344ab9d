"""`export`: write a checkpoint as a folder that `transformers` can load."""

from __future__ import annotations

import argparse

from transformer.cli.options import add_checkpoint, print_result
from transformer.exchange import export_marian


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    parser.add_argument("out", help="a new folder")
    parser.add_argument("--to", choices=("marian",), default="marian", help="format (marian)")


def run(options: argparse.Namespace) -> int:
    export_marian(options.checkpoint, options.out)
    print_result(f"{options.out}: load it with MarianMTModel.from_pretrained({options.out!r})")
    return 0
