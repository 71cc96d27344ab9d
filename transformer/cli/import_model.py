"""`import`: convert a Marian model of `transformers` to a checkpoint."""

from __future__ import annotations

import argparse

from transformer.cli.options import add_languages, print_result
from transformer.exchange import ignored_settings, import_folder
from transformer.text.languages import check_languages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="a folder written by MarianMTModel.save_pretrained")
    parser.add_argument("out", help="the checkpoint's new folder; the app lists checkpoints/NAME")
    add_languages(parser, " (default: those of the folder)")
    parser.add_argument(
        "--read-bin",
        action="store_true",
        help="if the folder has no model.safetensors, read pytorch_model.bin, which is a pickle; "
        "only its tensors are loaded",
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
    if ignored := ignored_settings(options.folder):
        print_result(f"{options.folder}: {ignored}")
    return 0
