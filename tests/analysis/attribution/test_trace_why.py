"""`Trace.why` and `Trace.score_parts`: the parts of a word's logit and of a cell's score."""

from __future__ import annotations

import copy
import gc
from dataclasses import replace
from pathlib import Path

import pytest

from tests.analysis.small_models import TARGET, TEXT, randomized, trace_logits
from transformer import Hooks, Trace, Translator
from transformer.model import Transformer
from transformer.text import Vocabulary


def test_the_parts_of_a_word_sum_to_the_logit_of_its_first_token(
    any_trace: tuple[Translator, Trace],
) -> None:
    translator, trace = any_trace
    parts = trace.why("boulanger")
    start = trace.predicted_tokens.index("▁bo")
    logits = trace_logits(translator.model, trace)[start].double()
    expected = float(logits[trace.predicted_ids[start]] - logits.mean())
    assert parts["adds"].sum() == pytest.approx(expected, rel=1e-5)
    assert parts["adds"].abs().is_monotonic_decreasing
    assert trace.why(start).equals(parts)
    cell = trace.score_parts("cross", 1, 2, query=3, key=1)
    scores = trace["decoder.layers.1.cross_attn.hook_scores"]
    assert cell["score"].sum() == pytest.approx(float(scores[2, 3, 1]), rel=1e-5)
    assert [*cell.columns] == ["query_part", "key_part", "score"]


def test_what_has_no_answer_is_refused(any_trace: tuple[Translator, Trace], tmp_path: Path) -> None:
    translator, trace = any_trace
    with pytest.raises(ValueError, match="no word 'maison'; it has Le, boulanger, vend, la, lampe"):
        trace.why("maison")
    twice = translator.trace(TEXT, "Le boulanger vend le boulanger.")
    with pytest.raises(ValueError, match="more than once; pass one of its positions: "):
        twice.why("boulanger")
    trace.save_npz(tmp_path / "trace.npz")
    with pytest.raises(ValueError, match="it was read from a file"):
        Trace.load_npz(tmp_path / "trace.npz").why("boulanger")
    outputs = ["encoder.layers.0.self_attn.hook_output", "decoder.layers.0.cross_attn.hook_output"]
    hooks = Hooks(dict.fromkeys(outputs, lambda x, name: 2 * x))
    changed = translator.trace(TEXT, TARGET, hooks=hooks)
    with pytest.raises(ValueError, match="use a trace without them"):
        changed.score_parts("encoder", 1, 0, query=0, key=0)
    with pytest.raises(ValueError, match="use a trace without them"):
        changed.why("boulanger")


def test_a_trace_does_not_keep_its_model(tiny_model: Transformer, vocabulary: Vocabulary) -> None:
    trace = Translator(randomized(tiny_model), vocabulary).trace(TEXT, TARGET)
    gc.collect()
    with pytest.raises(ValueError, match="does not know its model any more"):
        replace(copy.deepcopy(trace)).why("Le")
