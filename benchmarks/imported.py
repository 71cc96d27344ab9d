"""An imported model of OPUS-MT's size, compared with `transformers`: import, memory, speed, trace.

    python -m benchmarks.imported [--rounds 5] [--visits 100]

6+6 layers of 512, d_ff 2048, 58,101 pieces, swish, with random weights. Both decode 20 pieces
greedily in float32 with the same number of threads, ids in and ids out, and take turns.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel

from transformer.exchange import import_folder
from transformer.inference import Translator
from transformer.inference.options import Decoding

PIECES, TOKENS = 58_101, 20
TEXT = "the baker paints a boat today and she sells bread at night"


def random_marian(folder: Path) -> MarianMTModel:
    """Save a random Marian model with a vocabulary of that size by `save_pretrained`; return it."""
    config = MarianConfig(
        vocab_size=PIECES,
        d_model=512,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=2048,
        decoder_ffn_dim=2048,
        activation_function="swish",
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=PIECES - 1,
        decoder_start_token_id=PIECES - 1,
        eos_token_id=0,
        forced_eos_token_id=None,
    )
    model = MarianMTModel(config).eval()
    model.save_pretrained(folder)
    vocabulary_file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([TEXT] * 3),
        model_writer=vocabulary_file,
        vocab_size=30,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(vocabulary_file.getvalue())
    pieces = ["</s>", "<unk>", *(f"piece{n}" for n in range(PIECES - 3)), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: n for n, piece in enumerate(pieces)}))
    return model


def decode_with_transformers(model: MarianMTModel, src: torch.Tensor) -> None:
    with torch.inference_mode():
        output: Any = model.generate(
            input_ids=src,
            attention_mask=torch.ones_like(src),
            min_new_tokens=TOKENS,
            max_new_tokens=TOKENS,
            num_beams=1,
        )
    assert output.shape[1] == TOKENS + 1


def decode_ours(translator: Translator, sources: list[list[int]]) -> None:
    outputs = translator._decoder.run(sources, Decoding(max_len=TOKENS), min_len=TOKENS)
    assert all(len(output.decoded.ids) == TOKENS for output in outputs)


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare_speed(translator: Translator, model: MarianMTModel, rows: int, rounds: int) -> str:
    """Return the tokens per second of both, which take turns; the first turn is not counted."""
    src = torch.randint(2, PIECES - 1, (rows, 13))
    src[:, -1] = 0
    decoders: dict[str, Callable[[], object]] = {
        "ours": lambda: decode_ours(translator, src.tolist()),
        "transformers": lambda: decode_with_transformers(model, src),
    }
    times: dict[str, list[float]] = {name: [] for name in decoders}
    for _ in range(rounds + 1):
        for name, run in decoders.items():
            times[name].append(seconds(run))
    speeds = (f"{n} {rows * TOKENS / statistics.median(t[1:]):,.0f}" for n, t in times.items())
    return ", ".join(speeds)


def peak_memory(folder: Path) -> int:
    """Return the peak memory in bytes of a process that opens the model and records one trace
    (Linux)."""
    lines = (
        "from pathlib import Path",
        "from transformer.inference import Translator",
        f"Translator.load({str(folder)!r}, 'cpu').trace({TEXT!r}, max_len={TOKENS})",
        # Not ru_maxrss, which starts at the value of the parent process.
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])",
    )
    result = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    return int(result.stdout) * 1024


def print_app_memory(folder: Path, visits: int) -> None:
    """Print the memory of the app's process with the model after visits to all pages."""
    counts = [str(count) for count in (visits // 4, visits)]
    print("the app with this model, all pages in turn:", flush=True)
    subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", "--visits", *counts],
        env={**os.environ, "HEADS_UP_CHECKPOINTS": str(folder.parent)},
        check=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--visits", type=int, default=100, help="of pages, for the app's memory")
    options = parser.parse_args()
    rounds: int = options.rounds
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model = random_marian(folder / "marian")
        checkpoint = folder / "checkpoints" / "imported"
        import_seconds = seconds(lambda: import_folder(folder / "marian", checkpoint))
        peak_bytes = peak_memory(checkpoint)
        translator = Translator.load(checkpoint, "cpu", "fp32")
        load_seconds = seconds(lambda: Translator.load(checkpoint, "cpu", "fp32"))
        count = sum(weight.numel() for weight in translator.model.parameters())
        if options.visits:
            print_app_memory(checkpoint, options.visits)
    print(f"{count / 1e6:.1f}M weights: import {import_seconds:.1f} s, load {load_seconds:.1f} s")
    print(f"peak memory of a process that loads it and traces once: {peak_bytes / 2**20:,.0f} MiB")
    for rows in (1, 32):
        print(f"{rows} sentences, tokens/s: {compare_speed(translator, model, rows, rounds)}")
    trace_times = [seconds(lambda: translator.trace(TEXT, max_len=TOKENS)) for _ in range(rounds)]
    print(f"a complete trace of {TOKENS} tokens: {statistics.median(trace_times):.2f} s")


if __name__ == "__main__":
    main()
