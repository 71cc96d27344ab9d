"""Every number in an answer that Python makes is marked in the lesson's picture, with the same
number, or follows from the model's sizes and the paper's formulas. The marked numbers are computed
here again, from the trace or from the formula."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.lessons.random_sentences import sentences
from transformer import Hooks
from transformer.analysis.positions import ORDER_PAIR
from transformer.api.lesson_questions import lesson_case
from transformer.api.models import Model, load
from transformer.app_folders import APP_FOLDER
from transformer.inference import Trace
from transformer.lessons.course import BY_NAME, LESSONS
from transformer.lessons.lesson import LessonUnavailable, Question

FOLDERS = {"en-fr": "en-fr", "en-de": "en-de", "toy-reverse": "runs/toy-reverse/checkpoint"}
NUMBER = re.compile(r"(?:[<>] )?[−]?\d+(?:[.,]\d+)*%?")
ANY_SENTENCE = ("value", "lengths", "norm", "missing", "keys", "infinity", "units")
"""Lessons that are about any sentence."""
SELF_ATTENTION = "encoder.layers.0.self_attn."


def number_in(text: str) -> float:
    return float(text.strip("<>% ").replace(",", "").replace("−", "-"))


def close(text: str, value: float, *, share: bool = False) -> None:
    """Check that a text is this number, up to its last digit."""
    shown = number_in(text)
    if text[0] in "<>":
        assert value < 1.1e-4 if text[0] == "<" else value > 0.999
        return
    digits = len(text.strip("%").partition(".")[2])
    assert shown == pytest.approx(100 * value if share else value, abs=0.51 * 10**-digits), text


def check_bag(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    first, second = ORDER_PAIR
    without_positions = Hooks({"encoder.embed.hook_positions": lambda x, _: torch.zeros_like(x)})
    for hooks, mark in ((None, marks[0]), (without_positions, marks[1])):
        traces = [model.translator.trace(text, target="x", hooks=hooks) for text in (first, second)]
        vectors = [
            {token.lower(): x["encoder.hook_memory"][n] for n, token in enumerate(x.src_tokens)}
            for x in traces
        ]
        tokens = [token for token in vectors[0] if traces[0].src_tokens.count(token) == 1]
        assert set(vectors[0]) == set(vectors[1])
        largest = max(float(np.abs(vectors[0][t] - vectors[1][t]).max()) for t in tokens)
        if hooks is None:
            assert number_in(mark) >= largest - 0.06  # a word that occurs twice may differ more
            assert largest > 0.01
        else:
            assert largest < 1e-3
            assert mark == "0"


def check_waves(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    d_model = model.translator.model.config.d_model
    close(marks[0], 2 * math.pi)
    longest = 2 * math.pi * 10000 ** ((d_model - 2) / d_model)
    assert number_in(marks[1]) == pytest.approx(longest, rel=2e-3)  # of a vector in float32
    assert question.answer_fields["waves"] == f"0,{d_model - 2}"


def check_reverse(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    weights = trace.weights("cross", trace.n_layers - 1).mean(axis=0)[0]
    for mark, weight in zip(marks, (weights[0], weights[len(trace.src_tokens) - 2]), strict=True):
        close(mark, float(weight), share=True)


def check_scale(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    for mark, d_k in zip(marks, (64, 256), strict=True):  # the variance of a sum of d_k products
        assert number_in(mark) == pytest.approx(d_k, rel=0.05)


def check_cosine(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    d_model = model.translator.model.config.d_model
    positions = np.arange(4 * d_model)[:, None]
    for exponent, mark in ((0, marks[0]), (1, marks[1])):
        error = 0.0
        for i in range(0, d_model, 2):
            sine = np.sin(positions / 10000 ** (i / d_model))
            cosine = np.cos(positions / 10000 ** ((i + exponent) / d_model))
            pair = np.hstack([sine, cosine])
            matrix = np.linalg.lstsq(pair[:-1], pair[1:], rcond=None)[0]
            error = max(error, float(np.abs(pair[:-1] @ matrix - pair[1:]).max()))
        close(mark, error)


def check_value(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    fields = question.answer_fields
    weights = trace.weights("cross", int(fields["layer"]))[int(fields["head"]), int(fields["row"])]
    close(marks[0], float(weights.max()), share=True)


def check_shifted(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    target = str(question.answer_fields["target"])
    steps = model.translator.trace(trace.source, target=target).translation.steps
    probabilities = [step.probability for step in steps]
    close(marks[0], min(probabilities), share=True)
    assert question.picture is not None
    for row, column, text in question.picture["marked"][1:]:
        assert row == 1
        close(text, -math.log(probabilities[column]))


def check_lengths(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    network = model.translator.model
    rows = network.embedding.weight[list(trace.src_ids)].detach().double().norm(dim=1)
    close(marks[0], float(rows.mean()))
    close(marks[1], float(rows.mean()) * network.config.d_model**0.5)
    close(marks[2], (network.config.d_model / 2) ** 0.5)  # each pair has sin² + cos² = 1


def check_norm(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    vector = torch.tensor(trace["encoder.layers.0.self_attn_norm.hook_sum"][0]).double()
    normalised = torch.nn.functional.layer_norm(vector, vector.shape)
    close(marks[0], float(vector.mean()))
    close(marks[1], float(vector.var(correction=0)))
    close(marks[2], round(float(normalised.mean()), 3))
    close(marks[3], round(float(normalised.var(correction=0)), 3))


def check_missing(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    ids = torch.tensor([trace.tgt_ids])
    logits = model.translator.model(torch.tensor([trace.src_ids]), ids)[0, -1].detach()
    close(marks[0], float(logits.softmax(-1)[trace.predicted_ids[-1]]), share=True)


def check_keys(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    query, key = trace[f"{SELF_ATTENTION}hook_query"], trace[f"{SELF_ATTENTION}hook_key"]
    scores = query @ key.swapaxes(1, 2) / query.shape[-1] ** 0.5
    (head,) = re.findall(r"layer 1, head (\d+)", question.answer)
    assert question.picture is not None
    for row, column, text in question.picture["marked"]:
        assert number_in(text) == pytest.approx(
            float(scores[int(head) - 1, row, column]), abs=0.006
        )


def check_infinity(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    for layer in range(trace.n_layers):
        assert not np.triu(trace.weights("decoder", layer), k=1).any()
    assert marks == ["0"]


def check_units(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    ffn = model.translator.model.encoder.layers[0].ffn
    inputs = torch.tensor(trace["encoder.layers.0.self_attn_norm.hook_output"][0])
    weight, bias = next((m.weight, m.bias) for m in ffn.modules() if isinstance(m, torch.nn.Linear))
    positive = (inputs @ weight.detach().float().T + bias.detach().float()) > 0
    close(marks[0], float(positive.double().mean()), share=True)


def check_epsilon(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    gradient, eps = 1e-7, 1e-9
    close(marks[0], gradient / math.sqrt(gradient**2 + eps))
    close(marks[1], gradient / (math.sqrt(gradient**2) + eps))


def check_nothing(model: Model, trace: Trace, question: Question, marks: list[str]) -> None:
    assert not any(marks)


CHECKS: dict[str, Callable[[Model, Trace, Question, list[str]], None]] = {
    "bag": check_bag,
    "waves": check_waves,
    "reverse": check_reverse,
    "scale": check_scale,
    "cosine": check_cosine,
    "value": check_value,
    "gender": check_nothing,
    "shifted": check_shifted,
    "lengths": check_lengths,
    "norm": check_norm,
    "cost": check_nothing,
    "missing": check_missing,
    "keys": check_keys,
    "output": check_nothing,
    "infinity": check_infinity,
    "units": check_units,
    "epsilon": check_epsilon,
}


def facts(name: str, model: Model, trace: Trace, question: Question) -> set[str]:
    """Return numbers that are no measurements: sizes of the model, and constants of formulas."""
    config = model.translator.model.config
    d_k = config.d_model // config.n_heads
    constants: dict[str, tuple[Any, ...]] = {
        "waves": (1, config.d_model, "10000", "2", f"{20000 * math.pi:,.0f}"),
        "scale": (4, 1, 2, 16),  # of variances; footnote 4
        "cosine": (2, "10000", "1000"),
        "value": (d_k, 1),
        "lengths": (config.d_model, f"{config.d_model**0.5:.3g}"),
        "norm": (config.d_model,),
        "cost": (2, 22, 512, 511),  # the squares n² and d²; √512, and the largest n below d = 512
        "missing": (1, len(trace.predicted_tokens)),
        "output": (config.n_heads, d_k, config.d_model, 1),
        "infinity": (1,),
        "units": (0, 1, 2, f"{config.d_ff:,}"),
        "epsilon": (2015, 1),
        "shifted": (*range(1, 1 + len(trace.src_tokens) + 99),),  # positions
    }
    return {str(number) for number in constants.get(name, ())}


def check_lesson(name: str, model: Model, text: str) -> bool:
    """Check the question about one sentence; return whether there is one."""
    case = lesson_case("", model, text)
    build = BY_NAME[name].build
    assert build is not None
    try:
        question = build(case)
    except LessonUnavailable:
        return False
    picture = question.picture
    assert picture is not None
    marks = [cell[2] for cell in picture["marked"]]
    CHECKS[name](model, case.trace, question, marks)
    options = (text for each in question.options for text in (each.label, each.feedback))
    texts = " ".join((question.answer, *options)).replace("$", "")
    texts = re.sub(r"layer \d+, head \d+|10⁻\d|`[^`]*`", "", texts)
    known = {*marks, *facts(name, model, case.trace, question)}
    labels = " ".join(picture["rows"] + picture["columns"])
    for number in NUMBER.findall(texts):
        assert number in known | {*NUMBER.findall(labels)}, (name, text, number, question.answer)
    return True


@pytest.mark.parametrize("pair", FOLDERS)
def test_every_number_of_an_answer_is_marked_in_the_picture(
    pair: str, request: pytest.FixtureRequest
) -> None:
    model = load(pair, APP_FOLDER / "checkpoints" / FOLDERS[pair])
    texts = sentences(request.config.getoption("--sentences"))
    made = [lesson for lesson in LESSONS if lesson.build and not lesson.in_place]
    assert {lesson.name for lesson in made} == {*CHECKS}
    for lesson in made:
        if lesson.task != model.description.kind:
            continue
        own = lesson.sentences if lesson.name not in ANY_SENTENCE else (*lesson.sentences, *texts)
        assert sum(check_lesson(lesson.name, model, text) for text in own), lesson.name
