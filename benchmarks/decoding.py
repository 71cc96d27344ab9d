"""Decoding speed of this package, CTranslate2 int8 and Hugging Face Marian.

    python -m benchmarks.decoding [--rounds 7] [--checkpoint checkpoints/en-fr]

All engines decode 20 tokens per sentence, from ids to ids, with d_model 256, 6+6 layers, 8 heads,
d_ff 1024 and 8,000 tokens. Ours uses the checkpoint's weights, keeps the candidates of every step
and verifies draft tokens; the others have random weights, which take the same time. The engines
take turns in each round, so that other work on the machine affects all.

Each engine runs in two processes, with one thread and with all, because two thread pools in one
process slow each other down, and an engine can be several times as fast with one thread as with two
(CTranslate2 on a small model). The ratio compares with CTranslate2's faster process.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.engine_process import EngineProcess
from benchmarks.products import products_alone
from transformer.config import ModelConfig
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding
from transformer.inference.trace_recording import Recording
from transformer.inference.translator import Translator
from transformer.model import Transformer

TOKENS = 20
PAUSE = 0.3
"""Seconds between two engines: an engine's threads keep spinning for a while."""
PRODUCTS = "only its float32 products"
GROUPS = {
    "one sentence": {
        "CTranslate2 int8": "ctranslate",
        "ours": "ours",
        "ours, complete trace": "ours",
        PRODUCTS: "ours",
        "Marian": "marian",
        "Marian, attentions": "marian",
    },
    "32 sentences": {
        "CTranslate2 int8": "ctranslate",
        "ours": "ours",
        "ours, fp32": "ours",
        "Marian": "marian",
    },
    "one, beam of 4": {"CTranslate2 int8": "ctranslate", "ours": "ours", PRODUCTS: "ours"},
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


def one_by_one(sources: list[list[int]], run: Callable[[list[list[int]]], object]) -> Workload:
    return lambda: [run([source]) for source in sources]


def repeat_to_32(sources: list[list[int]]) -> list[list[int]]:
    return [sources[i % len(sources)] for i in range(32)]


def our_workloads(model: Transformer, sources: list[list[int]]) -> dict[tuple[str, str], Workload]:
    decoder, exact, batch = (
        SequenceDecoder(model),
        SequenceDecoder(model, "fp32"),
        repeat_to_32(sources),
    )
    return {
        ("one sentence", "ours"): one_by_one(sources, lambda rows: decode_ours(decoder, rows)),
        ("one sentence", "ours, complete trace"): one_by_one(
            sources, lambda rows: trace_ours(decoder, rows[0])
        ),
        ("one sentence", PRODUCTS): products_alone(model, sources, TOKENS),
        ("one, beam of 4", PRODUCTS): products_alone(model, sources, TOKENS, 4),
        ("32 sentences", "ours"): lambda: decode_ours(decoder, batch),
        ("32 sentences", "ours, fp32"): lambda: decode_ours(exact, batch),
        ("one, beam of 4", "ours"): one_by_one(sources, lambda rows: decode_ours(decoder, rows, 4)),
        ("32, beam of 4", "ours"): lambda: decode_ours(decoder, batch, 4),
    }


def marian_workloads(
    model: Transformer, sources: list[list[int]]
) -> dict[tuple[str, str], Workload]:
    from benchmarks import peers

    hf, batch = peers.random_marian(model.config), repeat_to_32(sources)
    translate = peers.marian_decoder(hf, TOKENS)
    attentions = peers.marian_decoder(
        hf, TOKENS, output_attentions=True, return_dict_in_generate=True
    )
    return {
        ("one sentence", "Marian"): one_by_one(sources, translate),
        ("one sentence", "Marian, attentions"): one_by_one(sources, attentions),
        ("32 sentences", "Marian"): lambda: translate(batch),
    }


def ctranslate_workloads(
    model: Transformer, sources: list[list[int]]
) -> dict[tuple[str, str], Workload]:
    from benchmarks import peers

    with tempfile.TemporaryDirectory() as folder:
        hf = peers.random_marian(model.config)
        translator = peers.convert_to_ctranslate(hf, Path(folder) / "ct2", torch.get_num_threads())
    greedy, beam = (
        peers.ctranslate_decoder(translator, TOKENS),
        peers.ctranslate_decoder(translator, TOKENS, 4),
    )
    batch = repeat_to_32(sources)
    return {
        ("one sentence", "CTranslate2 int8"): one_by_one(sources, greedy),
        ("32 sentences", "CTranslate2 int8"): lambda: greedy(batch),
        ("one, beam of 4", "CTranslate2 int8"): one_by_one(sources, beam),
        ("32, beam of 4", "CTranslate2 int8"): lambda: beam(batch),
    }


ENGINES = {"ours": our_workloads, "marian": marian_workloads, "ctranslate": ctranslate_workloads}


def serve(engine: str, checkpoint: Path) -> None:
    """Serve one engine: for each input line "group|name" do the work and print the seconds."""
    torch.manual_seed(0)
    model, sources, _ = model_and_sources(checkpoint)
    workloads = ENGINES[engine](model, sources)
    print("ready", flush=True)
    for line in sys.stdin:
        group, _, name = line.strip().partition("|")
        start = time.perf_counter()
        workloads[group, name]()
        print(time.perf_counter() - start, flush=True)


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


def model_and_sources(checkpoint: Path) -> tuple[Transformer, list[list[int]], Translator | None]:
    """Return the checkpoint's model and sources; random ones if the folder does not exist."""
    if checkpoint.is_dir():
        translator = Translator.load(checkpoint, "cpu")
        sources = [translator.vocabulary.encode(text) for text in SENTENCES]
        return translator.model, sources, translator
    model = Transformer(ModelConfig.preset("small", vocab_size=8000)).eval()
    return model, [[*torch.randint(4, 8000, (11,)).tolist(), 2] for _ in SENTENCES], None


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
    _, sources, translator = model_and_sources(options.checkpoint)
    counts = sorted({1, torch.get_num_threads()})
    print(f"Ours: {options.checkpoint if translator else 'random weights'};", end=" ")
    print(f"sources of {[len(ids) for ids in sources]} pieces")
    print(f"{TOKENS} tokens per sentence, {options.rounds} rounds\n")
    print(table(measure(options.checkpoint, options.rounds, counts)))
    if translator is not None:
        print("\n" + text_to_trace(translator, options.rounds))


if __name__ == "__main__":
    main()
