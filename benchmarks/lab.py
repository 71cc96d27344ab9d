"""Time of interventions on one sentence, as in the Heads lab, and of ablation over a corpus.

    python -m benchmarks.lab [--sentences 100] [--bleu]

Uses the shipped checkpoint and the bundled sentences. Prints wall-clock seconds, which depend on
other work on the machine, and CPU seconds. BLEU is measured with eight heads, or with
`--bleu` all heads, switched off one at a time.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from statistics import median

from benchmarks.browser import ROOT
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.importance.ablation import leave_one_out, measure_without
from transformer.analysis.importance.by_gradient import gradient_importance
from transformer.analysis.interventions.blanking import blank_cells
from transformer.analysis.interventions.comparison import compare
from transformer.analysis.interventions.switching import all_heads, switched_off

SENTENCE = "My neighbour sold his boat before the cold winter came."  # 17 pieces


def print_time(label: str, action: Callable[[], object], times: int = 1, limit: str = "") -> None:
    if times > 1:
        action()  # warm-up
    wall_times, cpu_times = [], []
    for _ in range(times):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        action()
        wall_times.append(time.perf_counter() - wall_start)
        cpu_times.append(time.process_time() - cpu_start)
    print(
        f"{label:<64} {median(wall_times):8.2f} s {median(cpu_times):8.2f} s   {limit}", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--bleu", action="store_true")
    options = parser.parse_args()
    translator = Translator.load(ROOT / "checkpoints" / "en-fr", device="cpu")
    config, corpus = translator.model.config, Corpus.bundled(options.sentences)
    trace, heads = translator.trace(SENTENCE), all_heads(config)
    bleu_heads = heads if options.bleu else heads[:: len(heads) // 8]
    hooks = switched_off(config, [("cross", 5, 0)])
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}; {len(trace.src_ids)} source tokens")
    print(f"{'':<64} {'wall clock':>10} {'CPU':>10}")
    print_time(
        "switch a head off, translate again",
        lambda: translator.translate(SENTENCE, hooks=hooks),
        15,
        "(goal: at most 0.40)",
    )
    print_time(
        "... and compare all probabilities, candidates and attention",
        lambda: compare(translator, SENTENCE, hooks, original=trace),
        15,
    )
    print_time(
        "blank every cell of a row of an encoder head",
        lambda: blank_cells(translator, trace, ("encoder", 0, 0), [3]),
        5,
    )
    print_time(
        "blank every cell of an encoder head",
        lambda: blank_cells(translator, trace, ("encoder", 0, 0)),
    )
    print_time(
        "blank every cell of a cross head", lambda: blank_cells(translator, trace, ("cross", 5, 0))
    )
    n = len(corpus)
    print_time(
        f"importance of {len(heads)} heads by gradient, {n} sentences",
        lambda: gradient_importance(translator, corpus),
    )
    print_time(
        f"loss without each of {len(heads)} heads, {n} sentences",
        lambda: leave_one_out(translator, corpus),
    )
    print_time(
        f"BLEU without each of {len(bleu_heads)} heads, {n} sentences",
        lambda: measure_without(translator, corpus, [[head] for head in bleu_heads], bleu=True),
    )


if __name__ == "__main__":
    main()
