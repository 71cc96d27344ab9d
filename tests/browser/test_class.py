"""A class in three browsers: two students follow their teacher, stop following and return."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_pages import open_depth
from tests.browser.conftest import NewPage
from tests.browser.home_page import expected_words
from tests.browser.test_clinic import solve_perfect_loss
from tests.live_app import ROOT, app_server, wait_for_script_run, wait_until
from transformer import Translator

TEACHER_TOKEN = "teacher-token-for-tests"
KEEP_SOCKETS = """
    window.classSockets = [];
    window.WebSocket = class extends WebSocket {
        constructor(...given) {
            super(...given);
            if (this.url.includes("/_class/")) window.classSockets.push(this);
        }
    };
"""
CLICK_AND_RECEIVE = """
    (link) => {
        link.click();
        const data = JSON.stringify({ state: "alone", questions: Math.random(), answers: {} });
        window.classSockets.at(-1).dispatchEvent(new MessageEvent("message", { data }));
    }
"""
"""Click a link and receive, before the server has answered, that the class's questions changed."""


class ClassPages(NamedTuple):
    teacher: Page
    ann: Page
    bob: Page


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server with its own teacher token and the bundled models."""
    folder = tmp_path_factory.mktemp("class")
    limits = folder / "limits.toml"
    limits.write_text(f'teacher_token = "{TEACHER_TOKEN}"\n')
    environment = {"HEADS_UP_LIMITS": str(limits), "HEADS_UP_RUNS": str(folder / "runs")}
    with app_server(ROOT / "checkpoints", **environment) as (url, _):
        yield url


@pytest.fixture
def classroom(address: str, new_page: NewPage) -> Iterator[ClassPages]:
    """Open a class with two students: Ann, on a phone, and Bob, who has entered no name."""
    teacher, ann, bob = new_page(), new_page(390, "dark"), new_page()
    teacher.goto(f"{address}/class")
    teacher.get_by_label("Token", exact=True).fill(TEACHER_TOKEN)
    teacher.get_by_label("Your name, as students will see it").fill("Ms Curie")
    teacher.get_by_role("button", name="Open a class").click()
    code = teacher.locator(".st-key-class-code").inner_text().strip()
    expect(teacher.get_by_alt_text(re.compile("QR code for .*class.code="))).to_be_visible()
    ann.goto(f"{address}/class?code={code.replace(' ', '')}")
    ann.get_by_label("First name").fill("Ann")
    ann.get_by_role("button", name="Join").click()
    bob.goto(f"{address}/class")
    bob.get_by_label("Code").fill(code.lower())
    bob.get_by_role("button", name="Join").click()
    for page in (ann, bob):
        expect(page.get_by_text("You are in the class of Ms Curie")).to_be_visible()
    expect(teacher.get_by_text("Ann · Student 2")).to_be_visible()
    yield ClassPages(teacher, ann, bob)
    teacher.get_by_role("link", name="Class", exact=True).first.click()
    teacher.get_by_role("button", name="End the class …").click()
    teacher.get_by_role("button", name="End the class", exact=True).click()
    for page in (ann, bob):  # the server tells them, without a click
        expect(page.get_by_text("The class has ended")).to_be_visible()
        expect(page.locator(".hu-class-actions > *")).to_have_count(0)


def follow_link(page: Page, name: str) -> None:
    """Click a link of the navigation bar."""
    page.locator(".st-key-navigation-bar").get_by_role("link", name=name, exact=True).click()


def heading(page: Page) -> str:
    return page.get_by_role("heading", level=1).inner_text()


@pytest.mark.journey
def test_pages_and_heads_are_followed_until_a_student_opens_another_page_or_head(
    classroom: ClassPages,
) -> None:
    teacher, ann, bob = classroom
    follow_link(teacher, "Try")
    open_depth(teacher, "All heads")
    for page in (ann, bob):
        page.locator(".hu-explorer").wait_for()
        expect(page.locator(".hu-class-status")).to_have_text("Following Ms Curie")
    expect(teacher.locator(".hu-class-status")).to_have_text("Leading: 2 of 2 following")

    for layer, head in ((2, 3), (5, 0)):
        teacher.locator(".hu-mosaic [role=radio]").nth(8 * layer + head).click()
        for page in (teacher, ann, bob):
            expect(page.locator(".hu-title")).to_have_text(f"Layer {layer + 1}, head {head + 1}")
            wait_until(page, f"location.search.includes('layer={layer}&head={head}')")
    teacher.get_by_text("She has never seen the sea.").click()
    for page in (ann, bob):
        expect(page.locator(".hu-try textarea").first).to_have_value("She has never seen the sea.")

    follow_link(bob, "Glossary")
    expect(bob.locator(".hu-class-status")).to_have_text(
        "Exploring on your own; Ms Curie is at All heads"
    )
    expect(teacher.locator(".hu-class-status")).to_have_text("Leading: 1 of 2 following")
    follow_link(teacher, "Look inside")
    expect(ann.get_by_role("heading", level=1)).to_have_text("Look inside")
    wait_for_script_run(bob)
    assert heading(bob) == "Glossary"
    bob.get_by_role("button", name="Follow again").click()
    expect(bob.get_by_role("heading", level=1)).to_have_text("Look inside")
    expect(bob.locator(".hu-class-status")).to_have_text("Following Ms Curie")

    ann.reload()  # as after a lost connection: Ann follows the class again
    expect(ann.get_by_role("heading", level=1)).to_have_text("Look inside")
    teacher.get_by_role("button", name="Stop leading").click()
    for page in (ann, bob):
        expect(page.locator(".hu-class-status")).to_have_text("In the class of Ms Curie")
    follow_link(teacher, "Research")
    wait_for_script_run(teacher)
    assert (heading(ann), heading(bob)) == ("Look inside", "Look inside")
    teacher.get_by_role("button", name="Lead the class").click()
    expect(ann.get_by_role("heading", level=1)).to_have_text("Research")

    follow_link(teacher, "Try")
    open_depth(teacher, "All heads")
    for page in (teacher, ann, bob):
        page.locator(".hu-explorer").wait_for()
    bob.locator(".hu-mosaic [role=radio]").nth(3).click()
    expect(bob.locator(".hu-class-status")).to_contain_text("Exploring on your own")
    teacher.locator(".hu-mosaic [role=radio]").nth(12).click()
    expect(ann.locator(".hu-title")).to_have_text("Layer 2, head 5")
    expect(bob.locator(".hu-title")).to_have_text("Layer 1, head 4")
    bob.get_by_role("button", name="Follow again").click()
    expect(bob.locator(".hu-title")).to_have_text("Layer 2, head 5")
    bob.get_by_role("button", name="Stop following").click()
    expect(bob.locator(".hu-class-status")).to_contain_text("Exploring on your own")


def test_the_browsers_of_students_compute(classroom: ClassPages, address: str) -> None:
    teacher, ann, bob = classroom
    teacher.get_by_role("button", name="Stop leading").click()
    bob.route("**/_models/**", lambda route: route.fulfill(body=b"not the file"))
    teacher.get_by_text("Students' browsers compute by themselves").click()
    status = ".hu-class-model"
    expect(bob.locator(status)).to_contain_text("the server computes for it")
    expect(ann.locator(status)).to_have_text(
        "Your browser computes by itself, with the model of 27 MB that it has loaded once."
    )
    translator = Translator.load(ROOT / "checkpoints" / "en-fr")
    requests: dict[Page, list[str]] = {ann: [], bob: []}
    for page, sent in requests.items():
        page.on("request", lambda request, sent=sent: sent.append(request.url))
        follow_link(page, "Try")
        for text in ("We are tired.", "The old man reads a book."):
            page.get_by_label("Your sentence").fill(text)
            wait_until(page, f"location.search.includes('{text.split()[-1]}')")
            expect(page.locator(".hu-glance-row").last.locator("button")).to_have_text(
                expected_words(translator, text)
            )
        open_depth(page, "All heads")
        page.locator(".hu-mosaic [role=radio]").nth(12).click()
        expect(page.locator(".hu-title")).to_have_text("Layer 2, head 5")
    kinds = {
        page: {url.removeprefix(f"{address}/api/") for url in sent if "/api/" in url}
        for page, sent in requests.items()
    }
    assert kinds[ann] <= {"models", "lessons", "ask/load"}
    assert {"ask/glance", "ask/explore"} <= kinds[bob]
    bob.unroute("**/_models/**")
    teacher.get_by_text("Students' browsers compute by themselves").click()
    follow_link(ann, "Class")
    expect(ann.get_by_role("heading", level=1)).to_have_text("Class")
    expect(ann.locator(status)).to_be_empty()
    with ann.expect_request(re.compile("/api/ask/(glance|explore)")):
        follow_link(ann, "Try")


def test_the_teacher_sees_solved_cases_and_training_runs(classroom: ClassPages) -> None:
    teacher, _, bob = classroom
    teacher.get_by_role("button", name="Stop leading").click()
    follow_link(bob, "Learn")
    bob.get_by_role("button", name="Open the clinic").click()
    solve_perfect_loss(bob)
    expect(teacher.get_by_text("Student 2 has solved 1: 2.")).to_be_visible()
    bob.get_by_role("link", name="← All lessons").click()
    expect(bob.get_by_role("button", name="Open the clinic")).to_be_visible()

    follow_link(bob, "Train")
    bob.locator(".st-key-train-french button").click()
    bob.wait_for_url(re.compile(r"run="))
    card = teacher.locator(".hu-wall-card", has_text="Student 2")
    expect(card).to_contain_text("Where French puts adjectives")  # appears without a click
    expect(card.locator("canvas")).to_be_visible()
    expect(card).to_contain_text(re.compile("step .* loss"))
    card.click()
    teacher.get_by_role("button", name="Open the run").click()
    expect(teacher.get_by_text("A run of your class")).to_be_visible()
    teacher.get_by_test_id("stMain").get_by_role("button", name="Stop", exact=True).click()
    for page in (teacher, bob):
        expect(page.locator(".stMarkdownBadge", has_text="cancelled").first).to_be_visible()
    expect(teacher.get_by_role("button", name="Delete …")).to_have_count(0)
    # A message that arrives just after a click does not undo the click.
    bob.add_init_script(KEEP_SOCKETS)
    bob.reload()
    wait_until(bob, "window.classSockets.length > 0")
    for target in ("Train", "Look inside", "Research"):
        wait_for_script_run(bob)
        bob.locator(".st-key-navigation-bar").get_by_role("link", name=target, exact=True).evaluate(
            CLICK_AND_RECEIVE
        )
        expect(bob.get_by_role("heading", level=1)).to_have_text(target)


QUESTION = {
    "text": "What do the weights of a row sum to?",
    "options": ["To 1", "To 8", "a < b"],
    "correct": 1,
    "explanation": "They are a softmax.",
}
PLAN = {
    "format": "heads-up-plan",
    "version": 1,
    "title": "Attention in 45 minutes",
    "stations": [
        {"title": "Before", "minutes": 10, "question": QUESTION},
        {
            "title": "Whose key?",
            "minutes": 15,
            "text": "Guess alone.",
            "lesson": "umbrella",
            "sentence": "My brother lost his key.",
        },
        {"title": "Our sentence", "minutes": 10, "sentence": "She has never seen the sea."},
        {"title": "After", "minutes": 10, "question": QUESTION},
    ],
}


def answer_question(page: Page, option: str) -> None:
    page.locator(".st-key-class-question").get_by_role("button", name=option).click()
    expect(page.get_by_text("Your answer is counted.")).to_be_visible()


def upload(teacher: Page, name: str, content: str) -> None:
    field = teacher.get_by_test_id("stFileUploaderDropzoneInput")
    field.set_input_files({"name": name, "mimeType": "", "buffer": content.encode()})


def test_a_lesson_with_the_teachers_own_sentence_and_question(
    classroom: ClassPages, address: str
) -> None:
    teacher, ann, bob = classroom
    upload(teacher, "page.json", "<script>alert(1)</script>")
    expect(teacher.get_by_text("This is not a lesson plan")).to_be_visible()
    upload(teacher, "plan.json", json.dumps(PLAN))
    expect(teacher.get_by_text("Minutes in all: 45.")).to_be_visible()
    link = teacher.get_by_test_id("stCode").inner_text().strip()
    for page in (ann, bob):
        expect(page.locator(".hu-class-plan")).to_be_hidden()
    next_button = teacher.locator(".hu-class-next")

    next_button.click()
    for page, option in ((ann, "To 8"), (bob, "To 1")):
        answer_question(page, option)
        expect(page.locator(".hu-class-plan summary")).to_have_text(
            "Station 1 of 4: Before · 10 min"
        )
    expect(teacher.locator(".hu-class-plan [role=timer]")).to_have_text(
        re.compile(r"0:\d[1-9] of 10:00 · lesson 0 of 45 min")
    )
    expect(teacher.get_by_role("button", name="Show the code large")).to_be_visible()
    expect(teacher.locator(".hu-rounds")).to_have_count(0)

    next_button.click()
    for page, option in ((ann, 0), (bob, 1)):
        expect(page.locator(".hu-lesson-exhibit")).to_contain_text("My brother lost his key.")
        expect(page.locator(".hu-class-plan")).to_contain_text("Guess alone.")
        page.locator(".hu-lesson-option").nth(option).click()
        expect(page.locator(".hu-lesson")).to_contain_text("Ms Curie will show all answers")
        expect(page.locator(".hu-lesson-answer")).to_have_count(0)
    card = teacher.locator(".hu-lesson")
    expect(card).to_contain_text("2 of 2 answered")
    expect(card.locator(".hu-lesson-option, .hu-lesson-results")).to_have_count(0)
    card.get_by_role("button", name="Show the answers").click()
    for page in classroom:
        expect(page.locator(".hu-lesson-answer")).to_be_visible()
        expect(page.locator(".hu-lesson-results li")).to_contain_text(["· 1", "· 1", "· 0", "· 0"])
    expect(ann.locator(".hu-lesson-answer")).to_contain_text("Not quite. You chose: brother.")
    expect(card).not_to_contain_text("answer so far")  # the teacher has not answered

    next_button.click()
    for page in classroom:
        expect(page.locator(".hu-try textarea").first).to_have_value("She has never seen the sea.")
    next_button.click()
    for page in (ann, bob):
        answer_question(page, "To 1")
    teacher.get_by_role("button", name="Show the answers", exact=True).click()
    for page in classroom:
        expect(page.locator(".hu-rounds tbody tr")).to_have_count(3)
        expect(page.get_by_text("2 students who answered both times: 50% before")).to_be_visible()
        expect(page.get_by_text("They are a softmax.")).to_be_visible()

    follow_link(teacher, "Class")
    with teacher.expect_download() as download:
        teacher.get_by_role("link", name="All answers (.csv)").click()
    table = pd.read_csv(download.value.path(), encoding="utf-8-sig")
    assert [group["votes"].tolist() for _, group in table.groupby("text", sort=False)] == [
        [1, 1, 0, 0],
        [1, 1, 0, 2, 0, 0],
    ]
    assert table["option"][table["is_right"]].tolist() == ["his", "To 1", "To 1"]

    ann.get_by_role("button", name="Stop following").click()
    ann.goto(link.replace(link.partition("/learn")[0], address) + "&sheet=1")
    expect(ann.locator(".hu-sheet")).to_have_count(2)
    expect(ann.locator(".hu-sheet").first).to_contain_text("☐ C: his")
    expect(ann.locator(".hu-sheet").last).to_contain_text("C: his")
    assert len(re.findall(rb"/Type\s*/Page\b", ann.pdf(format="A4"))) == 2
    ann.get_by_role("button", name="Back to the plan").click()
    ann.get_by_role("button", name="To 8").first.click()
    expect(ann.get_by_text("Not quite. The right answer: To 1.")).to_be_visible()
