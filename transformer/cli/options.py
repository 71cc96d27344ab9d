"""What several commands share: options, and how a result is written."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from transformer.device import DEVICES
from transformer.text.visible import shown

PAIRS = "one .tsv[.gz] (source, tab, target), or two parallel text files"


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help=f"one of {', '.join(DEVICES)}")


def add_pairs(parser: argparse.ArgumentParser, name: str, what: str) -> None:
    """`name`, or an option `--name`: a table, or two parallel files."""
    parser.add_argument(name, nargs="+", metavar="FILE", help=f"{what}: {PAIRS}")


def check_pairs(files: list[str] | None) -> None:
    """Raises ValueError for more than two files."""
    if files and len(files) > 2:
        raise ValueError(f"give {PAIRS}, not {len(files)} files")


def add_decoding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--method", choices=("greedy", "beam", "sample"), help="else by --beam")
    parser.add_argument("--beam", type=int, dest="beam_size", help="hypotheses kept (paper: 4)")
    parser.add_argument("--length-penalty", type=float, help="α of the beam's score (0.6)")
    parser.add_argument("--temperature", type=float, help="of sampling")
    parser.add_argument("--top-k", type=int, help="sample from the k most probable pieces")
    parser.add_argument("--top-p", type=float, help="… from the fewest that hold this probability")
    parser.add_argument("--seed", type=int, help="of sampling")
    parser.add_argument("--max-len", type=int, help="most pieces of an output (source + 50)")
    add_device(parser)


def decoding_options(options: argparse.Namespace) -> dict[str, Any]:
    names = [
        *("method", "beam_size", "length_penalty", "temperature", "top_k", "top_p"),
        *("seed", "max_len"),
    ]
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def result(text: str, end: str = "\n") -> None:
    """To standard output, at once. On a terminal nothing of it steers the terminal; a file or
    another program gets it as it is."""
    print(shown(text) if sys.stdout.isatty() else text, end=end, flush=True)
