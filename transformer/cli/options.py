"""What several commands share: options, and how a result is written."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from transformer.app_folders import find_checkpoint, named_checkpoints
from transformer.device import DEVICES
from transformer.text.visible import escape_controls

PAIRS = "one .tsv[.gz] (source, tab, target), or two parallel text files"


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help=f"one of {', '.join(DEVICES)} (auto)")


def add_checkpoint(parser: argparse.ArgumentParser, name: str = "checkpoint") -> None:
    """`name`, an argument or an option, for a folder or a name; an option is en-fr by default."""
    text = f"a checkpoint's folder, or its name: {', '.join(named_checkpoints())}"
    if name.startswith("-"):
        parser.add_argument(
            name,
            metavar="CHECKPOINT",
            type=find_checkpoint,
            default="en-fr",
            help=f"{text} (en-fr)",
        )
    else:
        parser.add_argument(name, metavar="CHECKPOINT", type=find_checkpoint, help=text)


def check_output(path: str | None) -> None:
    """Raises ValueError if the folder that a file is to be written into does not exist."""
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {Path(path).parent}")


def add_pairs(parser: argparse.ArgumentParser, name: str, purpose: str) -> None:
    """`name`, or an option `--name`: a table, or two parallel files."""
    parser.add_argument(name, nargs="+", metavar="FILE", help=f"{purpose}: {PAIRS}")


def check_pairs(files: list[str] | None) -> None:
    """Raises ValueError for more than two files."""
    if files and len(files) > 2:
        raise ValueError(f"give {PAIRS}, not {len(files)} files")


def add_decoding(parser: argparse.ArgumentParser, beam_size: int = 1) -> None:
    """Options of the search; `beam_size` is what the command does without any of them."""
    method = "greedy" if beam_size == 1 else f"beam, of {beam_size}"
    search = parser.add_argument_group("decoding")
    search.add_argument(
        "--method",
        choices=("greedy", "beam", "sample"),
        help=f"how outputs are searched for ({method}; beam if --beam is more than 1)",
    )
    search.add_argument(
        "--beam", type=int, dest="beam_size", help=f"beam size ({beam_size}; the paper has 4)"
    )
    search.add_argument("--length-penalty", type=float, help="α of the score of a beam (0.6)")
    search.add_argument("--temperature", type=float, help="divides the logits of sampling (1)")
    search.add_argument("--top-k", type=int, help="sample from the k most probable tokens (all)")
    search.add_argument(
        "--top-p", type=float, help="sample from the fewest tokens of this probability (1)"
    )
    search.add_argument("--seed", type=int, help="of sampling (a new one each time)")
    search.add_argument(
        "--max-len", type=int, help="most tokens of an output (those of the source + 50)"
    )
    add_device(parser)


def decoding_options(options: argparse.Namespace) -> dict[str, Any]:
    names = [
        *("method", "beam_size", "length_penalty", "temperature", "top_k", "top_p"),
        *("seed", "max_len"),
    ]
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def print_result(text: str, end: str = "\n") -> None:
    """To standard output, at once. On a terminal nothing of it steers the terminal; a file or
    another program gets it as it is."""
    print(escape_controls(text) if sys.stdout.isatty() else text, end=end, flush=True)
