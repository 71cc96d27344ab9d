"""The argument `prefix` of `translate` and `trace`: results and errors."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from transformer.hooks import Hooks
from transformer.inference.results import Translation
from transformer.inference.translator import Translator
from transformer.text.vocabulary import Vocabulary

TEXT = "The baker sells the lamp again."


DECODING_OPTIONS = [{}, {"beam_size": 3}, {"method": "sample", "seed": 1}]


@pytest.mark.parametrize("options", DECODING_OPTIONS, ids=["greedy", "beam", "sample"])
@pytest.mark.parametrize("with_hooks", [False, True])
def test_steps_equal_those_of_the_forced_output(
    translator: Translator, options: dict[str, object], with_hooks: bool
) -> None:
    """This includes the steps of the prefix, which ends with an improbable token."""
    flip = Hooks({"encoder.hook_memory": lambda memory, name: torch.flip(memory, [1])})
    hooks = flip if with_hooks else None
    without_prefix = translator.translate(TEXT, max_len=10, hooks=hooks, **options)
    candidate_id = without_prefix.steps[2].candidates[5].id
    prefix = (*without_prefix.ids[:2], candidate_id)
    result = translator.translate(TEXT, prefix=prefix, max_len=10, hooks=hooks, **options)
    assert result.ids[:3] == prefix
    assert (result.method, result.seed) == (without_prefix.method, without_prefix.seed)
    forced = translator.translate(TEXT, target=result.ids, hooks=hooks)
    assert result.log_probability == pytest.approx(forced.log_probability, abs=1e-4)
    assert result.score == pytest.approx(forced.score, abs=1e-4)
    for step, forced_step in zip(result.steps, forced.steps, strict=True):
        assert step.input_tokens == forced_step.input_tokens
        assert step.chosen.id == forced_step.chosen.id
        assert step.probability == pytest.approx(forced_step.probability, abs=1e-6)
        for candidate, expected in zip(step.candidates, forced_step.candidates, strict=True):
            assert candidate.probability == pytest.approx(expected.probability, abs=1e-6)
    assert result.steps[2].probability == pytest.approx(
        without_prefix.steps[2].candidates[5].probability, abs=1e-6
    )
    if not options:
        assert all(step.chosen.id == step.candidates[0].id for step in result.steps[3:])
    assert Translation.from_dict(json.loads(json.dumps(result.to_dict()))) == result


@pytest.mark.parametrize("options", DECODING_OPTIONS, ids=["greedy", "beam", "sample"])
def test_a_trace_equals_that_of_the_forced_output(
    translator: Translator, vocabulary: Vocabulary, options: dict[str, object]
) -> None:
    prefix = vocabulary.encode("Un pilote")[:-1]
    trace = translator.trace(TEXT, prefix=prefix, max_len=12, **options)
    assert list(trace.predicted_ids[: len(prefix)]) == prefix
    assert (
        trace.translation.ids
        == translator.translate(TEXT, prefix=prefix, max_len=12, **options).ids
    )
    forced = translator.trace(TEXT, trace.predicted_ids)
    assert trace.names == forced.names
    assert trace.tgt_tokens == forced.tgt_tokens
    for name in trace:
        np.testing.assert_allclose(trace[name], forced[name], atol=1e-4)


@pytest.mark.parametrize("options", DECODING_OPTIONS, ids=["greedy", "beam", "sample"])
def test_a_prefix_may_be_missing_empty_or_complete(
    translator: Translator, options: dict[str, object]
) -> None:
    without_prefix = translator.translate(TEXT, max_len=6, **options)
    assert translator.translate(TEXT, prefix=[], max_len=6, **options) == without_prefix
    assert translator.translate(TEXT, prefix=None, max_len=6, **options) == without_prefix
    ids = translator.vocabulary.encode("Elle vend.")
    result = translator.translate(TEXT, prefix=ids, **options)
    assert (list(result.ids), result.text, result.finished) == (ids, "Elle vend.", True)
    unfinished = translator.translate(TEXT, prefix=ids[:-1], max_len=len(ids) - 1, **options)
    assert (list(unfinished.ids), unfinished.finished) == (ids[:-1], False)
    assert translator.translate(TEXT, prefix=[2], **options).ids == (2,)
    scored = translator.translate(TEXT, target=ids, prefix=[])
    assert (scored.ids, scored.method) == (result.ids, "forced")


@pytest.mark.parametrize("ids", [[1.5], ["a"], [None]])
def test_ids_are_whole_numbers(translator: Translator, ids: list[object]) -> None:
    for name in ("prefix", "target"):
        with pytest.raises(
            TypeError, match=f"a {name} must be text or a sequence of whole numbers"
        ):
            translator.translate(TEXT, **{name: ids})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefix": [5, 999]}, "Prefix id 999 is not from 0 to 319"),
        ({"prefix": [-1]}, "Prefix id -1 is not from 0 to 319"),
        ({"prefix": [5, 0]}, "Prefix id 0 at position 1 is a control token"),
        ({"prefix": [1, 5]}, "Prefix id 1 at position 0 is a control token"),
        ({"prefix": [5, 2, 6]}, "Prefix id 2 at position 1 is a control token"),
        ({"prefix": [5] * 4, "max_len": 3}, "prefix has 4 tokens; the output has at most 3"),
        ({"prefix": [5] * 90}, r"prefix has 90 tokens; the output has at most \d\d"),
        ({"prefix": [5], "target": [5, 2]}, "pass either a target.*or a prefix"),
    ],
)
@pytest.mark.parametrize("search", [{}, {"beam_size": 2}])
def test_an_invalid_prefix_is_refused(
    translator: Translator, options: dict[str, object], search: dict[str, object], message: str
) -> None:
    for call in (translator.translate, translator.trace):
        with pytest.raises(ValueError, match=message):
            call(TEXT, **search, **options)
