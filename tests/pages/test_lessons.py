"""The course: every lesson opens its view, asks, answers, and leads to the next."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import ROOT, Visit, messages, view
from transformer.languages import front_matter
from transformer.ui.about import about
from transformer.ui.lessons import LESSONS
from transformer.ui.pages import HOME, PAGES, made, values_of
from transformer.ui.translate import Translate

NUMBERS = range(1, len(LESSONS) + 1)


def told(app: AppTest) -> str:
    return "\n".join(box.value for box in [*app.markdown, *app.caption])


def lesson(visit: Visit, number: int, folder: Path) -> AppTest:
    """Open by its address, as somebody whom it was sent to."""
    one = LESSONS[number - 1]
    return visit(one.page, folder, **one.opened(number).to_params())


def test_the_course_is_ten_to_twenty_steps_with_mistakes_to_spot() -> None:
    assert 10 <= len(LESSONS) <= 20
    assert len({one.title for one in LESSONS}) == len(LESSONS)
    assert sum(bool(one.misprint) for one in LESSONS) >= 9
    assert {one.page for one in LESSONS} <= PAGES.keys() - {HOME, "pages/lessons.py"}
    assert len({one.page for one in LESSONS}) >= 6


@pytest.mark.parametrize("number", NUMBERS)
def test_a_lesson_opens_by_its_address_and_answers(visit: Visit, number: int) -> None:
    one = LESSONS[number - 1]
    app = lesson(visit, number, ROOT / "checkpoints")
    assert messages(app) == []
    assert one.text in told(app)
    assert one.question in told(app)
    assert not app.success
    found, problems = values_of(one.page, one.opened(number).to_params())
    assert (made(PAGES[one.page].view, found), problems) == (one.opened(number), [])
    app.toggle(f"answer-{number}").set_value(True).run()
    assert not app.exception
    assert re.search(r"\w", app.success[0].value)
    assert "no model here" not in app.success[0].value
    assert "nan" not in app.success[0].value.split()


def test_the_list_has_them_all_and_begins_with_the_first(visit: Visit) -> None:
    app = visit("pages/lessons.py")
    assert all(one.title in told(app) for one in LESSONS)
    app.button("begin").click().run()
    assert f"Lesson 1 of {len(LESSONS)}" in told(app)
    assert app.title[0].value == "Translate"


@pytest.mark.parametrize("number", NUMBERS)
def test_one_step_leads_to_the_next_and_to_the_one_before(
    visit: Visit, checkpoints: Path, number: int
) -> None:
    ways = {"lesson-next": number % len(LESSONS) + 1, "lesson-before": number - 1}
    for way, wanted in ways.items():
        app = lesson(visit, number, checkpoints)
        if way not in [button.key for button in app.button]:
            assert number in (1, len(LESSONS))
            continue
        app.button(way).click().run()
        assert not app.exception
        assert view(app) == LESSONS[wanted - 1].opened(wanted, about=about(checkpoints / "tiny"))
        assert app.title[0].value == PAGES[LESSONS[wanted - 1].page].title


def test_the_lessons_keep_to_the_language_that_is_looked_at(
    visit: Visit, checkpoints: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "both"
    for name in ("en-de", "en-fr", "fr-en"):
        shutil.copytree(checkpoints / "tiny", folder / name)
        card = front_matter(name.split("-")) + "# A tiny model\n"
        (folder / name / "README.md").write_text(card)
    for model, target in {"en-de": "Ich bin Student.", "": "Je suis étudiant."}.items():
        given = {"model": model} if model else {}
        app = visit("pages/translate.py", folder, lesson="1", **given)
        app.button("lesson-next").click().run()
        assert (view(app).model, view(app).target) == (model or "en-fr", target)
        assert target in [box.value for box in app.text_input]
    # A model that cannot read the lessons' sentence is left for the first one.
    app = visit("pages/translate.py", folder, lesson="1", model="fr-en")
    app.button("lesson-next").click().run()
    assert (view(app).model, view(app).target) == ("en-fr", "Je suis étudiant.")


def test_elsewhere_there_is_a_way_back_to_its_view(visit: Visit) -> None:
    number = next(n for n in NUMBERS if LESSONS[n - 1].page == "pages/positions.py")
    app = visit("pages/translate.py", lesson=str(number))
    assert LESSONS[number - 1].title in told(app)
    app.button("lesson-own").click().run()
    assert app.title[0].value == "Positions"


def test_closed_it_is_gone_and_the_view_stays(visit: Visit) -> None:
    app = visit("pages/translate.py", lesson="1", text="She hides books.")
    app.button("lesson-close").click().run()
    assert "Lesson 1" not in told(app)
    assert view(app) == Translate(text="She hides books.")


@pytest.mark.parametrize("number", ["77", "-1", "two"])
def test_a_lesson_that_there_is_not_is_a_sentence(visit: Visit, number: str) -> None:
    app = visit("pages/translate.py", lesson=number)
    assert len(messages(app)) == 1
    assert "lesson" in messages(app)[0]


def test_answers_fit_any_model(visit: Visit, checkpoints: Path) -> None:
    for number in NUMBERS:
        app = lesson(visit, number, checkpoints)
        app.toggle(f"answer-{number}").set_value(True).run()
        assert not app.exception
        assert messages(app) == []
