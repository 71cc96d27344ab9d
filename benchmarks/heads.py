"""Time to measure all heads over a corpus of 1,000 bundled sentences.

    python -m benchmarks.heads [--sentences 1000] [--checkpoint checkpoints/en-fr]

Measures twice: with the French targets, and with the model's own greedy translations, as for an
upload without targets. Prints wall-clock seconds and CPU seconds of all cores, which do not depend
on other work on the machine.
"""

from __future__ import annotations

import argparse
import time

import torch

from transformer.analysis.corpora import Corpus, Sentence
from transformer.analysis.roles.head_measures import measure_heads
from transformer.analysis.roles.head_roles import head_roles
from transformer.inference import Translator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--checkpoint", default="checkpoints/en-fr")
    options = parser.parse_args()
    translator = Translator.load(options.checkpoint, "cpu")
    with_targets = Corpus.bundled(options.sentences)
    sources_only = Corpus("sources only", tuple(Sentence(s.source) for s in with_targets.sentences))
    measure_heads(translator, sources_only.first(8))  # warm-up
    print(f"{options.sentences} sentences, {torch.get_num_threads()} threads")
    for name, corpus in (("given targets", with_targets), ("own translations", sources_only)):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        roles = head_roles(measure_heads(translator, corpus))
        wall, cpu = time.perf_counter() - wall_start, time.process_time() - cpu_start
        print(f"{name:>16}: {wall:5.1f} s, {cpu:5.1f} s of CPU time, {len(roles)} heads")


if __name__ == "__main__":
    main()
