"""One model, eight threads: calls do not share tensors, and hooks end with their call."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
from torch import Tensor

from tests.model.small import capture, make_ids
from transformer.hooks import Hooks
from transformer.model import Transformer

N_THREADS, ROUNDS = 8, 5


@pytest.fixture
def frequent_thread_switches() -> Iterator[None]:
    """Make Python switch between threads a hundred times as often as usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(interval / 100)
    yield
    sys.setswitchinterval(interval)


def sentences(model: Transformer, thread: int, round_number: int) -> tuple[Tensor, Tensor]:
    """Return sentences of equal lengths in all threads, so that a tensor of another one would
    fit."""
    seed = 1000 * thread + round_number
    device = model.embedding.weight.device  # the default device may differ between threads
    return make_ids(6, 9, seed=seed).to(device), make_ids(8, 5, seed=seed + 1).to(device)


def run_model(model: Transformer, thread: int, round_number: int) -> dict[str, Tensor]:
    """Run the model without hooks, with scaled heads or with all hook points, by thread number."""
    src, tgt = sentences(model, thread, round_number)
    if thread % 4 == 0:
        return {"logits": model(src, tgt)}
    if thread % 4 == 1:
        name = f"encoder.layers.{round_number % 2}.self_attn.hook_heads"
        return {"logits": model(src, tgt, hooks=Hooks({name: lambda heads, _: heads * thread}))}
    return capture(model, src, tgt)


@pytest.mark.real_device
@pytest.mark.usefixtures("frequent_thread_switches")
def test_eight_threads_see_only_their_own_tensors(tiny_model: Transformer) -> None:
    start = Barrier(N_THREADS)

    def run_rounds(thread: int) -> list[dict[str, Tensor]]:
        concurrent = []
        with torch.no_grad():
            for round_number in range(ROUNDS):
                start.wait(timeout=60)
                concurrent.append(run_model(tiny_model, thread, round_number))
        return concurrent

    with ThreadPoolExecutor(N_THREADS) as pool:
        concurrent_results = list(pool.map(run_rounds, range(N_THREADS)))

    with torch.no_grad():
        for thread in range(N_THREADS):
            for round_number in range(ROUNDS):
                alone, in_thread = (
                    run_model(tiny_model, thread, round_number),
                    concurrent_results[thread][round_number],
                )
                assert in_thread.keys() == alone.keys()
                for name, tensor in alone.items():
                    assert torch.equal(in_thread[name], tensor), f"thread {thread}, {name}"


@pytest.mark.real_device
@pytest.mark.usefixtures("frequent_thread_switches")
def test_hooks_do_not_affect_concurrent_calls(tiny_model: Transformer) -> None:
    """One thread always has hooks; calls of other threads must never reach its function."""
    start, calls = Barrier(N_THREADS), []
    name = tiny_model.hook_names[0]

    def run_rounds(thread: int) -> None:
        hooks = Hooks({name: lambda tensor, _: calls.append(tensor)}) if thread == 0 else None
        start.wait(timeout=60)
        with torch.no_grad():
            for round_number in range(ROUNDS):
                tiny_model(*sentences(tiny_model, thread, round_number), hooks=hooks)

    with ThreadPoolExecutor(N_THREADS) as pool:
        list(pool.map(run_rounds, range(N_THREADS)))
    expected = [
        capture(tiny_model, *sentences(tiny_model, 0, round_number), [name])[name]
        for round_number in range(ROUNDS)
    ]
    assert len(calls) == ROUNDS
    assert all(torch.equal(a, b) for a, b in zip(calls, expected, strict=True))
