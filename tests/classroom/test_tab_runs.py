"""Curves of runs that train in the students' browsers."""

from __future__ import annotations

from typing import Any

import pytest

from transformer.classroom import Classroom
from transformer.classroom.codes import ClassroomError
from transformer.classroom.tab_runs import MAX_POINTS, TabRun, read_solved_cases, spread


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


def test_the_spread_is_one_sentence() -> None:
    def learned(step: int) -> TabRun:
        return TabRun.read([[step, 1.0]])

    slow = TabRun.read([[500, 0.5]])
    assert spread({"a": slow}) == "None of 1 runs has reached 99% yet."
    assert spread({"a": slow, "b": learned(300)}).startswith("1 of 2 runs has reached 99%, after")
    runs = {"a": slow, "b": learned(300), "c": learned(400), "d": learned(450)}
    assert spread(runs) == (
        "3 of 4 runs have reached 99%, after 300 to 450 steps, with a median of 400."
    )


def test_only_members_report_and_equal_names_stay_apart() -> None:
    classroom = Classroom("ABC", "teacher", "", 30)
    run = TabRun.read([[25, 0.5]])
    for visitor, name in (("v1", "Ada"), ("v2", "Ada"), ("v3", "")):
        classroom.join(visitor, name)
        classroom.report_tab_run(visitor, run)
    classroom.report_tab_run("stranger", run)
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
