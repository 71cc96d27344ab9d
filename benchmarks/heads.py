"""Time to measure all heads over a corpus of 1,000 bundled sentences.

    python -m benchmarks.heads [--sentences 1000] [--checkpoint checkpoints/en-fr]

Measured twice: with the French targets, and with the model's own greedy translations instead, as
for an upload without targets. Prints wall-clock seconds, and processor seconds of all cores, which
other work on the machine does not lengthen.
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
    bare = Corpus("sources alone", tuple(Sentence(s.source) for s in with_targets.sentences))
    measure_heads(translator, bare.first(8))  # warm-up
    print(f"{options.sentences} sentences, {torch.get_num_threads()} threads")
    for name, corpus in (("targets given", with_targets), ("own translations", bare)):
        clock, cores = time.perf_counter(), time.process_time()
        roles = head_roles(measure_heads(translator, corpus))
        clock, cores = time.perf_counter() - clock, time.process_time() - cores
        print(f"{name:>16}: {clock:5.1f} s, {cores:5.1f} s of a core, {len(roles)} heads")


if __name__ == "__main__":
    main()
