"""One Translator, many threads: none sees another's sentence."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from tests.inference import models
from transformer.hooks import Hooks
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.engine import Engine
from transformer.inference.options import Decoding
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
            models.same_trace(again, trace)
            assert batch == texts
    assert all(torch.isfinite(torch.tensor(trace.translation.score)) for trace, _ in expected)


SOURCES = [models.SOURCES[0]] * 9
OPTIONS = Decoding(max_len=3)


def decoder_of(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> SequenceDecoder:
    """All arrangements in use: as if eight bits and bfloat16 had been measured to be faster."""
    monkeypatch.setattr("transformer.inference.engine.WORTH_IT", 0)
    monkeypatch.setattr(Engine, "_ratio", lambda engine, one, other, rows: 0.0)
    return SequenceDecoder(model)


Told = list[tuple[list[int], list[float]]]


def told(decoder: SequenceDecoder, rows: int, options: Decoding = OPTIONS) -> Told:
    found = [output.decoded for output in decoder.run(SOURCES[:rows], options)]
    return [(one.ids, [*map(float, one.log_probabilities)]) for one in found]


def same(one: Told, other: Told) -> bool:
    """But for the rounding of float32: a draft that is checked goes another way than beams do."""
    return all(
        ids == others and probabilities == pytest.approx(wanted, abs=1e-4)
        for (ids, probabilities), (others, wanted) in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("through_data", [False, True])
def test_an_edited_weight_counts_in_the_next_call(
    through_data: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weight after weight of the last layer, against a decoder that is made after the edit: one
    row (drafted in eight bits), beams (float32) and nine rows (bfloat16)."""
    model = models.untrained(positions="learned")
    decoder, beams = decoder_of(model, monkeypatch), Decoding(method="beam", beam_size=3, max_len=3)
    now = [told(decoder, 1), told(decoder, 9), told(decoder, 1, beams)]
    for name, weight in model.named_parameters():
        if name.startswith("encoder") or ".layers.0." in name:
            continue
        edited = weight.data if through_data else weight
        with torch.no_grad():
            edited += torch.linspace(-0.3, 0.7, edited.numel()).view_as(edited)
        before, now = now, [told(decoder, 1), told(decoder, 9), told(decoder, 1, beams)]
        fresh = decoder_of(model, monkeypatch)
        wanted = [told(fresh, 1), told(fresh, 9), told(fresh, 1, beams)]
        for found, expected, was in zip(now, wanted, before, strict=True):
            assert same(found, expected), name
            assert not same(found, was), f"{name}: the edit is large enough to be seen"


def test_a_weight_that_is_replaced_or_loaded_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    model, other = models.untrained(0), models.untrained(1)
    decoder, of_other = decoder_of(model, monkeypatch), decoder_of(other, monkeypatch)
    for rows in (1, 9):
        assert not same(told(decoder, rows), told(of_other, rows))
    model.load_state_dict(other.state_dict())
    for rows in (1, 9):
        assert same(told(decoder, rows), told(of_other, rows))
    layer = model.decoder.layers[0].ffn.w_1
    layer.weight = torch.nn.Parameter(layer.weight.detach() * 3)
    found = told(decoder, 9)
    assert same(found, told(decoder_of(model, monkeypatch), 9))
    assert not same(found, told(of_other, 9))


def test_copies_are_made_once_while_nobody_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    model = models.untrained()
    engine = decoder_of(model, monkeypatch).engine
    half, draft = engine.half(9), engine.draft()
    assert (engine.half(9), engine.draft()) == (half, draft)
    with torch.no_grad():
        model.decoder.layers[0].ffn.w_1.weight[0, 0] += 1
    assert engine.half(9) is not half
    assert engine.draft() is not draft
