"""The whole course by clicks, with the bundled checkpoints."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.live_app import wait_for_script_run
from transformer.lessons.course import CORE
from transformer.lessons.lesson import Lesson
from transformer.ui.base.registry import BY_PATH, PAGES


def answer_if_asked(page: Page) -> bool | None:
    """Answer, or show the answer; return whether it was answered, None without a question."""
    card = page.locator(".hu-lesson")
    options = card.locator(".hu-lesson-option")
    show_button = card.get_by_role("button", name="Show the answer")
    missing = card.get_by_text("No model here shows this")
    options.or_(show_button).or_(missing).first.wait_for()
    if missing.count():
        return None
    is_answered = options.count() > 0
    (options.first if is_answered else show_button).click()
    expect(card.locator(".hu-lesson-answer")).to_have_count(1)  # says whether the answer is right
    wait_for_script_run(page)  # of the page that shows an answer to be found
    return is_answered


def open_and_return(page: Page, lesson: Lesson) -> None:
    """Open the page that shows the answer, unless it is open, and return to the question."""
    card = page.locator(".hu-lesson")
    if not lesson.in_place:
        card.get_by_role("button", name="Open in").click()
    shown = PAGES[BY_PATH[lesson.page]]
    expect(page.get_by_role("heading", level=1)).to_have_text(shown.heading or shown.title)
    expect(page).to_have_url(re.compile(rf"/{lesson.page}\?(.*&)?lesson={lesson.name}(&|$)"))
    if not lesson.in_place:
        wait_for_script_run(page)
        card.get_by_role("button", name="Back to the lesson").click()
        expect(card.locator(".hu-lesson-result")).not_to_have_count(0)


def test_the_course_can_be_completed_by_clicks(bundled_app: str, page: Page) -> None:
    page.goto(f"{bundled_app}/learn")
    page.get_by_role("button", name="Start the course").click()
    card = page.locator(".hu-lesson")
    n_questions = n_answered = 0
    for number, lesson in enumerate(CORE, start=1):
        expect(card).to_contain_text(f"Lesson {number} of {len(CORE)}")
        expect(card).to_contain_text(lesson.title)
        if number > 1:  # also where the lesson before was on another page
            expect(card.get_by_role("heading", name=lesson.title)).to_be_focused()
        expect(card.locator(".hu-lesson-answer")).to_have_count(0)
        is_answered = answer_if_asked(page)
        if is_answered is not None:
            n_questions += 1
            n_answered += is_answered
            open_and_return(page, lesson)
            answers = "One answer so far" if n_answered == 1 else f"of {n_answered} answers"
            expect(card).to_contain_text(answers)
        card.locator(".hu-lesson-next").click()
    expect(page.get_by_role("heading", name="End of the course")).to_be_visible()
    expect(page.get_by_text(f"{n_questions} of {len(CORE)} lessons done")).to_be_visible()
    expect(page.get_by_text(CORE[0].takeaway)).to_be_visible()
    page.reload()  # the answers are kept in the browser
    expect(page.get_by_text(f"{n_questions} of {len(CORE)} lessons done")).to_be_visible()
    page.get_by_role("button", name="Start again").click()
    expect(page.get_by_text(f"0 of {len(CORE)} lessons done")).to_be_visible()


def test_a_link_to_an_answer_opens_the_question_and_an_answer_to_find_is_checked(
    bundled_app: str, page: Page
) -> None:
    page.goto(f"{bundled_app}/inside?lesson=norm&box=encoder.self_attn.norm")
    page.wait_for_url(re.compile(r"/learn\?(.*&)?lesson=norm"))
    card = page.locator(".hu-lesson")
    expect(card.locator(".hu-lesson-option").first).to_be_visible()
    page.goto(f"{bundled_app}/?lesson=off&depth=off")
    card.get_by_role("button", name="Check").click()
    expect(card).to_contain_text("No head is switched off yet")
    card.get_by_role("button", name="Show the answer").click()
    page.wait_for_url(re.compile(r"off=c\d"))
    card.get_by_role("button", name="Check").click()
    expect(card).to_contain_text("Correct. Without these heads the translation is")
    page.goto(f"{bundled_app}/?lesson=77")
    expect(card).to_contain_text("There is no lesson “77”. The first lesson is “umbrella”.")


def test_a_lesson_that_the_chosen_model_does_not_show_uses_another(
    bundled_app: str, page: Page
) -> None:
    page.goto(f"{bundled_app}/learn?lesson=crossing&model=en-de")
    card = page.locator(".hu-lesson")
    expect(card).to_contain_text("no head shows two neighbouring words in the opposite order")
    card.locator(".hu-lesson-option").first.click()
    card.get_by_role("button", name="Open in All heads").click()
    expect(card).to_contain_text("Other lessons open with the chosen model again.")
    expect(page).not_to_have_url(re.compile("model=en-de"))
    card.locator(".hu-lesson-next").click()
    page.wait_for_url(re.compile(r"model=en-de.*lesson=bag"))


def test_a_lesson_opened_on_learn_stays_open_when_the_page_is_drawn_again(
    bundled_app: str, page: Page
) -> None:
    page.goto(f"{bundled_app}/learn?model=en-de&text=Hello.")
    page.get_by_role("button", name="Start the course").click()
    card = page.locator(".hu-lesson")
    expect(card.locator(".hu-lesson-option").first).to_be_visible()
    page.get_by_role("button", name="Larger").click()
    wait_for_script_run(page)
    expect(card).to_contain_text(CORE[0].title)
    card.locator(".hu-lesson-next").click()
    expect(card).to_contain_text(CORE[1].title)
    page.go_back()
    expect(card).to_contain_text(CORE[0].title)
    page.get_by_role("link", name="Look inside").click()
    page.wait_for_url(re.compile(rf"/inside\?.*lesson={CORE[0].name}"))
    expect(page.get_by_label("English")).to_have_value("Hello.")
