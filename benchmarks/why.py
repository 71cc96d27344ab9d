"""How exact the answers to "why this word, why there" are, and how well they predict.

    python -m benchmarks.why [checkpoints/en-fr checkpoints/en-de] [--cells 10000] [--heads 1000]

Prints, in double precision, the largest relative difference between the sum of the parts and the
model's own score over random cells, and its logit over all words (relative to the largest
absolute number of its head, or to the largest logit). Then switches off heads of the decoder, one
at a time, for random words of everyday sentences, where this changes the word's probability by more
than one percent: how often the sign of the head's part of the logit is that of the measured change,
and their rank correlation with an interval (bootstrap over sentences, 95 %). The change is measured
twice: of the logit with the head off at the word's position only, and of the log-probability with
the head off everywhere, as on the page.
"""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.harness import option_parser
from transformer import Translator
from transformer.analysis.attribution.direct_logits import direct_logits
from transformer.analysis.attribution.residual_parts import (
    Part,
    query_and_key_parts,
    residual_parts,
)
from transformer.analysis.corpora.bundled_sentences import everyday_sentences
from transformer.analysis.importance.sentence import sentence_importances
from transformer.measures.head_codes import write_heads
from transformer.measures.registry import SITES

CELLS_OF_A_LAYER = 40
SMALL = 0.01
"""Changes of probability up to this are not counted."""


def errors_of_sums(translator: Translator, sentences: list[str], cells: int) -> tuple[float, float]:
    """Return the largest relative error of a score and of a logit."""
    model, generator = translator.model, np.random.default_rng(0)
    kinds = [(kind, layer) for kind in SITES for layer in range(model.config.n_layers)]
    score_error = logit_error = 0.0
    for sentence in sentences[: math.ceil(cells / CELLS_OF_A_LAYER / len(kinds))]:
        trace = translator.trace(sentence)
        for kind, layer in kinds:
            sides = query_and_key_parts(model, trace, kind, layer)
            scale = model.config.d_k**-0.5
            queries, keys = (side.vectors.sum(axis=0) for side in sides)
            scores = trace[f"{SITES[kind].format(layer)}hook_scores"]
            places = [generator.integers(0, n, CELLS_OF_A_LAYER) for n in scores.shape]
            sums = scale * (queries[places[0], places[1]] * keys[places[0], places[2]]).sum(axis=-1)
            largest = np.abs(scores).max(axis=(1, 2))[places[0]]
            score_error = max(score_error, np.max(np.abs(sums - scores[tuple(places)]) / largest))
        state = residual_parts(model, trace, "decoder").vectors.sum(axis=0)
        logits = trace["hook_logits"]
        embeddings = model.embedding.weight.detach().double().numpy()
        error = np.abs(state @ embeddings.T - logits).max() / np.abs(logits).max()
        logit_error = max(logit_error, float(error))
    return float(score_error), logit_error


def effects(translator: Translator, sentences: list[str], n_heads: int) -> pd.DataFrame:
    """Return predicted and measured effects of decoder heads: sentence, adds, removed, loss."""
    generator, rows = random.Random(0), []
    for number, sentence in enumerate(sentences):
        trace = translator.trace(sentence)
        step = generator.randrange(len(trace.predicted_ids) - 1)
        probability = trace.translation.steps[step].probability
        parts = direct_logits(translator.model, trace, step).table
        losses = sentence_importances(translator, trace, step)
        measured = {write_heads([head]): loss for head, loss in losses.items()}
        for part, layer, head, adds, removed in parts.itertuples(index=False):
            loss = measured.get(Part(part, layer, head).name)
            if loss is not None and probability * abs(1 - math.exp(-loss)) > SMALL:
                rows.append((number, adds, removed, loss))
        if len(rows) >= n_heads:
            break
    return pd.DataFrame(rows, columns=["sentence", "adds", "removed", "loss"])


def rank_interval(table: pd.DataFrame, measured: str, rounds: int = 500) -> tuple[float, float]:
    """Return the 95 % interval of Spearman's correlation, resampling whole sentences."""
    generator = np.random.default_rng(0)
    groups = [group for _, group in table.groupby("sentence")]
    values = []
    for _ in range(rounds):
        sample = pd.concat([groups[i] for i in generator.integers(0, len(groups), len(groups))])
        values.append(sample["adds"].corr(sample[measured], method="spearman"))
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    parser = option_parser(__doc__)
    default = [Path("checkpoints/en-fr"), Path("checkpoints/en-de")]
    parser.add_argument("checkpoints", nargs="*", type=Path, default=default)
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--heads", type=int, default=1000)
    options = parser.parse_args()
    for folder in options.checkpoints:
        translator = Translator.load(folder)
        sentences = [source for source, *_ in everyday_sentences()]
        table = effects(translator, sentences, options.heads)
        exact = Translator(translator.model.double(), translator.vocabulary)
        score_error, logit_error = errors_of_sums(exact, sentences, options.cells)
        print(f"{folder.name}, {options.cells} cells: relative error of scores {score_error:.1e}, "
              f"of logits {logit_error:.1e}")  # fmt: skip
        print(f"{folder.name}, {len(table)} heads with an effect above {SMALL:.0%}:")
        for measured, place in (("removed", "at this position"), ("loss", "everywhere")):
            right = float((np.sign(table["adds"]) == np.sign(table[measured])).mean())
            correlation = table["adds"].corr(table[measured], method="spearman")
            low, high = rank_interval(table, measured)
            print(f"  off {place}: sign right in {right:.1%}, Spearman {correlation:.2f} "
                  f"({low:.2f} to {high:.2f})")  # fmt: skip


if __name__ == "__main__":
    main()
