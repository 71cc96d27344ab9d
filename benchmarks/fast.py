"""CPU time that each part of `inference/fast` saves compared with the plain decoder.

    python -m benchmarks.fast [--rounds 7] [--checkpoint checkpoints/en-fr]

All variants take turns on one thread. The result of a variant is the CPU time of its fastest round,
so that other work on the machine matters little. A part that saves less than 15% in every column
is not worth its code.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from unittest import mock

import torch

from benchmarks.decoding import SENTENCES
from transformer.inference.backend import Backend
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.fast import products, weights
from transformer.inference.fast.fast_backend import FastBackend
from transformer.inference.options import Decoding
from transformer.inference.translator import Translator

WORKLOADS = {
    "one sentence": (1, Decoding()),
    "one, beam size 4": (1, Decoding(beam_size=4)),
    "32 sentences": (32, Decoding()),
    "32, beam size 4": (32, Decoding(beam_size=4)),
}
Change = Callable[[SequenceDecoder], AbstractContextManager[object]]
ALL_PARTS = "all parts"


def without_drafts(decoder: SequenceDecoder) -> AbstractContextManager[object]:
    return mock.patch.object(FastBackend, "decode_speculatively", return_value=None)


def without_onednn(decoder: SequenceDecoder) -> AbstractContextManager[object]:
    return mock.patch.object(products, "onednn_is_faster", return_value=False)


def without_column_layout(decoder: SequenceDecoder) -> AbstractContextManager[object]:
    return mock.patch.object(weights, "COLUMN_LAYOUT_ROWS", range(0))


@contextmanager
def plain_decoder(decoder: SequenceDecoder) -> Iterator[None]:
    with (
        without_onednn(decoder),
        mock.patch.object(decoder, "backend", Backend(decoder.model, "fp32")),
    ):
        yield


VARIANTS: dict[str, Change] = {
    ALL_PARTS: lambda decoder: nullcontext(),
    "without 8-bit drafts": without_drafts,
    "without oneDNN's products": without_onednn,
    "without the column layout": without_column_layout,
    "plain decoder": plain_decoder,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-fr"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    translator = Translator.load(arguments.checkpoint, "cpu")
    decoders = {name: SequenceDecoder(translator.model, name) for name in ("fp32", "auto")}
    sources = [translator.vocabulary.encode(text) for text in SENTENCES]
    best: dict[tuple[str, str], float] = {}
    for number in range(-1, arguments.rounds):  # the first round does not count
        for variant, change in VARIANTS.items():
            for workload, (rows, options) in WORKLOADS.items():
                batch = [sources[(number + 1 + row) % len(sources)] for row in range(rows)]
                decode_once(
                    best, (variant, workload), decoders["fp32"], change, batch, options, number
                )
        for workload in ("32 sentences", "32, beam size 4"):
            batch = [sources[(number + 1 + row) % len(sources)] for row in range(32)]
            key, change = ("bfloat16 if faster", workload), VARIANTS[ALL_PARTS]
            decode_once(best, key, decoders["auto"], change, batch, WORKLOADS[workload][1], number)
    print(f"{'milliseconds':<32}" + "".join(f"{workload:>20}" for workload in WORKLOADS))
    for variant in [*VARIANTS, "bfloat16 if faster"]:
        cells = []
        for workload in WORKLOADS:
            seconds = best.get((variant, workload))
            ratio = "" if seconds is None else f"{seconds / best[ALL_PARTS, workload]:.2f}×"
            cells.append("" if seconds is None else f"{1000 * seconds:.1f} ({ratio})")
        print(f"{variant:<32}" + "".join(f"{cell:>20}" for cell in cells))


def decode_once(
    best: dict[tuple[str, str], float],
    key: tuple[str, str],
    decoder: SequenceDecoder,
    change: Change,
    sources: list[list[int]],
    options: Decoding,
    number: int,
) -> None:
    """Decode once with this change; store the CPU time in `best` if it is the smallest."""
    with change(decoder):
        start = time.process_time()
        decoder.run(sources, options)
        seconds = time.process_time() - start
    if number >= 0:
        best[key] = min(best.get(key, seconds), seconds)


if __name__ == "__main__":
    main()
