"""The training steps that `benchmarks.training` times: ours and `torch.nn.Transformer`'s, with the
same shape and the same random ids.

`serve` runs in a process that `benchmarks.training` starts: it reads the name of a step from
standard input, runs the step and prints its seconds.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.model.positions import sinusoidal
from transformer.text.batching import Batch
from transformer.training.learner import Learner

PAIRS, LENGTH, VOCABULARY = 128, 16, 8000
RATE, SMOOTHING = 1e-4, 0.1
Step = Callable[[], object]


def random_batch() -> Batch:
    src, tgt_out = torch.randint(4, VOCABULARY, (2, PAIRS, LENGTH))
    start = torch.full((PAIRS, 1), 1)
    return Batch(src, torch.cat([start, tgt_out[:, :-1]], 1), tgt_out)


# --- ours ---


def our_step(dtype: torch.dtype) -> Step:
    """Return a step as the trainer runs it: seed, gradients, clipping, Adam, working copy."""
    model = Transformer(ModelConfig.preset("small", vocab_size=VOCABULARY))
    learner, batch = Learner(model, dtype), random_batch()

    def step() -> None:
        torch.manual_seed(1)
        learner.compute_gradients(batch, SMOOTHING)
        learner.update(RATE, 1.0)

    return step


def our_steps() -> dict[str, Step]:
    return {"bf16": our_step(torch.bfloat16), "fp32": our_step(torch.float32)}


# --- the peer ---


class Peer(nn.Module):
    """`nn.Transformer` with the parts that it lacks: embedding, positions, tied output."""

    def __init__(self, shape: ModelConfig, longest: int, paper: bool = False) -> None:
        """`paper`: no dropout on attention weights and inside the FFN, as in the paper."""
        super().__init__()
        d, layers, rate = shape.d_model, shape.n_layers, shape.dropout
        self.embedding = nn.Embedding(shape.vocab_size, d)
        nn.init.normal_(self.embedding.weight, std=d**-0.5)
        self.dropout = nn.Dropout(rate)
        self.body = nn.Transformer(
            d, shape.n_heads, layers, layers, shape.d_ff, rate, batch_first=True
        )
        self.positions: Tensor
        self.register_buffer("positions", sinusoidal(longest, d))
        for layer in self.body.modules() if paper else ():
            if isinstance(layer, nn.MultiheadAttention):
                layer.dropout = 0.0
            elif isinstance(layer, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                layer.dropout.p = 0.0

    def embed(self, ids: Tensor) -> Tensor:
        scale = self.embedding.embedding_dim**0.5
        embedded: Tensor = self.embedding(ids) * scale + self.positions[: ids.shape[1]]
        dropped: Tensor = self.dropout(embedded)
        return dropped

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        src_padding, tgt_padding = src == 0, tgt == 0
        future = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).triu(1)
        states = self.body(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=future,
            src_key_padding_mask=src_padding,
            tgt_key_padding_mask=tgt_padding,
            memory_key_padding_mask=src_padding,
            tgt_is_causal=True,
        )
        return functional.linear(states, self.embedding.weight)


def peer_step(bf16: bool, paper: bool = False) -> Step:
    """Return a typical step: autocast, cross-entropy, clipping, fused Adam."""
    shape = ModelConfig.preset("small", vocab_size=VOCABULARY)
    model, batch = Peer(shape, LENGTH, paper).train(), random_batch()
    adam = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def step() -> float:
        adam.zero_grad()
        with torch.autocast("cpu", torch.bfloat16) if bf16 else nullcontext():
            logits = model(batch.src, batch.tgt_in)
            loss = functional.cross_entropy(
                logits.flatten(0, 1),
                batch.tgt_out.flatten(),
                ignore_index=0,
                label_smoothing=SMOOTHING,
            )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        return loss.item()

    return step


def peer_steps() -> dict[str, Step]:
    return {
        "bf16": peer_step(bf16=True),
        "fp32": peer_step(bf16=False),
        "bf16, dropout as in the paper": peer_step(bf16=True, paper=True),
    }


def serve(engine: str, clock: str) -> None:
    """Run the steps named on standard input.

    Args:
        engine: "ours" or "peer".
        clock: the function of `time` that measures the steps.
    """
    clock_time: Callable[[], float] = getattr(time, clock)
    torch.manual_seed(0)
    steps = {"ours": our_steps, "peer": peer_steps}[engine]()
    print(json.dumps({"steps": list(steps), "threads": torch.get_num_threads()}), flush=True)
    for name in map(str.strip, sys.stdin):
        start = clock_time()
        steps[name]()
        seconds = clock_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "peak_mb": peak}), flush=True)
