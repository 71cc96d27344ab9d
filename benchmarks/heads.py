"""All heads measured over a corpus: seconds for 1,000 of our own sentences.

    python -m benchmarks.heads [--sentences 1000] [--checkpoint checkpoints/en-fr]

Twice: with their French given, and with the model's own greedy translations in its place, as for
an upload without targets. Seconds of the clock, and of all cores together, which a busy machine
does not lengthen.
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
    given = Corpus.bundled(options.sentences)
    bare = Corpus("sources alone", tuple(Sentence(s.source) for s in given.sentences))
    measure_heads(translator, bare.first(8))  # what is slow the first time
    print(f"{options.sentences} sentences, {torch.get_num_threads()} threads")
    for name, corpus in (("targets given", given), ("own translations", bare)):
        clock, cores = time.perf_counter(), time.process_time()
        made = head_roles(measure_heads(translator, corpus))
        clock, cores = time.perf_counter() - clock, time.process_time() - cores
        print(f"{name:>16}: {clock:5.1f} s, {cores:5.1f} s of a core, {len(made)} heads")


if __name__ == "__main__":
    main()
