"""Gender of translated occupations on WinoMT, and the heads that attend to the pronoun.

    python -m benchmarks.winomt checkpoints/en-fr en.txt.gz \
        [--source "WinoMT, MIT"] [--first N] [--keep]

The file is WinoMT's (github.com/gabrielStanovsky/mt_gender, data/aggregates/en.txt): gender,
position, sentence and occupation, separated by tabs. The model must translate into French or German
and have an `aligner.json` (`python -m benchmarks.gold_alignments`). `--first N` reads the first N
sentences and those that differ from them only in the pronoun. `--keep` writes `winomt.json` into
the checkpoint's folder, which the Heads lab shows; run it again whenever the weights change.
"""

from __future__ import annotations

import argparse

from transformer.analysis.alignment.aligner_head import load_aligner_head
from transformer.analysis.gender.measure import COUNTED_NOUNS, GenderReport, measure_gender
from transformer.analysis.gender.occupation_gender import check_language
from transformer.analysis.gender.report import NOUN_LABELS, save_gender_report
from transformer.analysis.gender.scores import SCORES
from transformer.analysis.gender.sentences import (
    OccupationSentence,
    minimal_pairs,
    read_winomt,
)
from transformer.checkpoint import checkpoint_hash, load_languages
from transformer.inference import Translator

SOURCE = "WinoMT (Stanovsky, Smith and Zettlemoyer 2019), MIT licence"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("checkpoint", help="folder of the checkpoint")
    parser.add_argument("sentences", help="WinoMT's file, may be gzipped")
    parser.add_argument("--source", default=SOURCE, help="who made the sentences")
    parser.add_argument("--first", type=int, help="the first N sentences and their counterparts")
    parser.add_argument("--keep", action="store_true", help="write winomt.json to the checkpoint")
    options = parser.parse_args()
    try:
        run(options)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{error}\n")


def run(options: argparse.Namespace) -> None:
    languages = load_languages(options.checkpoint)
    language = languages[1] if languages else ""
    check_language(language)
    sentences = first_sentences(read_winomt(options.sentences), options.first)
    translator = Translator.load(options.checkpoint, "cpu", precision="fp32")
    digest = checkpoint_hash(options.checkpoint)
    aligner = load_aligner_head(options.checkpoint, digest, translator.model.config)
    if aligner is None:
        raise ValueError(
            f"{options.checkpoint} has no aligner.json of its weights; "
            "`python -m benchmarks.gold_alignments` writes it"
        )
    report = measure_gender(translator, aligner, language, sentences, options.source)
    print_report(report)
    if options.keep:
        print(f"written: {save_gender_report(options.checkpoint, report)}")


def first_sentences(
    sentences: list[OccupationSentence], count: int | None
) -> list[OccupationSentence]:
    """Return the first sentences, and those that complete their minimal pairs."""
    if count is None:
        return sentences
    chosen = set(range(min(count, len(sentences))))
    for pair in minimal_pairs(sentences):
        if chosen.intersection(pair):
            chosen.update(pair)
    return [sentences[n] for n in sorted(chosen)]


def print_report(report: GenderReport) -> None:
    decided = report.person + report.other
    print(f"{report.sentences} sentences, {report.pairs} minimal pairs, target: {report.language}")
    print(f"decided: {decided}, {report.person} with a noun for a person")
    for reason, count in sorted(report.undecided.items(), key=lambda item: -item[1]):
        print(f"not decided: {count}, {reason}")
    for nouns in COUNTED_NOUNS:
        print(f"{NOUN_LABELS[nouns]}:")
        for score in report.scores[nouns]:
            interval = f"[{100 * score.low:.1f}, {100 * score.high:.1f}]"
            name = SCORES[score.name]
            print(f"  {name:18}{100 * score.value:7.1f} {interval:>16}  of {score.count}")
    effect = report.effect
    if effect is None:
        print("too few pairs with an article to measure heads")
        return
    print(
        f"heads that attend to the pronoun, {effect.pairs} pairs; layers and heads counted from 1"
    )
    for head in effect.heads:
        print(
            f"  {head.kind} {head.layer + 1}.{head.head + 1}: weight {head.weight:.3f}, next to it "
            f"{head.neighbours:.3f} (difference {head.low:.3f} to {head.high:.3f}), she - he "
            f"{head.she_minus_he:+.3f} ({head.she_low:+.3f} to {head.she_high:+.3f})"
        )
    for name, size, both_right in (
        ("all heads", effect.intact, effect.right),
        ("without these heads", effect.off, effect.right_off),
        ("without random heads", effect.random, effect.right_random),
    ):
        print(
            f"  effect of the pronoun, {name}: {size.value:+.3f} nats [{size.low:+.3f}, "
            f"{size.high:+.3f}]; both articles right {both_right:.1%}"
        )
    print(
        f"  other article without these heads {effect.flipped:.1%}, without random heads "
        f"{effect.flipped_random:.1%}"
    )


if __name__ == "__main__":
    main()
