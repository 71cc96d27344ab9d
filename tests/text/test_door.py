"""The door: what browsers send is read completely or refused with one sentence."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.hostile import JSON_VALUES, check_message
from transformer.classroom.codes import ClassroomError
from transformer.classroom.tab_runs import read_runs, read_solved_cases
from transformer.text.door import Refusal, read_fields
from transformer.training.recipe import make_run_config
from transformer.training.run_config import TaskRun
from transformer.training.run_folder import RunFolder
from transformer.ui.pages.training.sent_model import SentModel, config_of

CONFIG = make_run_config("reverse").model
"""Of a model with 2 layers of 4 heads."""
POINTS = [[25, 0.5], [50, 1.0]]
RUN = {"model": "gru", "score": "dot", "steps": 50, "points": POINTS}
MODEL = {
    "model": "AAAA",
    "settings": {"task": "reverse", "options": {"letters": 8}, "steps": 50, "score": "dot"},
    "title": "Reverse a sequence",
    "points": POINTS,
    "losses": [[1, 2.5], [25, 0.5]],
    "outputs": [{"src": "a b", "tgt": "b a", "output": "b", "right": False}],
    "film": {
        "steps": [0],
        "tokens": [{"src": ["</s>"], "tgt": ["<s>"], "predicted": ["</s>"]}],
        "weights": base64.b64encode(bytes(48)).decode(),
    },
}
DEEP: Any = []
for _ in range(2000):
    DEEP = [DEEP]


@st.composite
def changed(draw: st.DrawFn, message: Any, values: st.SearchStrategy[Any] = JSON_VALUES) -> Any:
    """Return `message` with one of its values replaced, missing or under another name."""
    if not isinstance(message, list | dict) or draw(st.integers(0, 5)) == 0:
        return draw(values)
    places = [*message] if isinstance(message, dict) else [*range(len(message))]
    place, copy = draw(st.sampled_from(places)), message.copy()
    if draw(st.integers(0, 5)) == 0:
        del copy[place]
    elif isinstance(copy, dict) and draw(st.integers(0, 8)) == 0:
        copy["\ud800x"] = copy.pop(place)
    else:
        copy[place] = draw(changed(message[place], values))
    return copy


@pytest.mark.parametrize("title", ["\ud800x", "a\u202eb", "a\nb", "a\x1b[2J", "x" * 81, 3, None])
def test_a_title_that_no_page_can_show_is_refused(title: object) -> None:
    with pytest.raises(Refusal, match="title must be"):
        read_fields({**MODEL, "title": title}, SentModel)


def test_deeply_nested_values_are_refused() -> None:
    for name in MODEL:
        with pytest.raises(Refusal):
            read_fields({**MODEL, name: DEEP}, SentModel)
    for runs in (DEEP, [DEEP], *([{**RUN, name: DEEP}] for name in RUN)):
        with pytest.raises(ClassroomError):
            read_runs(runs)
    with pytest.raises(ClassroomError):
        read_solved_cases(DEEP)


@given(changed(MODEL))
@example({**MODEL, "settings": {"task": "reverse", "steps": 10**400}})
@example({**MODEL, "settings": {"task": "reverse", "options": [1]}})
@example({**MODEL, "settings": {"task": "reverse", "options": {"longest": 10**6}}})
@example({**MODEL, "settings": {}})
@settings(max_examples=300)
def test_a_model_is_read_or_refused(message: Any) -> None:
    try:
        sent = read_fields(message, SentModel)
        config, lines, frames = config_of(sent), sent.lines(), sent.film.snapshots(CONFIG)
    except ValueError as error:
        check_message(error)
        str(error).encode()
        return
    json.dumps([config.to_dict(), lines], ensure_ascii=False, allow_nan=False).encode()
    assert all(weights.min() >= 0 for frame in frames.values() for weights in frame.values())


@given(changed([RUN, RUN]))
@example([{**RUN, "points": [[1, float("nan")]]}])
@settings(max_examples=300)
def test_runs_of_a_tab_are_read_or_refused(message: Any) -> None:
    try:
        runs = read_runs(message)
    except ClassroomError as error:
        check_message(error)
        str(error).encode()
        return
    assert all(0 <= share <= 1 for run in runs for _, share in run.points)


@given(changed([1, 2, 3]))
def test_solved_cases_are_read_or_refused(message: Any) -> None:
    try:
        assert all(type(case) is int for case in read_solved_cases(message))
    except ClassroomError as error:
        check_message(error)


@pytest.mark.parametrize("title", ["\ud800x", "a\u202eb", "a\nb"])
def test_a_run_on_disk_with_such_a_title_has_none(tmp_path: Any, title: str) -> None:
    config = config_of(read_fields(MODEL, SentModel))
    written = {**config.to_dict(), "title": title}
    (tmp_path / "config.json").write_text(json.dumps(written))
    read = RunFolder(tmp_path).config()
    assert (type(read), read.title) == (TaskRun, "")
    (tmp_path / "config.json").write_text(json.dumps({**written, "kind": "unknown"}))
    assert RunFolder(tmp_path).readable_config().title == ""
