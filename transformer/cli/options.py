"""Options and output functions that several commands share."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from transformer.app_folders import find_checkpoint, named_checkpoints
from transformer.inference.device import DEVICES
from transformer.text.visible import escape_controls

PAIR_FILES = "one .tsv[.gz] (source, tab, target) or .csv[.gz], or two parallel text files"


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help=f"one of {', '.join(DEVICES)} (auto)")


def add_checkpoint(parser: argparse.ArgumentParser, name: str = "checkpoint") -> None:
    """Add the argument or option `name` for a checkpoint; an option defaults to en-fr."""
    help_text = f"a checkpoint's folder or name: {', '.join(named_checkpoints())}"
    if name.startswith("-"):
        parser.add_argument(
            name,
            metavar="CHECKPOINT",
            type=find_checkpoint,
            default="en-fr",
            help=f"{help_text} (en-fr)",
        )
    else:
        parser.add_argument(name, metavar="CHECKPOINT", type=find_checkpoint, help=help_text)


def check_output(path: str | None) -> None:
    """Raise ValueError if an output file is a folder, or its folder does not exist."""
    if path is not None and Path(path).is_dir():
        raise ValueError(f"{path!r} is a folder; give the name of a file")
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {Path(path).parent}")


def add_pairs(parser: argparse.ArgumentParser, name: str, purpose: str) -> None:
    """Add the argument or option `name`: a table, or two parallel files."""
    parser.add_argument(name, nargs="+", metavar="FILE", help=f"{purpose}: {PAIR_FILES}")


def add_languages(parser: argparse.ArgumentParser, purpose: str) -> None:
    parser.add_argument(
        "--languages",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help=f"source and target language codes{purpose}, such as en fr",
    )


def check_pairs(files: list[str] | None) -> None:
    """Raise ValueError for more than two files."""
    if files and len(files) > 2:
        raise ValueError(f"give {PAIR_FILES}, not {len(files)} files")


def add_decoding(parser: argparse.ArgumentParser, beam_size: int = 1) -> None:
    """Add decoding options; `beam_size` is the default."""
    method = "greedy" if beam_size == 1 else f"beam of {beam_size}"
    group = parser.add_argument_group("decoding")
    group.add_argument(
        "--method",
        choices=("greedy", "beam", "sample"),
        help=f"decoding method ({method}; beam if --beam is more than 1)",
    )
    group.add_argument(
        "--beam", type=int, dest="beam_size", help=f"beam size ({beam_size}; 4 in the paper)"
    )
    group.add_argument(
        "--length-penalty", type=float, help="α of the length penalty of beam search (0.6)"
    )
    group.add_argument("--temperature", type=float, help="divisor of the logits for sampling (1)")
    group.add_argument("--top-k", type=int, help="sample from the k most probable tokens (all)")
    group.add_argument(
        "--top-p", type=float, help="sample from the fewest tokens with this total probability (1)"
    )
    group.add_argument("--seed", type=int, help="seed of sampling (a new one each time)")
    group.add_argument(
        "--max-len", type=int, help="maximum tokens of an output (the source's + 50)"
    )
    add_device(parser)


def decoding_options(options: argparse.Namespace) -> dict[str, Any]:
    names = [
        *("method", "beam_size", "length_penalty", "temperature", "top_k", "top_p"),
        *("seed", "max_len"),
    ]
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def print_result(text: str, end: str = "\n") -> None:
    """Print to standard output and flush; on a terminal with control characters escaped."""
    print(escape_controls(text) if sys.stdout.isatty() else text, end=end, flush=True)
