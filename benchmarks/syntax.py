"""Syntactic heads on human-made dependency trees, compared with the best fixed offset.

    python -m benchmarks.syntax checkpoints/en-fr en_pud-ud-test.conllu fr_pud-ud-test.conllu \
        [--source "Universal Dependencies PUD, CC BY-SA 3.0"] [--sentences N] [--keep]

Both files hold the same sentences (equal `sent_id`) in the model's two languages: parallel
treebanks such as PUD of Universal Dependencies. Head and offset are chosen on every other sentence
and measured on the rest (`transformer/analysis/roles/syntax.py`). `--keep` writes `syntax.json`
into the checkpoint's folder, which the Heads lab shows; run it again whenever the weights change.
"""

from __future__ import annotations

import argparse

from transformer.analysis.corpora.trees import read_trees
from transformer.analysis.roles.syntax import syntax_scores
from transformer.analysis.roles.syntax_report import SyntaxReport, save_syntax_report
from transformer.inference import Translator

SOURCE = "Universal Dependencies, PUD treebanks (Zeman et al. 2017), CC BY-SA 3.0"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("checkpoint", help="folder of the checkpoint")
    parser.add_argument("source_trees", help="CoNLL-U file of the source language, may be gzipped")
    parser.add_argument("target_trees", help="CoNLL-U file of the target language")
    parser.add_argument("--source", default=SOURCE, help="who made the trees")
    parser.add_argument("--sentences", type=int, help="read only the first N")
    parser.add_argument("--keep", action="store_true", help="write syntax.json to the checkpoint")
    options = parser.parse_args()
    try:
        run(options)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{error}\n")


def run(options: argparse.Namespace) -> None:
    sources, targets = (
        {tree.id: tree for tree in read_trees(path)}
        for path in (options.source_trees, options.target_trees)
    )
    ids = [id for id in sources if id in targets][: options.sentences]
    if not ids:
        raise ValueError(
            f"{options.source_trees} and {options.target_trees} share no sentence; parallel "
            "treebanks give the same sentence the same sent_id"
        )
    translator = Translator.load(options.checkpoint, "cpu")
    scores = syntax_scores(translator, [sources[id] for id in ids], [targets[id] for id in ids])
    report = SyntaxReport(options.source, len(ids), tuple(scores))
    print(f"{len(ids)} sentences; layers and heads counted from 1")
    print(
        f"{'':30}{'head':>8}{'accuracy':>10}{'offset':>8}{'its acc.':>10}{'difference (95%)':>22}"
    )
    for score in report.scores:
        difference = f"[{100 * score.low:+.1f}, {100 * score.high:+.1f}] points"
        print(
            f"{score.stack + ', ' + score.relation:30}{f'{score.layer + 1}.{score.head + 1}':>8}"
            f"{score.accuracy:10.1%}{score.offset:+8d}{score.offset_accuracy:10.1%}{difference:>22}"
            f"{'  syntactic' if score.syntactic else ''}"
        )
    if options.keep:
        print(f"written: {save_syntax_report(options.checkpoint, report)}")


if __name__ == "__main__":
    main()
