"""The alignment error rate of every cross-attention head, compared with human-made word links.

    python -m benchmarks.gold_alignments checkpoints/en-fr links.tsv.gz [more.tsv.gz …] \
        [--source "AliBi, Xu and Yvon 2016" …] [--keep]

A gold file has one tokenised sentence pair per line: `source TAB target TAB links`, where `0-1` is
a sure link, `0p1` or `0?1` a possible one, and words are counted from 0. The model reads both sides
(teacher forcing). A target word is linked to the source word with its largest weight or norm, in
the row that predicts the word ("output") or the row that reads it ("input"). The score is the
alignment error rate with sure and possible links (Och and Ney 2003,
https://aclanthology.org/J03-1002).

The table also has the diagonal, which links words at the same relative position. For comparison, on
the Hansards (another corpus, not measured here): fast_align 10.5%, awesome-align 4.1% (Dou and
Neubig 2021, https://aclanthology.org/2021.eacl-main.181).

`--keep` writes the best head with these figures into the checkpoint's folder (`aligner.json`); the
app then shows this head as the aligner. Run it again whenever the weights change.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from transformer.analysis.alignment.aligner_errors import (
    ALIGNMENT_METHODS,
    AlignerErrors,
    measure_aligners,
)
from transformer.analysis.alignment.aligner_head import (
    AlignerHead,
    choose_aligner_head,
    save_aligner_head,
)
from transformer.analysis.corpora import Corpus
from transformer.inference import Translator
from transformer.inference.device import describe_computed

KNOWN_SOURCES = {
    "alibi": "AlibiWordAlignments, Xu and Yvon, LREC 2016, CC BY-SA 4.0",
    "bicici": "SMTData, E. Biçici; links on Europarl",
}
"""Authors of the links of a file, by the start of its name; for other files use `--source`."""
N_BEST = 10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("checkpoint", help="folder of the checkpoint")
    parser.add_argument("gold", nargs="+", help="files of gold links, may be gzipped")
    parser.add_argument(
        "--source", action="append", default=[], help="authors of each gold file, in order"
    )
    parser.add_argument("--keep", action="store_true", help="write aligner.json to the checkpoint")
    options = parser.parse_args()
    if options.source and len(options.source) != len(options.gold):
        parser.error(
            f"{len(options.gold)} gold files and {len(options.source)} --source: give one source "
            "per file, or none"
        )
    try:
        run(options)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{error}\n")


def run(options: argparse.Namespace) -> None:
    names = [name_of(path) for path in options.gold]
    sources = options.source or [source_of(name) for name in names]
    translator = Translator.load(options.checkpoint, "cpu")
    print(describe_computed(translator.computed_with))
    measured = []
    for name, path in zip(names, options.gold, strict=True):
        errors = measure_aligners(translator, Corpus.read(path))
        measured.append(errors)
        print(f"\n{name}: {errors.n_sentences} sentence pairs, {len(errors.left_out)} left out")
        print(format_table(errors))
    aligner = choose_aligner_head(measured, names, sources)
    print("\n" + describe_aligner(aligner))
    if options.keep:
        print(f"written: {save_aligner_head(options.checkpoint, aligner)}")


def format_table(errors: AlignerErrors) -> str:
    """Return a table of the best heads (counted from 1), the best layer and the diagonal."""
    heads = errors.table[errors.table["aligner"] == "head"]
    rates_by_head = heads.pivot_table(index=["layer", "head"], columns=["by", "to"], values="aer")[
        list(ALIGNMENT_METHODS)
    ]
    rates_by_head = rates_by_head.loc[rates_by_head.min(axis=1).sort_values(kind="stable").index]
    titles = [f"{score_kind}, {target_row}" for score_kind, target_row in ALIGNMENT_METHODS]
    lines = [f"{'AER, %':30}" + "".join(f"{title:>17}" for title in titles)]
    best = rates_by_head.head(N_BEST)
    for head, row in zip(best.index.tolist(), best.to_numpy(), strict=True):
        name = f"layer {head[0] + 1}, head {head[1] + 1}"
        lines.append(f"{name:30}" + "".join(f"{100 * rate:17.1f}" for rate in row))
    diagonal = errors.counts.error_rate(errors.counts.diagonal)
    best_layer = errors.table[errors.table["aligner"] == "layer"].iloc[0]
    name = f"layer {int(best_layer['layer']) + 1}, all its heads together"
    method = f"{best_layer['by']}, {best_layer['to']}"
    lines.append(f"{name:30}{100 * best_layer['aer']:17.1f}  ({method})")
    lines.append(f"{'diagonal':30}{100 * diagonal:17.1f}")
    return "\n".join(lines)


def describe_aligner(aligner: AlignerHead) -> str:
    """Return a sentence about the chosen head, with its error rates on each gold set."""
    head = f"cross-attention layer {aligner.layer + 1}, head {aligner.head + 1} (counted from 1)"
    method = f"{aligner.score_kind}-{aligner.target_row}"
    rates = "; ".join(
        f"{100 * gold_set.head[method]:.1f}% on {gold_set.name} "
        f"(95%: {100 * gold_set.low:.1f} to {100 * gold_set.high:.1f})"
        for gold_set in aligner.gold
    )
    return (
        f"aligner head: {head}, linked by its {aligner.score_kind} in the "
        f"{aligner.target_row} row: AER {rates}"
    )


def name_of(path: str) -> str:
    """Return a gold file's name without its endings: "alibi.en-fr"."""
    return Path(path).name.removesuffix(".gz").removesuffix(".tsv").removesuffix(".txt")


def source_of(name: str) -> str:
    """Return the known source of a gold set, or its name."""
    return next((text for start, text in KNOWN_SOURCES.items() if name.startswith(start)), name)


if __name__ == "__main__":
    main()
