"""Lesson plans: the file, the link, what is refused, and a class that goes through one."""

from __future__ import annotations

import json
import random
import zlib
from base64 import urlsafe_b64encode
from dataclasses import replace
from pathlib import Path
from string import ascii_letters

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.classroom.plans import BAD_PLANS, PLAN, QUESTION, changed
from tests.figures.deno import SCRIPTS, deno
from tests.hostile import check_message, corrupt_bytes, corrupt_json
from transformer.api.lesson_questions import course_data
from transformer.classroom import Classroom, ClassroomError
from transformer.classroom.plan import (
    MAX_CODE_LENGTH,
    decode_plan,
    encode_plan,
    read_plan,
    sentence_lessons,
    write_plan,
)
from transformer.lessons.course import BY_NAME

MANUAL = Path(__file__).resolve().parents[2] / "docs" / "classroom.md"

CONTENT = json.dumps(PLAN).encode()


def packed(content: bytes) -> str:
    """Return the code of any content in a link."""
    compressor = zlib.compressobj(wbits=-15)
    code = urlsafe_b64encode(compressor.compress(content) + compressor.flush())
    return code.decode().rstrip("=")


def test_a_plan_stays_the_same_in_its_file_and_its_link() -> None:
    plan = read_plan(CONTENT)
    assert json.loads(write_plan(plan)) == PLAN
    assert decode_plan(encode_plan(plan)) == plan
    assert plan.minutes == 45
    assert [station.place() for station in plan.stations] == [
        None,
        ("learn", {"lesson": "umbrella", "lesson_text": "My brother lost his key."}),
        ("", {"text": "The cat sleeps < 8 hours."}),
        ("learn", {"lesson": "ahead"}),
        None,
    ]
    [back] = read_plan(changed(stations=[{"title": "B", "minutes": 1, "lesson": "back"}])).stations
    place = back.place()
    assert place is not None
    assert (place[0], place[1]["depth"]) == ("", "heads")  # its question is asked on its own page


@pytest.mark.parametrize("name", BAD_PLANS)
def test_a_bad_file_is_refused_with_one_sentence(name: str) -> None:
    content, message = BAD_PLANS[name]
    with pytest.raises(ClassroomError, match=message) as caught:
        read_plan(content)
    check_message(caught.value)
    assert len(str(caught.value)) < 700
    with pytest.raises(ClassroomError):
        decode_plan(packed(content))


def test_the_browser_refuses_the_same_files_and_reads_the_same_plan() -> None:
    plans = {name: packed(content) for name, (content, _) in BAD_PLANS.items()}
    broken = {"": "", "text": "hello", "cut": encode_plan(read_plan(CONTENT))[:-20], "sign": "é"}
    bomb = {"too long": packed(b" " * 50_000_000)}
    codes = [encode_plan(read_plan(CONTENT)), *plans.values(), *broken.values(), *bomb.values()]
    lessons = json.dumps(course_data()["lessons"])
    script = str(SCRIPTS / "plans.js")
    good, *problems = json.loads(deno("run", "--quiet", script, json.dumps(codes), lessons))
    assert good == {"title": PLAN["title"], "stations": PLAN["stations"]}
    assert len(problems) == len(codes) - 1
    assert all(isinstance(problem, str) and problem.endswith(".") for problem in problems)
    said = dict(zip(plans, problems, strict=False))
    assert said["no minutes"] == "Station 2: The field minutes is missing."
    assert said["HTML in a title"] == "Station 1: title must be plain text without HTML."
    for code in (*broken.values(), *bomb.values()):
        with pytest.raises(ClassroomError):
            decode_plan(code)


def test_the_manual_has_a_valid_plan_and_all_lessons_that_take_a_sentence() -> None:
    manual = MANUAL.read_text(encoding="utf-8")
    example = manual.partition("```json")[2].partition("```")[0]
    assert read_plan(example.encode()).minutes == 45
    section = " ".join(manual.partition("### A lesson plan")[2].split())
    for name in sentence_lessons():
        assert f"*{BY_NAME[name].title}*" in section


def test_a_plan_that_is_too_long_for_a_link_stays_a_file() -> None:
    plan = read_plan(CONTENT)
    letters = random.Random(1)  # which cannot be compressed
    texts = ("".join(letters.choices(ascii_letters, k=500)) for _ in range(20))
    long_plan = replace(
        plan, stations=tuple(replace(plan.stations[0], text=text) for text in texts)
    )
    assert read_plan(write_plan(long_plan)) == long_plan
    with pytest.raises(ClassroomError, match="too long for a link; keep it as a file"):
        encode_plan(long_plan)
    assert len(encode_plan(plan)) < MAX_CODE_LENGTH / 10


@given(corrupt_json(PLAN))
def test_a_corrupt_file_is_read_or_refused(text: str) -> None:
    try:
        plan = read_plan(text.encode("utf-8", "surrogatepass"))
    except ClassroomError as error:
        check_message(error)
    else:
        assert read_plan(write_plan(plan)) == plan


@given(corrupt_bytes(encode_plan(read_plan(CONTENT)).encode()) | st.text().map(str.encode))
def test_a_corrupt_link_is_read_or_refused(code: bytes) -> None:
    try:
        decode_plan(code.decode("latin-1"))
    except ClassroomError as error:
        check_message(error)


def test_a_class_goes_through_its_plan_and_answers_a_question_before_and_after() -> None:
    question = PLAN["stations"][QUESTION]
    stations = [{**question, "title": "Before"}, *PLAN["stations"]]
    plan = read_plan(changed(stations=stations))
    classroom = Classroom("K7FA2P", "teacher", "", max_members=9)
    classroom.join("ann", "Ann")
    progress, measured = classroom.progress, classroom.measured
    assert (progress.plan, progress.current, progress.stored()) == (None, None, None)
    progress.go_to(0)  # no plan yet
    progress.set(plan)
    assert progress.current is None
    for number in (99, 0, 0):
        progress.go_to(number)
    assert progress.current == plan.stations[0]
    assert measured.current is not None
    measured.answer("ann", 1, 0, 1)
    progress.go_to(1)
    assert measured.current is None  # closed and sealed
    progress.go_to(0)
    assert measured.current is not None
    assert (measured.current.number, measured.current.round) == (1, 0)
    progress.go_to(5)
    assert measured.current is not None
    assert (measured.current.number, measured.current.round) == (1, 1)
    measured.answer("ann", 1, 1, 0)
    measured.show(1)
    assert measured.results()[0].right_pairs() == (0, 0, 1, 0)
    here, all_in_all = progress.elapsed()
    assert 0 <= here <= all_in_all < 60
    progress.set(replace(plan, stations=plan.stations[:3]))  # changed during the lesson
    assert progress.station == 2
    progress.set(plan, begin_again=True)
    assert progress.current is None
