"""`gates`: learn gates on the heads of a checkpoint, and write the pruned checkpoint."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from transformer.analysis.corpora import Corpus, corpus_for
from transformer.analysis.interventions.switching import KINDS
from transformer.checkpoint import load_languages, save_checkpoint
from transformer.cli.options import add_checkpoint, add_device, print_result
from transformer.inference import Translator
from transformer.languages import front_matter
from transformer.training.console import progress_bar
from transformer.training.gates import LearnedGates, learn_gates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    parser.add_argument("folder", help="a new folder for the pruned checkpoint")
    parser.add_argument(
        "--penalty",
        type=float,
        required=True,
        help="penalty for each open gate, in nats per token, such as 0.02",
    )
    parser.add_argument(
        "--steps", type=int, default=300, help="training steps of 32 sentences (300)"
    )
    parser.add_argument(
        "--weight-rate", type=float, default=0.0, help="learning rate of the weights; 0: fixed"
    )
    parser.add_argument(
        "--round", action="store_true", help="round every gate to 0 or 1 at the end"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of gates and sentences (1)")
    parser.add_argument("--corpus", metavar="FILE", help="as in analyse")
    parser.add_argument("--json", action="store_true", help="print every head's gate as JSON")
    add_device(parser)


def run(options: argparse.Namespace) -> int:
    target = Path(options.folder)
    if target.exists():
        raise ValueError(f"{target} exists already; choose a new folder")
    languages = load_languages(options.checkpoint)
    requested_corpus = None
    if options.corpus is not None:
        requested_corpus = Corpus.named(options.corpus) or Corpus.read(options.corpus)
    translator = Translator.load(options.checkpoint, options.device)
    corpus = requested_corpus or corpus_for(options.checkpoint, translator.vocabulary)
    with progress_bar() as progress:
        learned = learn_gates(
            translator,
            corpus,
            penalty=options.penalty,
            steps=options.steps,
            weight_rate=options.weight_rate,
            rounded=options.round,
            seed=options.seed,
            progress=progress,
        )
    card = (front_matter(languages) if languages else "") + _card(
        options, learned, len(corpus.sentences)
    )
    save_checkpoint(target, learned.translator.model, learned.translator.vocabulary, card)
    if options.json:
        print_result(json.dumps(learned.to_frame().to_dict("records"), indent=2))
    else:
        print_result(_summary(learned))
    return 0


def _summary(learned: LearnedGates) -> str:
    all_heads, survivors = (
        Counter(kind for kind, _, _ in heads) for heads in (learned.heads, learned.survivors)
    )
    kinds = ", ".join(f"{kind} {survivors[kind]} of {all_heads[kind]}" for kind in KINDS)
    return f"{len(learned.survivors)} of {len(learned.heads)} heads remain: {kinds}"


def _card(options: argparse.Namespace, learned: LearnedGates, sentences: int) -> str:
    return (
        "# Model card\n\n"
        f"{Path(options.checkpoint).name} with learned gates on its heads (Voita et al. 2019): "
        f"penalty {options.penalty:g}, {options.steps} steps over {sentences} sentences, "
        f"learning rate of the weights {options.weight_rate:g}, seed {options.seed}"
        f"{', rounded to 0 or 1' if options.round else ''}. {_summary(learned)}.\n"
    )
