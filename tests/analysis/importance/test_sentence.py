"""The importance of heads for one sentence, and for one of its tokens."""

from __future__ import annotations

import math

import pytest

from transformer import Translator
from transformer.analysis.importance.sentence import sentence_importances
from transformer.analysis.interventions.switching import switched_off
from transformer.inference.trace import Trace


def test_the_importance_for_a_token_is_measured_by_switching_off_each_head(
    any_trace: tuple[Translator, Trace],
) -> None:
    translator, trace = any_trace
    ids = trace.translation.ids
    steps = range(len(trace.predicted_ids))
    by_step = [sentence_importances(translator, trace, step) for step in steps]
    for head, loss in sentence_importances(translator, trace).items():
        hooks = switched_off(translator.model.config, [head])
        without = translator.trace(trace.source, target=ids, hooks=hooks).translation.steps
        for step, losses in enumerate(by_step):
            before = trace.translation.steps[step].probability
            expected = math.log(before) - math.log(without[step].probability)
            assert losses[head] == pytest.approx(expected, abs=1e-4)
        assert sum(losses[head] for losses in by_step) == pytest.approx(loss, abs=1e-4)


def test_a_step_that_there_is_not_is_named(any_trace: tuple[Translator, Trace]) -> None:
    translator, trace = any_trace
    with pytest.raises(ValueError, match=r"There is no step 999; the last one is \d+\."):
        sentence_importances(translator, trace, 999)
