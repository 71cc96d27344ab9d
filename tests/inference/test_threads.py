"""One Translator, many threads: none sees another's sentence."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from tests.inference.test_trace import same_trace
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


def work(translator: Translator, number: int) -> tuple[Trace, list[str]]:
    """Each thread its own text and its own kind of decoding; two of them intervene."""
    hooks = None
    if number % 4 == 3:
        hooks = Hooks({"encoder.hook_memory": lambda memory, name: memory * (number / 2)})
    options = [{}, {"beam_size": 3}, {"method": "sample", "seed": number}, {}][number % 4]
    trace = translator.trace(TEXTS[number], hooks=hooks, max_len=10, **options)
    batch = translator.translate_batch(TEXTS[number:], max_len=6)
    return trace, [result.text for result in batch]


@pytest.mark.parametrize("drafting", [False, True])
def test_eight_threads_see_only_their_own(
    tiny_model: Transformer,
    vocabulary: Vocabulary,
    drafting: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The threads start together, on a translator that has built nothing yet."""
    if drafting:
        monkeypatch.setattr("transformer.inference.engine.WORTH_IT", 0)
        faster = "transformer.inference.engine.Engine._ratio"
        monkeypatch.setattr(faster, lambda engine, one, other, rows: 0.0)
    alone = Translator(tiny_model, vocabulary, "fp32")
    expected = [work(alone, number) for number in range(8)]
    shared = Translator(tiny_model, vocabulary, "fp32")
    barrier = threading.Barrier(8)

    def thread(number: int) -> list[tuple[Trace, list[str]]]:
        barrier.wait()
        return [work(shared, number) for _ in range(3)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(thread, range(8)))
    assert (shared._decoder.engine._one != []) == drafting
    for (trace, texts), rounds in zip(expected, found, strict=True):
        for again, batch in rounds:
            same_trace(again, trace)
            assert batch == texts
    assert all(torch.isfinite(torch.tensor(trace.translation.score)) for trace, _ in expected)
