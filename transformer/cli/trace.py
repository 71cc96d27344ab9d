"""`trace`: write translations, decoding steps, attention weights and measures of a file of
sentences as a dataset."""

from __future__ import annotations

import argparse

from transformer.analysis.corpora import NAMES, Corpus
from transformer.analysis.dataset import write_dataset
from transformer.analysis.interventions.switching import named_heads
from transformer.cli.options import add_checkpoint, add_decoding, decoding_options
from transformer.inference import Translator
from transformer.training.console import progress_bar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a sentence per line, or source TAB target to trace given targets; or a bundled "
        f"corpus: {', '.join(NAMES)}",
    )
    parser.add_argument(
        "out", metavar="OUT", help="a new folder, or a new file OUT.zip with the same content"
    )
    add_checkpoint(parser, "--checkpoint")
    parser.add_argument(
        "--heads", metavar="e3.2,c5", default="", help="heads whose weights are stored as well"
    )
    add_decoding(parser)


def run(options: argparse.Namespace) -> int:
    corpus = Corpus.named(options.file) or Corpus.read(options.file)
    translator = Translator.load(options.checkpoint, options.device)
    heads = named_heads(translator.model.config, options.heads)
    with progress_bar() as progress:
        write_dataset(
            translator,
            corpus,
            options.out,
            heads=heads,
            options=decoding_options(options),
            progress=progress,
        )
    return 0
