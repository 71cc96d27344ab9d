"""`evaluate`: BLEU and chrF of a checkpoint."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from transformer.checkpoint import load_languages
from transformer.cli.options import (
    add_checkpoint,
    add_decoding,
    add_pairs,
    check_output,
    check_pairs,
    decoding_options,
    print_result,
)
from transformer.inference import Translator
from transformer.inference.device import describe_computed
from transformer.text import read_references
from transformer.text.files import write_text
from transformer.training.console import log, progress_bar
from transformer.training.quality import (
    TOKENIZERS,
    concatenate_sentences,
    evaluate,
    tokenizer_note,
)

BEAM_SIZE = 4
"""Beam size of the paper's results (section 6.1)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    add_pairs(parser, "pairs", "sentences with their references")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--batch", type=int, default=32, help="sentences per batch (32)")
    parser.add_argument(
        "--join",
        type=int,
        default=1,
        metavar="N",
        help="concatenate every N consecutive lines (1); with --merge-repeated, N sentences",
    )
    parser.add_argument(
        "--merge-repeated",
        action="store_true",
        help="count lines with the same source as one sentence with several references",
    )
    parser.add_argument(
        "--tokenize",
        metavar="NAME",
        help="tokenizer of BLEU: " + ", ".join(TOKENIZERS) + " (the one of the target language in "
        "the model card)",
    )
    parser.add_argument(
        "--output", metavar="FILE", help="write the translations to this file, one per line"
    )
    add_decoding(parser, BEAM_SIZE)


def run(options: argparse.Namespace) -> int:
    if options.batch < 1:
        raise ValueError(f"--batch must be at least 1, not {options.batch}")
    check_pairs(options.pairs)
    check_output(options.output)
    corpus = read_references(*options.pairs, merge_repeated=options.merge_repeated)
    languages = load_languages(options.checkpoint) or ("", "")
    sources, references = concatenate_sentences(*corpus, options.join, languages)
    translator = Translator.load(options.checkpoint, options.device)
    decoding = decoding_options(options)
    if "method" not in decoding:
        decoding = {"beam_size": BEAM_SIZE, **decoding}
    with progress_bar() as progress:
        scores, hypotheses = evaluate(
            translator,
            sources,
            references,
            batch_size=options.batch,
            target=languages[1],
            tokenizer=options.tokenize,
            progress=lambda done: progress(done / len(sources), f"{done:,} sentences"),
            **decoding,
        )
    if note := tokenizer_note(scores.bleu_signature, references, options.tokenize):
        log(note)
    if options.output:
        write_text(options.output, "".join(f"{text}\n" for text in hypotheses))
    if options.json:
        record = {**asdict(scores), "decoding": decoding, "computed": translator.computed_with}
        print_result(json.dumps(record, indent=2))
    else:
        print_result(f"BLEU {scores.bleu:.2f}  {scores.bleu_signature}")
        print_result(f"chrF {scores.chrf:.2f}  {scores.chrf_signature}")
        print_result(f"{scores.sentences} sentences, {scores.references} references, {decoding}")
        print_result(describe_computed(translator.computed_with))
        print_result(f"{scores.tokens / scores.seconds:,.0f} tokens/s, {scores.seconds:.1f} s")
    return 0
