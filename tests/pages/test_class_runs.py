"""What a class trains, as its teacher sees and ends it; nobody else may."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.class_visits import again, joined, opened, press, text, the_class, token, wall
from tests.pages.conftest import Visit
from transformer.jobs import Jobs
from transformer.run_config import PairsRun
from transformer.training.recipe import PAIRS_FILE, describe

__all__ = ["token"]  # a fixture
pytestmark = pytest.mark.usefixtures("token")
TRAIN = "pages/train.py"


def begun(visit: Visit, jobs: Jobs, app: AppTest, title: str) -> str:
    return jobs.submit(describe("copy", title=title), app.session_state["visitor"])


def page_of(app: AppTest, name: str) -> AppTest:
    app.switch_page(TRAIN)
    app.query_params["run"] = name
    app.run()
    assert not app.exception
    return app


def test_the_teacher_sees_all_runs_by_name_and_clears_the_line(visit: Visit, jobs: Jobs) -> None:
    teacher = opened(visit)
    assert "What your students train will stand here" in text(teacher)
    ann, bob = joined(visit, the_class(), "Ann"), joined(visit, the_class())
    learns = begun(visit, jobs, ann, "First")
    jobs.folder(learns).change_state("running")
    waits = begun(visit, jobs, bob, "Second")
    elsewhere = jobs.submit(describe("copy", title="Not of the class"), "somebody")
    again(teacher)
    rows = [(card["who"], card["title"], card["status"]) for card in wall(teacher)]
    assert rows == [("Ann", "First", "running"), ("Student 2", "Second", "queued, place 1")]
    press(teacher, "Stop what waits")
    found = {info.name: info.status for info in jobs.runs()}
    assert found == {learns: "running", waits: "cancelled", elsewhere: "queued"}
    assert "Clear the line" not in str([one.proto for one in teacher.get("popover")])


def test_the_teacher_controls_a_students_run_and_no_other(visit: Visit, jobs: Jobs) -> None:
    teacher = opened(visit)
    ann = joined(visit, the_class(), "Ann")
    hers = begun(visit, jobs, ann, "Hers")
    other = jobs.submit(describe("copy", title="Not of the class"), "somebody")
    page_of(teacher, other)
    assert "Someone else's run" in text(teacher)
    page_of(teacher, hers)
    assert "A run of your class" in text(teacher)
    press(teacher, "Pause")
    assert jobs.run(hers).status == "paused"
    bob = joined(visit, the_class())
    assert "Someone else's run" in text(page_of(bob, hers))
    press(page_of(ann, hers), "Resume")
    assert jobs.run(hers).status == "queued"
    the_class().end()
    assert "Someone else's run" in text(page_of(teacher, hers))


def test_the_same_run_has_one_card_with_all_its_names(visit: Visit, jobs: Jobs) -> None:
    teacher = opened(visit)
    for name in ("Ann", "Bob"):
        press(joined(visit, the_class(), name).switch_page(TRAIN).run(), "train-sort")
    [card] = wall(again(teacher))
    assert (card["who"], card["curve"], card["right"]) == ("Ann, Bob", [], None)
    folder = jobs.folder(card["name"])
    folder.append_metrics({"step": 1, "loss": 2.5})
    folder.append_metrics({"step": 2, "loss": 1.25, "sequence_accuracy": 0.5})
    [card] = wall(again(teacher))
    assert (card["curve"], card["right"]) == ([[1, 2.5], [2, 1.25]], 0.5)


def test_own_sentences_stay_their_students_own(visit: Visit, jobs: Jobs) -> None:
    teacher = opened(visit)
    ann = joined(visit, the_class(), "Ann")
    pairs = "".join(f"cat {n}\tchat {n}\n" for n in range(30)).encode()
    config = describe(title="Diary")
    assert isinstance(config, PairsRun)
    name = jobs.submit(config, ann.session_state["visitor"], {PAIRS_FILE: pairs})
    assert wall(again(teacher)) == []
    assert "has not shared it" in " ".join(box.value for box in page_of(teacher, name).warning)


def test_the_teacher_comes_first_in_line_and_a_student_does_not(visit: Visit, jobs: Jobs) -> None:
    for visitor in ("somebody", "somebody else"):
        jobs.submit(describe("copy", title="Before"), visitor)
    teacher = opened(visit)
    ann = joined(visit, the_class(), "Ann")
    press(teacher, "Stop leading")
    for app, place in ((ann, 3), (teacher, 1)):
        app.switch_page(TRAIN).run()
        press(app, "train-sort")
        assert jobs.run(app.query_params["run"]).place == place
