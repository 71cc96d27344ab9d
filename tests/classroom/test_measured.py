"""Questions asked before and after a lesson: secret and matched answers, results, files, errors."""

from __future__ import annotations

import io
import random

import pandas as pd
import pytest

from transformer.classroom import Classroom, ClassroomError, MeasuredQuestion
from transformer.classroom.measured import MAX_MEASURED
from transformer.classroom.results import (
    MeasuredResult,
    SeatAnswers,
    option_table,
    spreadsheet_text,
)

QUESTION = MeasuredQuestion("What do the weights of a row sum to?", ("0", "1", "8"), 1)


@pytest.fixture
def classroom() -> Classroom:
    new_class = Classroom("K7FA2P", "teacher", "", max_members=600)
    for name in ("ann", "bob", "cleo"):
        new_class.join(name, name.title())
    return new_class


def test_a_question_is_asked_before_and_after_and_shown_once(classroom: Classroom) -> None:
    measured = classroom.measured
    number = measured.ask(QUESTION)
    measured.answer("ann", number, 0, 0)
    measured.answer("bob", number, 0, 1)
    assert measured.current is not None
    assert (measured.current.answered, measured.current.is_open) == ((2,), True)
    measured.close(number)
    assert measured.current is None
    assert measured.result(number) is None
    measured.ask_again(number)
    assert not measured.has_answered("ann", number)
    measured.answer("ann", number, 1, 1)
    measured.answer("cleo", number, 1, 1)
    assert measured.has_answered("ann", number)
    assert measured.result(number) is None
    measured.show(number)
    result = measured.result(number)
    assert result is not None
    assert result.votes == ((1, 1, 0), (0, 2, 0))
    assert sorted(result.seats, key=str) == sorted([(0, 1), (1, None), (None, 1)], key=str)
    [status] = measured.all()
    assert (status.answered, status.is_open, status.is_shown) == ((2, 2), False, True)
    assert measured.current == status
    measured.hide()
    assert measured.current is None
    assert measured.results() == (result,)


def test_answers_are_stored_under_hashes_until_they_are_shown(classroom: Classroom) -> None:
    measured = classroom.measured
    number = measured.ask(QUESTION)
    measured.answer("ann", number, 0, 1)
    record = measured._records[number]
    assert "ann" not in str(record.rounds)
    assert repr(record).count("rounds") == 0
    [seat] = record.rounds[0]
    assert seat == record.seat("ann") != record.seat("bob")
    second = measured.ask(QUESTION)
    # The answers of a student to two questions cannot be linked.
    assert measured._records[second].seat("ann") != seat
    measured.show(number)
    assert (record.rounds, record.key) == ([], b"")
    classroom.end()
    assert (measured.all(), measured.current, measured.results()) == ((), None, ())


def test_both_teachers_may_use_every_button(classroom: Classroom) -> None:
    """A second click on a button changes nothing, and displayed results stay displayed."""
    measured = classroom.measured
    number = measured.ask(QUESTION)
    measured.answer("ann", number, 0, 1)
    for _ in range(2):
        measured.ask_again(number)
    assert [status.answered for status in measured.all()] == [(1, 0)]
    measured.answer("ann", number, 1, 1)
    for _ in range(2):
        measured.close(number)
    measured.reopen(number)
    measured.answer("bob", number, 1, 0)
    for _ in range(2):
        measured.show(number)
    changes, result = measured.changes, measured.result(number)
    for method in (measured.ask_again, measured.reopen, measured.close, measured.show):
        method(number)
        method(99)
    assert (measured.changes, measured.result(number)) == (changes, result)


def test_one_question_is_open_at_a_time(classroom: Classroom) -> None:
    measured = classroom.measured
    first, second = measured.ask(QUESTION), measured.ask(QUESTION)
    assert [status.is_open for status in measured.all()] == [False, True]
    measured.hide()  # an open question stays on the pages
    assert measured.current is not None
    measured.ask_again(first)
    assert [status.is_open for status in measured.all()] == [True, False]
    assert measured.current is not None
    assert (measured.current.number, measured.current.round) == (first, 1)
    with pytest.raises(ClassroomError, match="takes no more answers"):
        measured.answer("ann", second, 0, 0)
    with pytest.raises(ClassroomError, match="takes no more answers"):
        measured.answer("ann", first, 0, 0)  # a late click on a button of the first round


@pytest.mark.parametrize(
    ("visitor", "option", "message"),
    [
        ("eve", 0, "You are not a student of this class"),
        ("teacher", 0, "You are not a student of this class"),
        ("", 0, "You are not a student of this class"),
        ("bob", 3, "there is no option 4"),
        ("bob", -1, "there is no option 0"),
        ("ann", 1, "You have answered this question already"),
    ],
)
def test_invalid_answers_do_not_count(
    classroom: Classroom, visitor: str, option: int, message: str
) -> None:
    number = classroom.measured.ask(QUESTION)
    classroom.measured.answer("ann", number, 0, 0)
    with pytest.raises(ClassroomError, match=message):
        classroom.measured.answer(visitor, number, 0, option)
    assert classroom.measured.all()[0].answered == (1,)


def test_the_number_of_questions_is_limited(classroom: Classroom) -> None:
    for _ in range(MAX_MEASURED):
        classroom.measured.ask(QUESTION)
    with pytest.raises(ClassroomError, match=f"has {MAX_MEASURED} questions"):
        classroom.measured.ask(QUESTION)


def test_answers_of_500_students_are_matched(classroom: Classroom) -> None:
    """Both answers of a student are matched, although they arrive in another order."""
    before = {f"seat {n}": n % 3 for n in range(500)}
    after = {name: 1 if n % 2 else option for n, (name, option) in enumerate(before.items())}
    for name in before:
        classroom.join(name)
    number = classroom.measured.ask(QUESTION)
    for name in random.Random(1).sample([*before], 500):
        classroom.measured.answer(name, number, 0, before[name])
    classroom.measured.ask_again(number)
    for name in random.Random(2).sample([*before], 500):
        classroom.measured.answer(name, number, 1, after[name])
    classroom.measured.show(number)
    result = classroom.measured.result(number)
    assert result is not None
    assert sorted(result.seats) == sorted(zip(before.values(), after.values(), strict=True))
    assert list(result.seats) != list(zip(before.values(), after.values(), strict=True))
    difference = result.difference()
    assert difference is not None
    assert difference.paired
    correct_answers = [
        (b == 1, a == 1) for b, a in zip(before.values(), after.values(), strict=True)
    ]
    change = sum(a - b for b, a in correct_answers) / 500
    assert difference.interval.value == pytest.approx(change)
    assert difference.interval.low > 0


def measured_result(*seats: SeatAnswers, n_rounds: int = 2) -> MeasuredResult:
    return MeasuredResult("Why?", ("A", "B"), 1, n_rounds, seats)


def test_paired_answers_are_used_if_half_of_the_class_has_them() -> None:
    pairs: list[SeatAnswers] = [(0, 1), (1, 1)]
    half_paired = measured_result(*pairs, (0, None), (0, None), (None, 1)).difference()
    assert half_paired is not None
    assert (half_paired.paired, half_paired.before, half_paired.after) == (True, (1, 2), (2, 2))
    fewer_paired = measured_result(*pairs, (0, None), (0, None), (0, None)).difference()
    assert fewer_paired is not None
    assert (fewer_paired.paired, fewer_paired.before, fewer_paired.after) == (False, (1, 5), (2, 2))
    assert "independent" in fewer_paired.method


def test_the_file_of_options_has_all_votes_and_the_difference() -> None:
    seats: list[SeatAnswers] = [(0, 1)] * 6 + [(1, 1)] * 3 + [(0, 0)] * 2 + [(1, 0)]
    text = option_table([measured_result(*seats)]).to_csv(index=False)
    table = pd.read_csv(io.StringIO(text))
    assert list(table["round"]) == ["before", "before", "after", "after"]
    assert list(table["votes"]) == [8, 4, 3, 9]
    assert table.groupby("round")["share"].sum().tolist() == pytest.approx([1, 1])
    assert list(table["is_right"]) == [False, True, False, True]
    [difference] = table["difference"].unique()
    assert difference == pytest.approx(9 / 12 - 4 / 12)
    assert (table["low_95"] < difference).all()
    assert (table["high_95"] > difference).all()
    assert table["method"].str.contains("paired").all()
    pairs = [f"right_{name}" for name in ("both", "only_before", "only_after", "never")]
    assert table[pairs].drop_duplicates().to_numpy().tolist() == [[3, 1, 6, 2]]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "＝1", "\t=1", "\r=1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert spreadsheet_text(text) == f"'{text}"
    result = MeasuredResult(text, (text, "safe"), 0, 1, ((0, None),))
    cells = next(iter(option_table([result]).to_dict("records")))
    assert all(not str(cell).lstrip().startswith(("=", "+", "-", "@")) for cell in cells.values())
