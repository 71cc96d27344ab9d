"""An imported model of OPUS-MT's size beside `transformers`: import, memory, decoding, a trace.

    python -m benchmarks.imported [--rounds 5] [--visits 100]

6+6 layers of 512, d_ff 2048, 58,101 pieces, swish; random weights, with which both do the same
work. Both decode 20 pieces greedily in float32 on the same threads, ids in and ids out, and take
turns.
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


def made(folder: Path) -> MarianMTModel:
    """A folder as `save_pretrained` writes it, with a vocabulary of that size."""
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
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([TEXT] * 3),
        model_writer=written,
        vocab_size=30,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(written.getvalue())
    pieces = ["</s>", "<unk>", *(f"piece{n}" for n in range(PIECES - 3)), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: n for n, piece in enumerate(pieces)}))
    return model


def theirs(model: MarianMTModel, src: torch.Tensor) -> None:
    with torch.inference_mode():
        found: Any = model.generate(
            input_ids=src,
            attention_mask=torch.ones_like(src),
            min_new_tokens=TOKENS,
            max_new_tokens=TOKENS,
            num_beams=1,
        )
    assert found.shape[1] == TOKENS + 1


def ours(translator: Translator, sources: list[list[int]]) -> None:
    found = translator._decoder.run(sources, Decoding(max_len=TOKENS), min_len=TOKENS)
    assert all(len(one.decoded.ids) == TOKENS for one in found)


def seconds(run: Callable[[], object]) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def beside(translator: Translator, model: MarianMTModel, rows: int, rounds: int) -> str:
    """Tokens per second of both, taking turns; the first turn of each is not counted."""
    src = torch.randint(2, PIECES - 1, (rows, 13))
    src[:, -1] = 0
    contestants: dict[str, Callable[[], object]] = {
        "ours": lambda: ours(translator, src.tolist()),
        "transformers": lambda: theirs(model, src),
    }
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds + 1):
        for name, run in contestants.items():
            taken[name].append(seconds(run))
    said = (f"{n} {rows * TOKENS / statistics.median(t[1:]):,.0f}" for n, t in taken.items())
    return ", ".join(said)


def peak(folder: Path) -> int:
    """Bytes that a process takes at most which opens the model and records one trace (Linux)."""
    lines = (
        "from pathlib import Path",
        "from transformer.inference import Translator",
        f"Translator.load({str(folder)!r}, 'cpu').trace({TEXT!r}, max_len={TOKENS})",
        # Not ru_maxrss, which a process begins with at the height of the one that started it.
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    return int(done.stdout) * 1024


def app(folder: Path, visits: int) -> None:
    """Prints the memory of the app's process with the model, every page of it visited."""
    counts = [str(count) for count in (visits // 4, visits)]
    print("the app around it, all pages in turn:", flush=True)
    subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", "--visits", *counts],
        env={**os.environ, "HEADS_UP_CHECKPOINTS": str(folder.parent)},
        check=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--visits", type=int, default=100, help="of pages, for the app's memory")
    asked = parser.parse_args()
    rounds: int = asked.rounds
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as made_in:
        folder = Path(made_in)
        model = made(folder / "theirs")
        written = folder / "checkpoints" / "ours"
        taken = seconds(lambda: import_folder(folder / "theirs", written))
        most = peak(written)
        translator = Translator.load(written, "cpu", "fp32")
        opened = seconds(lambda: Translator.load(written, "cpu", "fp32"))
        count = sum(weight.numel() for weight in translator.model.parameters())
        if asked.visits:
            app(written, asked.visits)
    print(f"{count / 1e6:.1f}M weights: import {taken:.1f} s, opening {opened:.1f} s")
    print(f"a process with it and one trace takes at most {most / 2**20:,.0f} MiB")
    for rows in (1, 32):
        print(f"{rows} sentences, tokens/s: {beside(translator, model, rows, rounds)}")
    traced = [seconds(lambda: translator.trace(TEXT, max_len=TOKENS)) for _ in range(rounds)]
    print(f"a trace of {TOKENS} pieces with all sites: {statistics.median(traced):.2f} s")


if __name__ == "__main__":
    main()
