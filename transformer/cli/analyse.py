"""`analyse`: measure the heads of a checkpoint over a corpus, as CSV or JSON."""

from __future__ import annotations

import argparse
import json
from typing import Any

from transformer.analysis.corpora import NAMES, Corpus, corpus_for
from transformer.analysis.findings import FINDINGS
from transformer.analysis.findings.saved_findings import save_findings
from transformer.analysis.reports import OPTIONS, REPORTS, report
from transformer.cli.options import add_checkpoint, add_device, check_output, print_result
from transformer.inference import Translator
from transformer.inference.device import describe_computed
from transformer.text.files import write_text
from transformer.training.console import log, progress_bar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    parser.add_argument("--what", default="heads", help=f"one of {', '.join(REPORTS)} (heads)")
    parser.add_argument(
        "--corpus",
        metavar="FILE",
        help="a sentence per line, or source TAB target [TAB links such as 0-0 1-2]; or a bundled "
        f"corpus: {', '.join(NAMES)}; default: the validation pairs of the checkpoint's training "
        "run, otherwise a bundled corpus",
    )
    parser.add_argument(
        "--links", metavar="FILE", help="gold links of the corpus, one line per sentence"
    )
    parser.add_argument("--sentences", type=int, metavar="N", help="only the first N sentences")
    parser.add_argument(
        "--bleu",
        action="store_true",
        help="for --what ablation or without: also measure BLEU, which is slow",
    )
    parser.add_argument(
        "--heads", metavar="e3.2,c5", help="for --what without: the heads to switch off"
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="for --what findings: also store them with the checkpoint, for the page Research",
    )
    parser.add_argument("--json", action="store_true", help="write all results, not only a table")
    parser.add_argument(
        "--output", metavar="FILE", help="write to this file instead of standard output"
    )
    add_device(parser)


def run(options: argparse.Namespace) -> int:
    if options.sentences is not None and options.sentences < 1:
        raise ValueError(f"--sentences must be at least 1, not {options.sentences}")
    if options.links and (not options.corpus or options.corpus in NAMES):
        raise ValueError("--links needs --corpus with a file: the links are those of its sentences")
    report_options: dict[str, Any] = {"bleu": True} if options.bleu else {}
    if options.heads is not None:
        report_options["heads"] = options.heads
    for name in report_options:
        valid_reports = [
            report_name for report_name, accepted in OPTIONS.items() if name in accepted
        ]
        if options.what not in valid_reports:
            raise ValueError(
                f"--{name} is for --what {' or '.join(valid_reports)}, not {options.what}"
            )
    if options.keep and options.what != "findings":
        raise ValueError(f"--keep is for --what findings, not {options.what}")
    check_output(options.output)
    requested_corpus = None
    if options.corpus is not None:
        requested_corpus = Corpus.named(options.corpus) or Corpus.read(
            options.corpus, options.links
        )
    translator = Translator.load(options.checkpoint, options.device)
    corpus = requested_corpus or corpus_for(options.checkpoint, translator.vocabulary)
    if options.sentences is not None:
        corpus = corpus.first(options.sentences)
    with progress_bar() as progress:
        analysis = report(translator, corpus, options.what, report_options, progress)
    if options.keep:
        content = analysis.to_dict()
        save_findings(options.checkpoint, content["corpus"], content["findings"], FINDINGS)
    log(describe_computed(analysis.computed))
    if options.json:
        text = json.dumps(analysis.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
    else:
        text = analysis.table.to_csv(index=False, lineterminator="\n")
    if options.output:
        write_text(options.output, text)
    else:
        print_result(text, end="")
    return 0
