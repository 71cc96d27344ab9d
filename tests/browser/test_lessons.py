"""The whole course by clicks, with the bundled checkpoints."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.live_app import wait_for_script_run
from transformer.ui.base.registry import PAGES, path
from transformer.ui.widgets.lessons.course import CORE


def wait_for_lesson(page: Page, number: int) -> None:
    """Wait until this lesson is fully drawn."""
    expect(page.locator(".st-key-lesson")).to_contain_text(f"Lesson {number} of {len(CORE)}")
    wait_for_script_run(page)


def answer_if_asked(page: Page) -> bool:
    """Answer, or show the answer; return whether there was a question."""
    options = page.locator(".st-key-lesson-options button")
    show_button = page.locator(".st-key-lesson").get_by_role("button", name="Show the answer")
    missing = page.locator(".st-key-lesson").get_by_text("No model here shows this")
    options.or_(show_button).or_(missing).first.wait_for()
    if missing.count():
        return False
    (options.first if options.count() else show_button).click()
    # It says whether the answer is right.
    expect(page.locator(".st-key-lesson").get_by_test_id("stAlert")).to_have_count(1)
    wait_for_script_run(page)
    return True


def test_the_course_can_be_completed_by_clicks(bundled_app: str, page: Page) -> None:
    page.goto(bundled_app)
    page.get_by_role("button", name="Begin with the first lesson").click()
    n_questions = 0
    for number, lesson in enumerate(CORE, start=1):
        wait_for_lesson(page, number)
        expect(page.locator(".st-key-lesson")).to_contain_text(lesson.title)
        expect(page.locator(".st-key-lesson").get_by_test_id("stAlert")).to_have_count(0)
        if answer_if_asked(page):
            n_questions += 1
            expect(page.get_by_role("heading", level=1)).to_have_text(
                PAGES[lesson.page].heading or PAGES[lesson.page].title
            )
            expect(page).to_have_url(
                re.compile(rf"/{path(lesson.page)}\?(.*&)?lesson={lesson.name}(&|$)")
            )
            answers = "The one answer is" if n_questions == 1 else f"of {n_questions} answers"
            expect(page.locator(".st-key-lesson")).to_contain_text(answers)
        page.locator(".st-key-lesson-next button").click()
    expect(page.get_by_role("heading", name="End of the course")).to_be_visible()
    expect(page.get_by_text(f"{n_questions} of {len(CORE)} lessons done")).to_be_visible()
    expect(page.get_by_text(CORE[0].takeaway)).to_be_visible()
    # A reload is another session of the same visitor.
    page.reload()
    expect(page.get_by_text(f"{n_questions} of {len(CORE)} lessons done")).to_be_visible()
    page.get_by_role("button", name="Reset answers").click()
    expect(page.get_by_text(f"0 of {len(CORE)} lessons done")).to_be_visible()
