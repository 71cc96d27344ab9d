"""Curves of runs that train in the students' browsers."""

from __future__ import annotations

from typing import Any

import pytest

from transformer.classroom import Classroom
from transformer.classroom.codes import ClassroomError
from transformer.classroom.tab_runs import (
    MAX_POINTS,
    MAX_RUNS,
    TabRun,
    read_runs,
    read_solved_cases,
    spread,
    tab_race,
)


def test_a_curve_is_read_with_the_step_at_which_the_task_is_learned() -> None:
    run = TabRun.read([[25, 0.1], [50, 0.992], [75, 0.98]])
    assert run.reached == 50
    assert run.lines()[0] == {"step": 25, "sequence_accuracy": 0.1}
    assert TabRun.read([[25, 0.5]]).reached is None


@pytest.mark.parametrize(
    "points",
    [
        *([], None, "abc", [[1, 2]], [[1, -0.1]], [[2, 0.1], [1, 0.2]], [[1, 0.1], [1, 0.1]]),
        *([[-1, 0.5]], [[1]], [["a", 0.1]], [[1, float("nan")]], [[10**9, 0.5]]),
        *([[float("inf"), 0.5]], [[n, 0.5] for n in range(MAX_POINTS + 1)]),
    ],
)
def test_anything_else_is_refused(points: Any) -> None:
    with pytest.raises(ClassroomError):
        TabRun.read(points)


def run(score: str = "dot", end: float = 0.5, **changes: Any) -> dict[str, Any]:
    """Return a run as a browser sends it."""
    points = [[25, 0.1], [50, end]]
    return {"model": "transformer", "score": score, "steps": 50, "points": points, **changes}


@pytest.mark.parametrize(
    "runs",
    [
        *(None, [], [None], [1], [{}], "abc", [run()] * (MAX_RUNS + 1), [run("<b>")]),
        *([run(model="lstm")], [run(steps=0)], [run(steps=True)], [run(score=[])]),
        *([run(points=[])], [run(), run(points=[[1, 2]])], [run(model={})]),
        *([run(n_heads=0)], [run(n_heads=9)], [run(positions="<b>")]),
    ],
)
def test_runs_of_unknown_settings_are_refused(runs: Any) -> None:
    with pytest.raises(ClassroomError):
        read_runs(runs)


def test_a_race_has_the_mean_of_each_entry_and_verdicts_on_finished_runs() -> None:
    def tab(dot: float, scaled: float, **changes: Any) -> tuple[TabRun, ...]:
        return read_runs([run("dot", dot), run("scaled_dot", scaled, **changes)])

    reports = {"Ada": tab(0.2, 0.8), "Bob": tab(0.3, 0.9), "Cy": tab(0.4, 1.0, steps=100)}
    alone = read_runs([run("additive", 1.0)])
    race = tab_race({**reports, "Di": alone})
    assert race is not None
    assert {entry: len(runs) for entry, runs in race.runs.items()} == {"q·k": 3, "q·k / √d_k": 3}
    lines = race.mean_lines()["q·k"]
    assert [line["step"] for line in lines] == [25, 50]
    assert [line["sequence_accuracy"] for line in lines] == pytest.approx([0.1, 0.3])
    assert list(race.table["n"]) == [3, 2]  # one run has taken half of its steps
    [verdict] = race.verdicts
    assert (verdict.claim.better, verdict.word) == ("q·k / √d_k", "inconclusive")
    finished = tab_race({**reports, "Cy": tab(0.4, 1.0)})
    assert finished is not None
    assert [verdict.word for verdict in finished.verdicts] == ["holds"]
    assert tab_race({"Di": alone}) is None
    assert tab_race({"Di": read_runs([run(), run()])}) is None


@pytest.mark.parametrize(
    ("name", "values", "claim"),
    [
        ("model", ("gru", "gru_attention"), "Attention helps a recurrent model"),
        ("n_heads", (4, 1), "Four heads beat one big head"),
        ("positions", ("sinusoidal", "none"), "Positions help"),
    ],
)
def test_each_question_is_a_race_with_its_claim(
    name: str, values: tuple[object, object], claim: str
) -> None:
    race = tab_race({"Ada": read_runs([run(**{name: value}) for value in values])})
    assert race is not None
    assert [verdict.claim.text for verdict in race.verdicts] == [claim]


def test_the_spread_is_one_sentence() -> None:
    def learned(step: int) -> TabRun:
        return TabRun.read([[step, 1.0]])

    slow = TabRun.read([[500, 0.5]])
    assert spread([slow]) == "None of 1 runs has reached 99% yet."
    assert spread([slow, learned(300)]).startswith("1 of 2 runs has reached 99%, after")
    assert spread([slow, learned(300), learned(400), learned(450)]) == (
        "3 of 4 runs have reached 99%, after 300 to 450 steps, with a median of 400."
    )


def test_only_members_report_and_equal_names_stay_apart() -> None:
    classroom = Classroom("ABC", "teacher", "", 30)
    run = TabRun.read([[25, 0.5]])
    for visitor, name in (("v1", "Ada"), ("v2", "Ada"), ("v3", "")):
        classroom.join(visitor, name)
        classroom.report_tab_runs(visitor, (run,))
    classroom.report_tab_runs("stranger", (run,))
    assert [*classroom.tab_runs()] == ["Ada (1)", "Ada (2)", "Student 3"]
    classroom.leave("v1")
    assert [*classroom.tab_runs()] == ["Ada", "Student 3"]
    classroom.clear_tab_runs()
    assert not classroom.tab_runs()


def test_solved_cases_are_kept_of_members_only() -> None:
    classroom = Classroom("ABC", "teacher", "", 30)
    classroom.join("v1", "Ada")
    for visitor in ("v1", "stranger"):
        classroom.report_solved_cases(visitor, read_solved_cases([4, 1]))
    assert classroom.solved_cases() == {"Ada": (1, 4)}
    classroom.report_solved_cases("v1", ())  # the student has reset all cases
    assert not classroom.solved_cases()
    classroom.report_solved_cases("v1", (1,))
    classroom.leave("v1")
    assert not classroom.solved_cases()


@pytest.mark.parametrize("cases", [None, "1", [0], [1, 1], [True], [1.0], [51], ["1"], {"1": 1}])
def test_wrong_solved_cases_are_refused(cases: object) -> None:
    with pytest.raises(ClassroomError, match="different whole numbers from 1 to 50"):
        read_solved_cases(cases)
