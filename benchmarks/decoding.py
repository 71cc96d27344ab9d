"""Decoding speed, ours beside CTranslate2 int8 and Hugging Face Marian, in one run.

    python -m benchmarks.decoding [--rounds 7] [--checkpoint checkpoints/en-fr]

Everyone decodes 20 pieces a sentence on the same processor threads, ids in and ids out, at d_model
256, 6+6 layers, 8 heads, d_ff 1024 and 8,000 pieces. Ours uses the checkpoint's weights, keeps the
candidates of every step, and counts its checking of drafts; the others have random weights, with
which they do the same work. Rounds take turns, so that a disturbance falls on all.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks import peers
from transformer.config import ModelConfig
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding
from transformer.inference.trace_recording import Recording
from transformer.inference.translator import Translator
from transformer.model import Transformer

TOKENS = 20
PAUSE = 0.3
"""Seconds between two engines: threads of one go on turning for a while, waiting for more work."""

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

Contestant = tuple[str, str, int, Callable[[], object]]
"""(group, name, pieces decoded, what to time)"""


def ours(decoder: SequenceDecoder, sources: list[list[int]], beam_size: int = 1) -> None:
    options = Decoding(max_len=TOKENS, beam_size=beam_size)
    outputs = decoder.run(sources, options, min_len=TOKENS - 1)
    assert beam_size > 1 or all(len(output.decoded.ids) == TOKENS for output in outputs)


def ours_traced(decoder: SequenceDecoder, source: list[int]) -> None:
    """One encoder pass, decoding, one decoder pass, and every tensor of both kept."""
    recording = Recording(decoder.model, None, None)
    memory = decoder.encode([source], recording.hooks)
    options = Decoding(max_len=TOKENS)
    output = decoder.decode(memory, options, min_len=TOKENS - 1, watch=recording.hooks)[0]
    if output.passed != output.decoded.ids:
        decoder.logits(memory, [output.decoded.ids], recording.hooks)
    assert len(recording.finished()) == len(decoder.model.hook_names)


def contestants(
    model: Transformer, sources: list[list[int]], folder: Path, threads: int
) -> list[Contestant]:
    torch.manual_seed(0)
    hf = peers.marian(model.config)
    ct2 = peers.ctranslate(hf, folder / "ct2", threads)
    decoder, exact = SequenceDecoder(model), SequenceDecoder(model, "fp32")
    batch = [sources[i % len(sources)] for i in range(32)]
    one, many = len(sources) * TOKENS, len(batch) * TOKENS
    attentions = peers.run_marian(hf, TOKENS, output_attentions=True, return_dict_in_generate=True)

    def each(run: peers.Run) -> Callable[[], object]:
        return lambda: [run([source]) for source in sources]

    greedy, beam = peers.run_ctranslate(ct2, TOKENS), peers.run_ctranslate(ct2, TOKENS, 4)
    plain = peers.run_marian(hf, TOKENS)
    return [
        ("one sentence", "CTranslate2 int8", one, each(greedy)),
        ("one sentence", "ours", one, each(lambda given: ours(decoder, given))),
        ("one sentence", "ours, whole trace", one, each(lambda g: ours_traced(decoder, g[0]))),
        ("one sentence", "Marian", one, each(plain)),
        ("one sentence", "Marian, attentions", one, each(attentions)),
        ("32 sentences", "CTranslate2 int8", many, lambda: greedy(batch)),
        ("32 sentences", "ours", many, lambda: ours(decoder, batch)),
        ("32 sentences", "ours, fp32", many, lambda: ours(exact, batch)),
        ("32 sentences", "Marian", many, lambda: plain(batch)),
        ("one, beam of 4", "CTranslate2 int8", one, each(beam)),
        ("one, beam of 4", "ours", one, each(lambda given: ours(decoder, given, 4))),
    ]


def measure(entries: list[Contestant], rounds: int) -> dict[tuple[str, str], list[float]]:
    """Seconds of every round, after one that does not count."""
    times: dict[tuple[str, str], list[float]] = {(group, name): [] for group, name, _, _ in entries}
    for number in range(rounds + 1):
        for group, name, _, run in entries:
            time.sleep(PAUSE)
            begun = time.perf_counter()
            run()
            if number:
                times[group, name].append(time.perf_counter() - begun)
    return times


def table(entries: list[Contestant], times: dict[tuple[str, str], list[float]]) -> str:
    """Medians; the ratio is to the first of each group, round by round."""
    lines = ["| | | tokens/s (median) | best round | × CTranslate2 |", "|---|---|---:|---:|---:|"]
    first: dict[str, list[float]] = {}
    for group, name, pieces, _ in entries:
        taken = times[group, name]
        base = first.setdefault(group, taken)
        ratio = statistics.median(b / t for b, t in zip(base, taken, strict=True))
        median, best = pieces / statistics.median(taken), pieces / min(taken)
        lines.append(f"| {group} | {name} | {median:,.0f} | {best:,.0f} | {ratio:.2f} |")
    return "\n".join(lines)


def text_to_trace(translator: Translator, rounds: int) -> str:
    """From text to text, and to text and trace, for sentences of about twelve pieces."""
    plain: list[float] = []
    traced: list[float] = []
    for _ in range(rounds + 1):
        for text in SENTENCES:
            for times, call in ((plain, translator.translate), (traced, translator.trace)):
                begun = time.perf_counter()
                call(text)
                times.append(time.perf_counter() - begun)
    skip = len(SENTENCES)
    alone, whole = statistics.median(plain[skip:]), statistics.median(traced[skip:])
    ratio = statistics.median(b / a for a, b in zip(plain[skip:], traced[skip:], strict=True))
    return (
        f"Text to text: {alone * 1e3:.1f} ms; with the whole trace: {whole * 1e3:.1f} ms "
        f"({ratio:.2f} times as long; wanted: under 150 ms, at most 1.25 times)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-fr"))
    chosen = parser.parse_args()
    threads = torch.get_num_threads()
    translator = None
    if chosen.checkpoint.is_dir():
        translator = Translator.load(chosen.checkpoint, "cpu")
        model = translator.model
        sources = [translator.vocabulary.encode(text) for text in SENTENCES]
        print(f"Ours: {chosen.checkpoint}; sources of {[len(ids) for ids in sources]} pieces")
    else:
        print(f"There is no {chosen.checkpoint}: ours has random weights too")
        model = Transformer(ModelConfig.preset("small", vocab_size=8000)).eval()
        sources = [[*torch.randint(4, 8000, (11,)).tolist(), 2] for _ in SENTENCES]
    print(f"{TOKENS} pieces a sentence, {threads} threads, {chosen.rounds} rounds\n")
    with tempfile.TemporaryDirectory() as folder:
        entries = contestants(model, sources, Path(folder), threads)
        times = measure(entries, chosen.rounds)
    print(table(entries, times))
    if translator is not None:
        print("\n" + text_to_trace(translator, chosen.rounds))


if __name__ == "__main__":
    main()
