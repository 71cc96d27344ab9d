"""`import`: a Marian model of `transformers` made a checkpoint."""

from __future__ import annotations

import argparse

from transformer.cli.options import print_result
from transformer.exchange import import_folder
from transformer.languages import check_languages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="as save_pretrained of a MarianMTModel writes it")
    parser.add_argument("out", help="a folder for the checkpoint: checkpoints/NAME shows it")
    parser.add_argument(
        "--languages",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="codes of the two sides, as en fr; left out, what the folder says",
    )
    parser.add_argument(
        "--read-bin",
        action="store_true",
        help="read pytorch_model.bin, a pickle, where there is nothing else: as weights alone",
    )


def run(options: argparse.Namespace) -> int:
    languages = check_languages(options.languages) if options.languages else None
    config = import_folder(
        options.folder, options.out, languages=languages, pickled=options.read_bin
    )
    print_result(
        f"{options.out}: {config.n_layers} layers of {config.d_model}, {config.n_heads} heads, "
        f"a vocabulary of {config.vocab_size:,} tokens"
    )
    return 0
