"""Decoding speed of this package and CTranslate2 int8.

    python -m benchmarks.decoding [--rounds 7] [--checkpoint checkpoints/en-fr]

Both decode 20 tokens per sentence with the checkpoint, which CTranslate2 converts to its int8
format; its translations may differ (docs/import.md), its time does not depend on that. Ours decodes
from ids to ids, keeps the candidates of every step and verifies draft tokens. The engines take
turns in each round, so that other work on the machine affects both.

Each engine runs in two processes, with one thread and with all, because two thread pools in one
process slow each other down, and an engine can be several times as fast with one thread as with two
(CTranslate2 on a small model). The ratio compares with CTranslate2's faster process.
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

from transformer.exchange import export_marian
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding
from transformer.inference.trace_recording import Recording
from transformer.inference.translator import Translator

TOKENS = 20
PAUSE = 0.3
"""Seconds between two engines: an engine's threads keep spinning for a while."""
GROUPS = {
    "one sentence": {
        "CTranslate2 int8": "ctranslate",
        "ours": "ours",
        "ours, complete trace": "ours",
    },
    "32 sentences": {
        "CTranslate2 int8": "ctranslate",
        "ours": "ours",
        "ours, fp32": "ours",
    },
    "one, beam of 4": {"CTranslate2 int8": "ctranslate", "ours": "ours"},
    "32, beam of 4": {"CTranslate2 int8": "ctranslate", "ours": "ours"},
}
"""The workloads of each group, each with the engine that runs it."""

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


def decode_ours(decoder: SequenceDecoder, sources: list[list[int]], beam_size: int = 1) -> None:
    options = Decoding(max_len=TOKENS, beam_size=beam_size)
    outputs = decoder.run(sources, options, min_len=TOKENS - 1)
    assert beam_size > 1 or all(len(output.decoded.ids) == TOKENS for output in outputs)


def trace_ours(decoder: SequenceDecoder, source: list[int]) -> None:
    """Run one encoder pass, decoding and one decoder pass, and record every tensor."""
    recording = Recording(decoder.model, None, None)
    memory = decoder.encode([source], recording.hooks)
    options = Decoding(max_len=TOKENS)
    output = decoder.decode(memory, options, min_len=TOKENS - 1, recording_hooks=recording.hooks)[0]
    if output.teacher_forced_ids != output.decoded.ids:
        decoder.logits(memory, [output.decoded.ids], recording.hooks)
    assert len(recording.finished()) == len(decoder.model.hook_names)


def one_by_one(sources: list[Row], run: Callable[[list[Row]], object]) -> Workload:
    return lambda: [run([source]) for source in sources]


def repeat_to_32(sources: list[Row]) -> list[Row]:
    return [sources[i % len(sources)] for i in range(32)]


def encoded_sentences(translator: Translator) -> list[list[int]]:
    return [translator.vocabulary.encode(text) for text in SENTENCES]


def our_workloads(translator: Translator) -> dict[tuple[str, str], Workload]:
    decoder = SequenceDecoder(translator.model)
    exact = SequenceDecoder(translator.model, "fp32")
    sources = encoded_sentences(translator)
    batch = repeat_to_32(sources)
    return {
        ("one sentence", "ours"): one_by_one(sources, lambda rows: decode_ours(decoder, rows)),
        ("one sentence", "ours, complete trace"): one_by_one(
            sources, lambda rows: trace_ours(decoder, rows[0])
        ),
        ("32 sentences", "ours"): lambda: decode_ours(decoder, batch),
        ("32 sentences", "ours, fp32"): lambda: decode_ours(exact, batch),
        ("one, beam of 4", "ours"): one_by_one(sources, lambda rows: decode_ours(decoder, rows, 4)),
        ("32, beam of 4", "ours"): lambda: decode_ours(decoder, batch, 4),
    }


def ctranslate_workloads(translator: Translator) -> dict[tuple[str, str], Workload]:
    """Export the checkpoint as a Marian folder, which CTranslate2 converts to its int8 format."""
    from ctranslate2 import Translator as Engine
    from ctranslate2.converters import TransformersConverter

    assert translator.folder is not None
    with tempfile.TemporaryDirectory() as folder:
        export_marian(translator.folder, Path(folder) / "marian")
        converter = TransformersConverter(f"{folder}/marian")
        converted = converter.convert(f"{folder}/ct2", quantization="int8")
        threads = torch.get_num_threads()
        engine = Engine(converted, compute_type="int8", inter_threads=1, intra_threads=threads)
    sources = [translator.vocabulary.tokens(ids) for ids in encoded_sentences(translator)]
    batch = repeat_to_32(sources)

    def decode(rows: list[list[str]], beam_size: int = 1) -> None:
        engine.translate_batch(
            rows, beam_size=beam_size, min_decoding_length=TOKENS, max_decoding_length=TOKENS
        )

    return {
        ("one sentence", "CTranslate2 int8"): one_by_one(sources, decode),
        ("32 sentences", "CTranslate2 int8"): lambda: decode(batch),
        ("one, beam of 4", "CTranslate2 int8"): one_by_one(sources, lambda rows: decode(rows, 4)),
        ("32, beam of 4", "CTranslate2 int8"): lambda: decode(batch, 4),
    }


ENGINES = {"ours": our_workloads, "ctranslate": ctranslate_workloads}


def serve(engine: str, checkpoint: Path) -> None:
    """Serve one engine: for each input line "group|name" do the work and print the seconds."""
    workloads = ENGINES[engine](Translator.load(checkpoint, "cpu"))
    print("ready", flush=True)
    for line in sys.stdin:
        group, _, name = line.strip().partition("|")
        start = time.perf_counter()
        workloads[group, name]()
        print(time.perf_counter() - start, flush=True)


class EngineProcess:
    """A process that serves one engine with this many threads."""

    def __init__(self, engine: str, checkpoint: Path, threads: int) -> None:
        arguments = ["--serve", engine, "--checkpoint", str(checkpoint), "--threads", str(threads)]
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

    def time(self, group: str, name: str) -> float:
        """Run this workload and return its seconds."""
        print(f"{group}|{name}", file=self.requests, flush=True)
        return float(self.answers.readline())

    def close(self) -> None:
        self.requests.close()
        self.process.wait()


Times = dict[tuple[str, str, int], list[float]]
"""Seconds of every round, by group, name and threads."""


def measure(checkpoint: Path, rounds: int, counts: list[int]) -> Times:
    """Measure all engines, after one round of warm-up."""
    times: Times = {}
    engines = {(name, n): EngineProcess(name, checkpoint, n) for name in ENGINES for n in counts}
    for number in range(rounds + 1):
        for group, workloads in GROUPS.items():
            for (name, engine), n in itertools.product(workloads.items(), counts):
                time.sleep(PAUSE)
                seconds = engines[engine, n].time(group, name)
                if number:
                    times.setdefault((group, name, n), []).append(seconds)
    for engine_process in engines.values():
        engine_process.close()
    return times


def table(times: Times) -> str:
    """Return a table of medians; the ratio is to the faster row of each group's first engine."""
    lines = [
        "| | | threads | tokens/s (median) | best round | × CTranslate2 |",
        "|---|---|---:|---:|---:|---:|",
    ]
    medians = {key: statistics.median(round_times) for key, round_times in times.items()}
    for (group, name, threads), round_times in times.items():
        pieces = TOKENS * (32 if group.startswith("32") else len(SENTENCES))
        first = (group, next(iter(GROUPS[group])))
        base = min(median for key, median in medians.items() if key[:2] == first)
        median = medians[group, name, threads]
        speed = f"{pieces / median:,.0f} | {pieces / min(round_times):,.0f} | {base / median:.2f}"
        lines.append(f"| {group} | {name} | {threads} | {speed} |")
    return "\n".join(lines)


def text_to_trace(translator: Translator, rounds: int) -> str:
    """Return the times of translating text, and of translating it with a trace, as a sentence."""
    translation_times: list[float] = []
    trace_times: list[float] = []
    for _ in range(rounds + 1):
        for text in SENTENCES:
            for times, call in (
                (translation_times, translator.translate),
                (trace_times, translator.trace),
            ):
                start = time.perf_counter()
                call(text)
                times.append(time.perf_counter() - start)
    skip = len(SENTENCES)
    without_trace, with_trace = (
        statistics.median(translation_times[skip:]),
        statistics.median(trace_times[skip:]),
    )
    ratio = statistics.median(
        b / a for a, b in zip(translation_times[skip:], trace_times[skip:], strict=True)
    )
    return (
        f"Text to text: {without_trace * 1e3:.1f} ms; with a complete trace: "
        f"{with_trace * 1e3:.1f} ms ({ratio:.2f} times as long; goal: under 150 ms, at most 1.25 "
        "times)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-fr"))
    parser.add_argument("--serve", choices=[*ENGINES], help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        torch.set_num_threads(options.threads)
        return serve(options.serve, options.checkpoint)
    translator = Translator.load(options.checkpoint, "cpu")
    counts = sorted({1, torch.get_num_threads()})
    lengths = [len(ids) for ids in encoded_sentences(translator)]
    print(f"{options.checkpoint}, sources of {lengths} tokens")
    print(f"{TOKENS} output tokens per sentence, {options.rounds} rounds\n")
    print(table(measure(options.checkpoint, options.rounds, counts)))
    print("\n" + text_to_trace(translator, options.rounds))


if __name__ == "__main__":
    main()
