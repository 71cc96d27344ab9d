"""Long computations end when they are cancelled, and only then."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tests.analysis.small_models import randomized
from transformer import Hooks, Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.importance.ablation import measure_without
from transformer.analysis.inside.logit_lens import lens
from transformer.analysis.interventions.blanking import blank_cells
from transformer.analysis.interventions.comparison import compare
from transformer.analysis.roles.head_measures import measure_heads
from transformer.analysis.table1 import paths
from transformer.cancellation import cancelled_by, check_cancelled
from transformer.inference.trace import Trace
from transformer.measures.kinds import Head
from transformer.model import Transformer
from transformer.text import Vocabulary

TEXT = "The baker paints a boat."
ABLATION = Hooks({"decoder.layers.0.cross_attn.hook_heads": lambda heads, name: heads * 0})
HEADS: list[Head] = [("cross", 0, head) for head in range(2)]


class Cancelled(BaseException):
    """Like Streamlit's exception that ends a script run; `except Exception` does not catch it."""


class CountedCheck:
    """Counts its calls and cancels after `limit` of them."""

    def __init__(self, limit: int) -> None:
        self.limit, self.n_calls = limit, 0

    def __call__(self) -> None:
        self.n_calls += 1
        if self.n_calls > self.limit:
            raise Cancelled


@pytest.fixture(scope="module")
def translator(tiny_model: Transformer, vocabulary: Vocabulary) -> Translator:
    return Translator(randomized(tiny_model), vocabulary)


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return translator.trace(TEXT, target="Le boulanger peint un bateau.")


LONG_COMPUTATIONS: dict[str, Callable[[Translator, Trace], object]] = {
    "path lengths": lambda t, trace: paths.path_length_table([4, 8]),
    "cells": lambda t, trace: blank_cells(t, trace, ("cross", 1, 1)),
    "lens": lambda t, trace: lens(trace, t),
    "interventions": lambda t, trace: compare(t, TEXT, ABLATION, original=trace),
    "ablation": lambda t, trace: measure_without(t, Corpus.from_lines([TEXT], "x"), [HEADS]),
    "heads": lambda t, trace: measure_heads(t, Corpus.from_lines([TEXT], "x")),
    "greedy": lambda t, trace: t.translate(TEXT),
    "beam": lambda t, trace: t.translate(TEXT, beam_size=3),
    "sampling": lambda t, trace: t.translate(TEXT, method="sample", seed=1),
    "hooks": lambda t, trace: t.translate(TEXT, hooks=ABLATION),
    "batch": lambda t, trace: t.translate_batch([TEXT, TEXT]),
}


@pytest.mark.parametrize("name", LONG_COMPUTATIONS)
def test_long_computations_can_be_cancelled(
    name: str, translator: Translator, trace: Trace
) -> None:
    uncancelled_check = CountedCheck(10**9)
    with cancelled_by(uncancelled_check):
        LONG_COMPUTATIONS[name](translator, trace)
    assert uncancelled_check.n_calls >= 2  # at the beginning, and at least once before the end
    for limit in (0, uncancelled_check.n_calls // 2, uncancelled_check.n_calls - 1):
        check = CountedCheck(limit)
        with pytest.raises(Cancelled), cancelled_by(check):
            LONG_COMPUTATIONS[name](translator, trace)
        assert check.n_calls == limit + 1  # nothing continues after it


def test_cancelling_is_limited_to_its_block_and_thread(translator: Translator) -> None:
    check, translations = CountedCheck(0), []
    with cancelled_by(check):
        thread = threading.Thread(target=lambda: translations.append(translator.translate(TEXT)))
        thread.start()
        thread.join()
        with pytest.raises(Cancelled):
            check_cancelled()
    assert translations == [translator.translate(TEXT)]
    assert check.n_calls == 1


def test_the_inner_of_two_blocks_decides() -> None:
    outer, inner = CountedCheck(0), CountedCheck(5)
    with cancelled_by(outer):
        with cancelled_by(inner):
            check_cancelled()
        with pytest.raises(Cancelled):
            check_cancelled()
    assert (outer.n_calls, inner.n_calls) == (1, 1)
