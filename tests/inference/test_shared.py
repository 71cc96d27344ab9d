"""Several threads can use one `Translator`; each gets its own results."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from tests.inference import models
from transformer.hooks import Hooks
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import Vocabulary

TEXTS = [
    "The baker paints a boat today.",
    "My aunt sells the lamp.",
    "A pilot hides bread at night again and again.",
    "She finds books.",
    "The baker finds the lamp first, today.",
    "My aunt hides a boat.",
    "A pilot paints.",
    "She sells bread, books, the lamp and a boat.",
]


def translate_and_trace(translator: Translator, number: int) -> tuple[Trace, list[str]]:
    """Return the results for the text and options of thread `number`; two threads use hooks."""
    hooks = None
    if number % 4 == 3:
        hooks = Hooks({"encoder.hook_memory": lambda memory, name: memory * (number / 2)})
    options = [{}, {"beam_size": 3}, {"method": "sample", "seed": number}, {}][number % 4]
    trace = translator.trace(TEXTS[number], hooks=hooks, max_len=10, **options)
    batch = translator.translate_batch(TEXTS[number:], max_len=6)
    return trace, [result.text for result in batch]


@pytest.fixture
def frequent_thread_switches() -> Iterator[None]:
    """Make Python switch between threads a hundred times as often as usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(interval / 100)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.real_device
@pytest.mark.usefixtures("frequent_thread_switches")
def test_eight_threads_get_their_own_results(
    tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    """The threads start together, with a translator that has not been used before."""
    single_threaded = Translator(tiny_model, vocabulary)
    expected = [translate_and_trace(single_threaded, number) for number in range(8)]
    shared = Translator(tiny_model, vocabulary)
    barrier = threading.Barrier(8)

    def run_thread(number: int) -> list[tuple[Trace, list[str]]]:
        barrier.wait()
        return [translate_and_trace(shared, number) for _ in range(3)]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run_thread, range(8)))
    for (trace, texts), repetitions in zip(expected, results, strict=True):
        for repeated_trace, batch in repetitions:
            models.assert_same_trace(repeated_trace, trace)
            assert batch == texts
    assert all(torch.isfinite(torch.tensor(trace.translation.score)) for trace, _ in expected)
