"""Decoding speed of this package, `transformers` and CTranslate2, all in float32.

    python -m benchmarks.decoding [--rounds 7] [--checkpoint checkpoints/en-fr]

All decode 20 tokens per sentence with the checkpoint, which is exported as a Marian folder for the
other two; their translations may differ (docs/import.md), their times do not depend on that. Ours
decodes from ids to ids and keeps the candidates of every step. `transformers` returns the attention
of all heads, which is what this project is about. The engines take turns in each round, so that
other work on the machine affects all.

Each engine runs in two processes, with one thread and with all, because two thread pools in one
process slow each other down, and an engine can be several times as fast with one thread as with two
(CTranslate2 on a small model). The ratios compare with the other engine's faster process.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch

from benchmarks.harness import option_parser
from transformer.analysis.interventions.switching import switched_off
from transformer.exchange import export_marian
from transformer.hooks import Hooks
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding
from transformer.inference.trace_recording import Recording
from transformer.inference.translator import Translator
from transformer.text.batching import pad

TOKENS = 20
PAUSE = 0.3
"""Seconds between two engines: an engine's threads keep spinning for a while."""
ENGINE_NAMES = ["transformers", "CTranslate2", "ours"]
GROUPS = {
    "one sentence": ENGINE_NAMES,
    "one sentence, complete trace": ["ours"],
    "32 sentences": ENGINE_NAMES,
    "one, beam of 4": ENGINE_NAMES,
    "32, beam of 4": ENGINE_NAMES,
    "32, beam of 4, one head off": ["ours"],
}
"""The engines that are measured in each group."""

SENTENCES = [
    "My sister has been waiting for the last train since nine.",
    "They sold the house by the lake and moved to the city.",
    "Could you tell me where I can buy a map?",
    "The children fell asleep before the film had ended.",
    "He never answers letters that arrive on a Monday.",
    "We planted an apple tree behind the old school.",
    "Nobody knows why the bridge was closed this morning.",
    "If it rains tomorrow, the game will be on Sunday.",
]

Workload = Callable[[], object]
Row = TypeVar("Row", list[int], list[str])


def trace_ours(decoder: SequenceDecoder, source: list[int]) -> None:
    """Run one encoder pass, decoding and one decoder pass, and record every tensor."""
    recording = Recording(decoder.model, None, None)
    memory = decoder.encode([source], recording.hooks)
    options = Decoding(max_len=TOKENS)
    output = decoder.decode(memory, options)[0]
    decoder.logits(memory, [output.decoded.ids], recording.hooks)
    assert len(recording.finished()) == len(decoder.model.hook_names)


def one_by_one(sources: list[Row], run: Callable[[list[Row]], object]) -> Workload:
    return lambda: [run([source]) for source in sources]


def repeat_to_32(sources: list[Row]) -> list[Row]:
    return [sources[i % len(sources)] for i in range(32)]


def encoded_sentences(translator: Translator) -> list[list[int]]:
    return [translator.vocabulary.encode(text) for text in SENTENCES]


def our_workloads(translator: Translator) -> dict[str, Workload]:
    with torch.no_grad():  # its logit becomes 0, and no output ends before `TOKENS`
        translator.model.embedding.weight[translator.vocabulary.eos_id] = 0
    decoder = SequenceDecoder(translator.model)
    sources = encoded_sentences(translator)
    batch = repeat_to_32(sources)
    head_off = switched_off(translator.model.config, [("cross", 0, 0)])

    def decode(rows: list[list[int]], beam_size: int, hooks: Hooks | None = None) -> None:
        options = Decoding(max_len=TOKENS, beam_size=beam_size)
        outputs = decoder.run(rows, options, hooks)
        assert beam_size > 1 or all(len(output.decoded.ids) == TOKENS for output in outputs)

    return workloads_of(sources, decode) | {
        "one sentence, complete trace": one_by_one(
            sources, lambda rows: trace_ours(decoder, rows[0])
        ),
        "32, beam of 4, one head off": lambda: decode(batch, 4, head_off),
    }


def workloads_of(
    sources: list[Row], decode: Callable[[list[Row], int], object]
) -> dict[str, Workload]:
    """Return the workloads of an engine, given how it decodes a batch with a beam size."""
    batch = repeat_to_32(sources)
    return {
        "one sentence": one_by_one(sources, lambda rows: decode(rows, 1)),
        "32 sentences": lambda: decode(batch, 1),
        "one, beam of 4": one_by_one(sources, lambda rows: decode(rows, 4)),
        "32, beam of 4": lambda: decode(batch, 4),
    }


def transformers_workloads(translator: Translator) -> dict[str, Workload]:
    from transformers import MarianMTModel

    assert translator.folder is not None
    with tempfile.TemporaryDirectory() as folder:
        export_marian(translator.folder, Path(folder) / "marian")
        model = MarianMTModel.from_pretrained(
            f"{folder}/marian", attn_implementation="eager", dtype=torch.float32
        ).eval()
    model.generation_config.max_length = None  # `max_new_tokens` limits the length
    config = translator.model.config

    @torch.inference_mode()
    def decode(rows: list[list[int]], beam_size: int) -> None:
        src = pad(rows, config.pad_id, torch.device("cpu"))
        model.generate(
            input_ids=src,
            attention_mask=(src != config.pad_id).long(),
            num_beams=beam_size,
            do_sample=False,
            min_new_tokens=TOKENS,
            max_new_tokens=TOKENS,
            output_attentions=True,
            return_dict_in_generate=True,
        )

    return workloads_of(encoded_sentences(translator), decode)


def ctranslate_workloads(translator: Translator) -> dict[str, Workload]:
    """Export the checkpoint as a Marian folder, which CTranslate2 converts to its own format."""
    from ctranslate2 import Translator as Engine
    from ctranslate2.converters import TransformersConverter

    assert translator.folder is not None
    with tempfile.TemporaryDirectory() as folder:
        export_marian(translator.folder, Path(folder) / "marian")
        converted = TransformersConverter(f"{folder}/marian").convert(f"{folder}/ct2")
        threads = torch.get_num_threads()
        engine = Engine(converted, compute_type="float32", inter_threads=1, intra_threads=threads)
    sources = [translator.vocabulary.tokens(ids) for ids in encoded_sentences(translator)]

    def decode(rows: list[list[str]], beam_size: int) -> None:
        engine.translate_batch(
            rows, beam_size=beam_size, min_decoding_length=TOKENS, max_decoding_length=TOKENS
        )

    return workloads_of(sources, decode)


ENGINES = {
    "transformers": transformers_workloads,
    "CTranslate2": ctranslate_workloads,
    "ours": our_workloads,
}


def serve(engine: str, checkpoint: Path, clock: Callable[[], float]) -> None:
    """Serve one engine: for each group in the input do the work and print its seconds."""
    workloads = ENGINES[engine](Translator.load(checkpoint, "cpu"))
    print("ready", flush=True)
    for line in sys.stdin:
        start = clock()
        workloads[line.strip()]()
        print(clock() - start, flush=True)


class EngineProcess:
    """A process that serves one engine with this many threads."""

    def __init__(self, engine: str, checkpoint: Path, threads: int, processor_time: bool) -> None:
        arguments = ["--serve", engine, "--checkpoint", str(checkpoint), "--threads", str(threads)]
        if processor_time:
            arguments.append("--processor-time")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.decoding", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        )
        assert self.process.stdin
        assert self.process.stdout
        self.requests, self.answers = self.process.stdin, self.process.stdout
        if self.answers.readline().strip() != "ready":
            raise SystemExit(f"{engine} did not start")

    def time(self, group: str) -> float:
        """Run the workload of this group and return its seconds."""
        print(group, file=self.requests, flush=True)
        return float(self.answers.readline())

    def close(self) -> None:
        self.requests.close()
        self.process.wait()


Times = dict[tuple[str, str, int], list[float]]
"""Seconds of every round, by group, engine and threads."""


def measure(
    checkpoint: Path, rounds: int, counts: list[int], processor_time: bool = False
) -> Times:
    """Measure all engines, after one round of warm-up."""
    times: Times = {}
    engines = {
        (name, n): EngineProcess(name, checkpoint, n, processor_time)
        for name in ENGINES
        for n in counts
    }
    for number in range(rounds + 1):
        for group, names in GROUPS.items():
            for name, n in itertools.product(names, counts):
                time.sleep(PAUSE)
                seconds = engines[name, n].time(group)
                if number:
                    times.setdefault((group, name, n), []).append(seconds)
    for engine_process in engines.values():
        engine_process.close()
    return times


def table(times: Times) -> str:
    """Return a table of medians, with ratios to the faster process of each other engine."""
    lines = [
        "| | | threads | tokens/s (median) | best round | × transformers | × CTranslate2 |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    medians = {key: statistics.median(round_times) for key, round_times in times.items()}
    for (group, name, threads), round_times in times.items():
        pieces = TOKENS * (32 if group.startswith("32") else len(SENTENCES))
        ratios = []
        for peer in ("transformers", "CTranslate2"):
            of_peer = [median for key, median in medians.items() if key[:2] == (group, peer)]
            ratios.append(f"{min(of_peer) / medians[group, name, threads]:.2f}" if of_peer else "–")
        speeds = (pieces / medians[group, name, threads], pieces / min(round_times))
        speed = " | ".join(f"{value:,.0f}" for value in speeds)
        lines.append(f"| {group} | {name} | {threads} | {speed} | {' | '.join(ratios)} |")
    return "\n".join(lines)


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-fr"))
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="one thread, and seconds of processor time: for a busy machine",
    )
    parser.add_argument("--serve", choices=[*ENGINES], help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        torch.set_num_threads(options.threads)
        clock = time.process_time if options.processor_time else time.perf_counter
        return serve(options.serve, options.checkpoint, clock)
    translator = Translator.load(options.checkpoint, "cpu")
    counts = [1] if options.processor_time else sorted({1, torch.get_num_threads()})
    lengths = [len(ids) for ids in encoded_sentences(translator)]
    print(f"{options.checkpoint} in float32 on the CPU, sources of {lengths} tokens")
    print(f"{TOKENS} output tokens per sentence, {options.rounds} rounds\n")
    print(table(measure(options.checkpoint, options.rounds, counts, options.processor_time)))


if __name__ == "__main__":
    main()
