"""A class's training runs, which only its teacher sees and controls."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.class_visits import (
    class_line_data,
    join_as_student,
    only_class,
    open_as_teacher,
    page_markdown,
    press,
    rerun,
    run_cards,
)
from tests.pages.conftest import Visit
from transformer.analysis.evidence.verdicts import MIN_SEEDS
from transformer.classroom.tab_runs import TabRun
from transformer.jobs import JobError, Jobs
from transformer.training.races import RACES
from transformer.training.recipe import make_run_config
from transformer.training.run_config import PairsRun
from transformer.ui.services.class_updates import message

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


def open_race(app: AppTest, race: str) -> AppTest:
    app.switch_page(TRAIN)
    app.query_params.update(race=race, run="")
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


def test_a_class_race_gives_every_student_a_run_and_the_teacher_controls_it(
    visit: Visit, jobs: Jobs
) -> None:
    jobs.limits = replace(jobs.limits, runs_per_visitor=50)
    teacher = open_as_teacher(visit)
    press(teacher, "Stop leading")
    press(teacher, "Start the race")
    assert any("No students yet" in box.value for box in teacher.warning)
    assert jobs.runs() == []
    ann, bob = (
        join_as_student(visit, only_class(), "Ann"),
        join_as_student(visit, only_class(), "Bob"),
    )
    rerun(teacher).selectbox(key="class-race").select("scores").run()
    press(teacher, "Start the race")
    infos = jobs.runs()
    race = RACES["scores"]
    assert len(infos) == MIN_SEEDS * len(race.entries)
    assert {(run.race.entry, run.race.seed) for run in infos if run.race} == {
        (entry, seed) for entry in race.entries for seed in range(1, MIN_SEEDS + 1)
    }
    visitors = [app.session_state["visitor"] for app in (ann, bob)]
    runs_by_owner = Counter(run.owner for run in infos)
    assert set(runs_by_owner) == set(visitors)
    assert max(runs_by_owner.values()) - min(runs_by_owner.values()) <= 1
    assert {card["owner"] for card in run_cards(rerun(teacher))} == {"Ann", "Bob"}
    # The popover is closed, as it would hide the cards.
    assert teacher.session_state["class-together"] is False
    # The class's message updates the students' pages; one once stayed unchanged for 90 seconds.
    update = message(only_class(), visitors[0])
    assert update["race"] == only_class().race != ""
    assert class_line_data(ann)["race"] != update["race"]
    links = [link.proto.label for link in rerun(ann).get("page_link")]
    assert class_line_data(ann)["race"] == update["race"]
    assert "Your training run →" in links
    assert "Your class is training together" in page_markdown(ann)
    her_run = only_class().race_run(visitors[0])
    assert jobs.run(her_run).held_by(visitors[0])
    assert sum(label.startswith("Your run: ") for label in links) == runs_by_owner[visitors[0]]
    for app in (ann, teacher):
        assert any("race of the class" in link.proto.label for link in app.get("page_link"))
    # The teacher controls the race, and the students do not.
    student_page = page_markdown(open_race(ann, update["race"]))
    assert "Someone else started this race, with some of your runs" in student_page
    assert "Stop the whole race" not in {element.label for element in ann.button}
    teacher.switch_page(TRAIN).run()
    assert "someone else's" not in page_markdown(teacher)
    assert "Someone else" not in page_markdown(open_race(teacher, update["race"]))
    assert "You started this race" in page_markdown(teacher)
    press(teacher, "Stop the whole race")
    assert {info.status for info in jobs.runs()} == {"cancelled"}
    press(teacher, "Delete the race")
    assert jobs.runs() == []
    only_class().end()


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
        only_class().report_tab_run(student.session_state["visitor"], TabRun.read(points))
    rerun(teacher)
    assert "Trained in the students' tabs" in [header.value for header in teacher.header]
    assert "2 of 2 runs have reached 99%, after 50 to 75 steps" in page_markdown(teacher)
    press(teacher, "Clear the curves")
    assert not only_class().tab_runs()


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
