"""The course in a browser: from lesson to lesson, and by an address that somebody was sent."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import settled
from tests.browser.conftest import NewPage
from transformer.ui.lessons import LESSONS
from transformer.ui.pages import PAGES, path

pytestmark = pytest.mark.browser


def at_lesson(page: Page, number: int) -> None:
    """Until its words stand above its page, and its number in the address."""
    one = LESSONS[number - 1]
    bar = page.locator(".st-key-lesson")
    expect(bar).to_contain_text(f"Lesson {number} of {len(LESSONS)}")
    expect(page.get_by_role("heading", level=1)).to_have_text(PAGES[one.page].title)
    expect(page).to_have_url(re.compile(rf"/{path(one.page)}\?(.*&)?lesson={number}(&|$)"))
    settled(page)


def test_from_the_list_through_two_pages_and_by_the_address(
    app: str, page: Page, new_page: NewPage
) -> None:
    page.goto(f"{app}/lessons")
    expect(page.locator(".st-key-course button")).to_have_count(len(LESSONS))
    page.get_by_role("button", name="Begin").click()
    at_lesson(page, 1)
    for number in (2, 3, 4, 5):  # to another page, on the same one, and to a third
        page.locator(".st-key-lesson-next button").click()
        at_lesson(page, number)
    answer = page.locator(".st-key-lesson").get_by_test_id("stAlert")
    expect(answer).to_have_count(0)
    page.get_by_text("Show the answer").click()
    expect(answer).to_contain_text("2π")
    colleague = new_page()
    colleague.goto(page.url)
    at_lesson(colleague, 5)
    page.get_by_role("button", name="Close").click()
    expect(page.locator(".st-key-lesson")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("lesson="))


def test_a_lesson_on_the_page_it_is_already_on_opens_its_own_view(app: str, page: Page) -> None:
    places = [
        n
        for n, (one, after) in enumerate(pairwise(LESSONS), start=1)
        if one.page == after.page == "pages/inside.py"
        and {"box"} <= one.view.keys() & after.view.keys()
        and one.view["box"] != after.view["box"]
    ]
    number = places[-1]
    page.goto(f"{app}/inside?lesson={number}&box={LESSONS[number - 1].view['box']}&layer=0")
    at_lesson(page, number)
    page.locator(".st-key-lesson-next button").click()
    at_lesson(page, number + 1)
    expect(page).to_have_url(re.compile(f"box={LESSONS[number].view['box']}"))


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_is_wider_than_the_window(app: str, new_page: NewPage, width: int) -> None:
    page = new_page(width)
    for where in ("lessons", "positions?lesson=6&topic=slip"):
        page.goto(f"{app}/{where}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
