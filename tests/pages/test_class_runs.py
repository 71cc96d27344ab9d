"""A class's training runs, which only its teacher sees and controls."""

from __future__ import annotations

import json
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.class_visits import (
    join_as_student,
    only_class,
    open_as_teacher,
    page_markdown,
    press,
    rerun,
    run_cards,
)
from tests.pages.conftest import Visit, visible_text
from transformer.classroom.tab_runs import TabRun, read_runs
from transformer.figures.trainer_page import SCORE_RACE
from transformer.jobs import JobError, Jobs
from transformer.training.recipe import make_run_config
from transformer.training.run_config import PairsRun

pytestmark = pytest.mark.usefixtures("token")
TRAIN = "pages/train.py"


def submit_copy_run(visit: Visit, jobs: Jobs, app: AppTest, title: str) -> str:
    return jobs.submit(make_run_config("copy", title=title), app.session_state["visitor"])


def open_run(app: AppTest, name: str) -> AppTest:
    app.switch_page(TRAIN)
    app.query_params["run"] = name
    app.run()
    assert not app.exception
    return app


def test_the_teacher_sees_all_runs_by_name_and_stops_the_waiting_ones(
    visit: Visit, jobs: Jobs
) -> None:
    teacher = open_as_teacher(visit)
    assert "Your students' training runs appear here" in page_markdown(teacher)
    ann, bob = join_as_student(visit, only_class(), "Ann"), join_as_student(visit, only_class())
    running = submit_copy_run(visit, jobs, ann, "First")
    folder = jobs.folder(running)
    with folder.locked():  # as its trainer does
        folder.change_state("running")
        queued = submit_copy_run(visit, jobs, bob, "Second")
        outside_run = jobs.submit(make_run_config("copy", title="Not of the class"), "visitor-1")
        rerun(teacher)
        rows = [(card["owner"], card["title"], card["status"]) for card in run_cards(teacher)]
        assert rows == [("Ann", "First", "running"), ("Student 2", "Second", "queued, number 1")]
        press(teacher, "Stop the waiting runs")
        statuses = {info.name: info.status for info in jobs.runs()}
        assert statuses == {running: "running", queued: "cancelled", outside_run: "queued"}
        assert "Clear the queue" not in str([element.proto for element in teacher.get("popover")])


def test_the_teacher_controls_only_runs_of_students(visit: Visit, jobs: Jobs) -> None:
    teacher = open_as_teacher(visit)
    ann = join_as_student(visit, only_class(), "Ann")
    her_run = submit_copy_run(visit, jobs, ann, "Hers")
    other_run = jobs.submit(make_run_config("copy", title="Not of the class"), "visitor-1")
    open_run(teacher, other_run)
    assert "Someone else's run" in page_markdown(teacher)
    open_run(teacher, her_run)
    assert "A run of your class" in page_markdown(teacher)
    press(teacher, "Pause")
    assert jobs.run(her_run).status == "paused"
    bob = join_as_student(visit, only_class())
    assert "Someone else's run" in page_markdown(open_run(bob, her_run))
    press(open_run(ann, her_run), "Resume")
    assert jobs.run(her_run).status == "queued"
    only_class().end()
    assert "Someone else's run" in page_markdown(open_run(teacher, her_run))


def test_a_run_of_several_students_has_one_card_with_their_names(visit: Visit, jobs: Jobs) -> None:
    teacher = open_as_teacher(visit)
    for name in ("Ann", "Bob"):
        press(join_as_student(visit, only_class(), name).switch_page(TRAIN).run(), "train-reverse")
    [card] = run_cards(rerun(teacher))
    assert (card["owner"], card["curve"], card["accuracy"]) == ("Ann, Bob", [], None)
    folder = jobs.folder(card["name"])
    folder.append_metrics({"step": 1, "loss": 2.5})
    folder.append_metrics({"step": 2, "loss": 1.25, "sequence_accuracy": 0.5})
    [card] = run_cards(rerun(teacher))
    assert (card["curve"], card["accuracy"]) == ([[1, 2.5], [2, 1.25]], 0.5)


def test_the_teacher_moves_a_waiting_run_to_the_front(visit: Visit, jobs: Jobs) -> None:
    teacher = open_as_teacher(visit)
    ann = join_as_student(visit, only_class(), "Ann")
    earlier_run = jobs.submit(make_run_config("copy", title="Earlier"), "visitor-1")
    her_run = submit_copy_run(visit, jobs, ann, "Hers")
    assert "Move to front" not in {element.label for element in open_run(ann, her_run).button}
    press(open_run(teacher, her_run), "Move to front")
    assert (jobs.run(her_run).queue_position, jobs.run(earlier_run).queue_position) == (1, 2)
    assert "Move to front" not in {element.label for element in open_run(teacher, her_run).button}
    jobs.control(her_run, ann.session_state["visitor"], command="stop")
    with pytest.raises(JobError, match="only queued runs"):
        jobs.prioritize(her_run, ann.session_state["visitor"])


def test_runs_on_own_sentences_stay_private(visit: Visit, jobs: Jobs) -> None:
    teacher = open_as_teacher(visit)
    ann = join_as_student(visit, only_class(), "Ann")
    pairs = "".join(f"cat {n}\tchat {n}\n" for n in range(30)).encode()
    config = make_run_config(title="Diary")
    assert isinstance(config, PairsRun)
    name = jobs.submit(config, ann.session_state["visitor"], pairs)
    assert run_cards(rerun(teacher)) == []
    assert "is not shared" in " ".join(box.value for box in open_run(teacher, name).warning)


def test_curves_of_runs_in_the_students_tabs_are_drawn_for_the_class(visit: Visit) -> None:
    teacher = open_as_teacher(visit)
    assert "Trained in the students' tabs" not in [header.value for header in teacher.header]
    ann, bob = join_as_student(visit, only_class(), "Ann"), join_as_student(visit, only_class())
    for student, points in ((ann, [[25, 0.2], [50, 1.0]]), (bob, [[25, 0.1], [75, 1.0]])):
        only_class().report_tab_runs(student.session_state["visitor"], (TabRun.read(points),))
    rerun(teacher)
    assert "Trained in the students' tabs" in [header.value for header in teacher.header]
    assert "2 of 2 runs have reached 99%, after 50 to 75 steps" in page_markdown(teacher)
    press(teacher, "Clear the curves")
    assert not only_class().tab_runs()


def test_a_race_in_the_students_tabs_has_its_verdicts(visit: Visit) -> None:
    teacher = open_as_teacher(visit)
    links = {link.proto.label: link.proto.query_string for link in teacher.get("page_link")}
    assert parse_qs(links["A race of three score functions →"])["here"] == [SCORE_RACE]
    for end in (0.8, 0.9):
        runs = [
            {
                "model": "transformer",
                "score": score,
                "steps": 50,
                "points": [[25, 0.1], [50, right]],
            }
            for score, right in (("dot", 0.2), ("scaled_dot", end))
        ]
        student = join_as_student(visit, only_class())
        only_class().report_tab_runs(student.session_state["visitor"], read_runs(runs))
    text = visible_text(rerun(teacher))
    assert "<td>2 of 2</td><td>85.0% (80.0% to 90.0%)</td>" in text
    assert "**Dividing by √d_k helps**" in text
    assert "a verdict needs 3 finished seeds of each side, and there are 2 and 2" in text
    assert "additive scores win" not in text
    assert "runs have reached 99%" not in text


def test_solved_cases_of_the_bug_clinic_are_listed_for_the_class(visit: Visit) -> None:
    teacher = open_as_teacher(visit)
    ann, bob = join_as_student(visit, only_class(), "Ann"), join_as_student(visit, only_class())
    for student, cases in ((ann, (4,)), (bob, (1, 7))):
        only_class().report_solved_cases(student.session_state["visitor"], cases)
    rerun(teacher)
    listed = page_markdown(teacher)
    assert listed.index("has solved 2: 1, 7.") < listed.index("**Ann** has solved 1: 4.")


def test_students_train_in_their_tabs_with_different_seeds(visit: Visit) -> None:
    open_as_teacher(visit)
    students = [join_as_student(visit, only_class(), name) for name in ("Ann", "Bob")]
    seeds = []
    for student in students:
        student.switch_page(TRAIN)
        student.query_params["here"] = "task=reverse"
        student.run()
        assert not student.exception
        protos = [element.proto for element in student.get("bidi_component")]
        [data] = [p.json for p in protos if p.component_name == "heads_up.trainer"]
        seeds.append(json.loads(data)["seed"])
    assert seeds == [1, 2]
