"""The lessons in a browser with the bundled checkpoints: the whole course by clicks, and
the position of its card."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.app_pages import violations_of
from tests.browser.explorer_file import bounding_box
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


def client_rect(page: Page, selector: str) -> dict[str, float]:
    values: dict[str, float] = page.locator(selector).first.evaluate(
        "(node) => { const { top, bottom, left, right } = node.getBoundingClientRect();"
        " return { top, bottom, left, right }; }"
    )
    return values


def scroll(page: Page, pixels: int) -> None:
    page.locator(".stMain").evaluate("(node, pixels) => node.scrollTo(0, pixels)", pixels)
    page.wait_for_timeout(300)


def test_the_card_of_a_lesson_stays_visible_and_is_accessible(bundled_app: str, page: Page) -> None:
    page.goto(f"{bundled_app}/learn?lesson=norm")
    assert answer_if_asked(page)
    page.locator(".st-key-inside-map").wait_for()
    for width in (1400, 390):
        page.set_viewport_size({"width": width, "height": 900})
        scroll(page, 500)
        card_rect = client_rect(page, ".st-key-lesson")
        assert 0 <= card_rect["top"] <= 120
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if width > 1100:
            map_rect = client_rect(page, ".st-key-inside-map")
            assert card_rect["right"] <= map_rect["left"]
            assert map_rect["top"] < 300  # the map stays visible next to the box
            assert map_rect["right"] <= client_rect(page, ".st-key-inside-top")["left"]
    # On a phone the card leaves space for the picture.
    box = bounding_box(page.locator('[data-testid="stLayoutWrapper"]:has(> .st-key-lesson)'))
    assert box["y"] + box["height"] <= 0.55 * 900

    page.set_viewport_size({"width": 1400, "height": 900})
    for name in ("umbrella", "cosine", "end"):
        page.goto(f"{bundled_app}/learn?lesson={name}")
        if name == "end":
            expect(page.get_by_role("heading", name="End of the course")).to_be_visible()
        else:
            expect(page.locator(".st-key-lesson-options button").first).to_be_visible()
            expect(page.locator(".st-key-lesson-next")).to_be_visible()
        wait_for_script_run(page)
        assert not violations_of(page), name
        if name != "end":
            answer_if_asked(page)
            page.mouse.move(0, 0)
            assert not violations_of(page), name
        page.emulate_media(color_scheme="dark")
        assert not violations_of(page, colours=True), name
        page.emulate_media(color_scheme="light")
