"""`evaluate`: BLEU and chrF of a checkpoint."""

from __future__ import annotations

import argparse
import json
import sys

from tqdm import tqdm

from transformer.cli.options import add_decoding, add_pairs, check_pairs, decoding_options, result
from transformer.inference import Translator
from transformer.text import read_references
from transformer.text.files import atomic_path
from transformer.training.quality import evaluate, joined


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint")
    add_pairs(parser, "pairs", "sentences with their references")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--batch", type=int, default=32, help="sentences at a time")
    parser.add_argument(
        "--join", type=int, default=1, metavar="N", help="every N neighbouring sentences as one"
    )
    parser.add_argument("--output", metavar="FILE", help="keep the translations, one a line")
    add_decoding(parser)


def run(options: argparse.Namespace) -> int:
    if options.batch < 1:
        raise ValueError(f"--batch must be at least 1, not {options.batch}")
    check_pairs(options.pairs)
    sources, references = joined(*read_references(*options.pairs), options.join)
    translator = Translator.load(options.checkpoint, options.device)
    decoding = decoding_options(options)
    if "method" not in decoding:
        decoding = {"beam_size": 4, **decoding}  # as the paper measures (section 6.1)
    with tqdm(total=len(sources), unit=" sentences", file=sys.stderr, disable=None) as bar:
        scores, hypotheses = evaluate(
            translator,
            sources,
            references,
            batch_size=options.batch,
            progress=lambda done: bar.update(done - bar.n),
            **decoding,
        )
    if options.output:
        with atomic_path(options.output) as temporary:
            temporary.write_text("".join(f"{text}\n" for text in hypotheses), encoding="utf-8")
    if options.json:
        result(json.dumps({**scores.to_dict(), "decoding": decoding}, indent=2))
    else:
        result(f"BLEU {scores.bleu:.2f}  {scores.bleu_signature}")
        result(f"chrF {scores.chrf:.2f}  {scores.chrf_signature}")
        result(f"{scores.sentences} sentences, {scores.references} references, {decoding}")
        result(f"{scores.tokens / scores.seconds:,.0f} tokens/s, {scores.seconds:.1f} s")
    return 0
