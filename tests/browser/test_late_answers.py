"""The picture equals the address, also when the server answers late or in another order."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

from tests.browser.app_pages import open_depth
from tests.browser.conftest import NewPage
from tests.browser.home_page import open_home, tile
from tests.live_app import wait_for_script_run, wait_until

SENTENCE = "I sleep."
ALTERNATIVES_MS = 600
"""Longer than a page waits before it requests the alternatives of a translation."""


def hold(page: Page, kind: str, content: str = "") -> list[Route]:
    """Return a list of the requests of this kind with this content, which get no answer."""
    held: list[Route] = []

    def hold_or_send(route: Route) -> None:
        if content in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route(f"**/api/ask/{kind}", hold_or_send)
    return held


def send(page: Page, held: list[Route]) -> None:
    for route in held:
        route.continue_()
    page.unroute_all()


def check_another_answer_first(page: Page, app: str) -> None:
    """The facts about the model arrive while the translation without a head is awaited."""
    facts, translations = hold(page, "load"), hold(page, "glance", "c0.1")
    open_home(page, app)
    page.locator('.hu-strip [data-head="c0.1"]').click()
    wait_until(page, "location.search.includes('off=c0.1')")
    facts.pop().continue_()
    page.wait_for_timeout(ALTERNATIVES_MS)
    send(page, translations)
    expect(page.locator(".hu-strip-effect")).to_contain_text("the translation is")
    page.wait_for_timeout(ALTERNATIVES_MS)
    expect(page.locator('.hu-strip [data-head="c0.1"]')).to_have_attribute("aria-checked", "false")


def check_another_depth_first(page: Page, app: str) -> None:
    """The visitor returns to the bands, whose last request was never answered."""
    open_home(page, app)
    held = hold(page, "glance", SENTENCE)
    page.get_by_label("English").fill(SENTENCE)
    wait_until(page, "location.search.includes('I+sleep')")
    open_depth(page, "Switch off")
    open_depth(page, "Bands")
    send(page, held)
    expect(tile(page, 1, "first")).to_have_text("sleep.")


def check_an_erased_sentence(page: Page, app: str) -> None:
    """The depths without bands say why nothing is translated, too."""
    page.goto(f"{app}/?depth=steps&text={SENTENCE}")
    page.locator(".hu-steps").wait_for()
    page.get_by_label("English").fill("")
    expect(page.get_by_text("Type a few words to translate.")).to_be_visible()

    # The bands below the empty field become those of the address.
    open_home(page, app)
    held = hold(page, "glance", SENTENCE)
    with page.expect_request(lambda request: SENTENCE in (request.post_data or "")):
        page.get_by_label("English").fill(SENTENCE)
    page.get_by_label("English").fill("")
    send(page, held)
    expect(tile(page, 1, "first")).to_have_text("sleep.")
    expect(page.get_by_label("English")).to_have_value("")
    expect(page.get_by_text("Type a few words to translate.")).to_be_visible()


def check_going_back_while_a_text_is_translated(page: Page, app: str) -> None:
    open_home(page, app, f"?text={SENTENCE}")
    open_depth(page, "Step by step")
    open_depth(page, "Bands")
    held = hold(page, "glance", "She reads.")
    with page.expect_request(lambda request: "She reads." in (request.post_data or "")):
        page.get_by_label("English").fill("She reads.")
    page.go_back()
    expect(page.locator(".hu-steps")).to_be_visible()
    expect(page.get_by_label("English")).to_have_value(SENTENCE)
    send(page, held)
    page.go_forward()
    expect(tile(page, 1, "first")).to_have_text("reads.")
    expect(page.get_by_label("English")).to_have_value("She reads.")


def check_a_pressed_button_while_an_answer_arrives(page: Page, app: str) -> None:
    """The card of a lesson is drawn again between the press and the release of the mouse."""
    held = hold(page, "case")
    with page.expect_request("**/api/ask/case"):
        page.goto(f"{app}/learn?lesson=meeting")
    card = page.locator(".hu-lesson")
    expect(card).to_contain_text("Lesson 4")
    card.get_by_role("button", name="Skip").hover()
    page.mouse.down()
    send(page, held)
    card.locator(".hu-lesson-option").first.wait_for()
    card.get_by_role("button", name="Skip").hover()  # the picture of the question has moved it
    page.mouse.up()
    expect(card).to_contain_text("Lesson 5")


ARROWS_AND_BACK = """(node) => {
  node.focus();
  for (let step = 0; step < 3; step++) {
    node.getRootNode().activeElement.dispatchEvent(
      new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, composed: true }),
    );
  }
  history.back();
}"""
REPORT_MS = 500
"""Longer than the explorer waits before it writes the last of several changes into the address."""


def check_going_back_from_a_head(page: Page, app: str) -> None:
    """The last of several arrow keys is not written into the address of the page before."""
    page.goto(f"{app}/?depth=steps&text={SENTENCE}&layer=0&head=0")
    page.locator(".hu-steps").wait_for()
    open_depth(page, "All heads")
    selected = page.locator(".hu-mosaic [tabindex='0']").first
    selected.wait_for()
    before = page.evaluate("location.search")
    selected.evaluate(ARROWS_AND_BACK)
    expect(page.locator(".hu-steps")).to_be_visible()
    page.wait_for_timeout(REPORT_MS)
    assert "layer=0&head=0" in page.evaluate("location.search"), before


def check_a_pinned_word_while_typing(page: Page, app: str) -> None:
    """A pinned word stays while the sentence around it changes, and goes with the word itself."""
    page.goto(f"{app}/?depth=heads&text={SENTENCE}")
    page.locator(".hu-pinword", has_text="sleep").click()
    pressed = page.locator(".hu-pinword[aria-pressed=true]")
    for text, pinned in (("I sleep well.", "sleep"), ("I read well.", "")):
        page.locator(".hu-glance textarea").fill(text)
        expect(page.locator(".hu-pins")).to_contain_text(text.split()[1])
        expect(page.locator(".hu-pins")).to_contain_text("well")
        expect(pressed).to_have_text([pinned] if pinned else [])


def check_two_pages_at_once(page: Page, app: str) -> None:
    """The last of two links is followed, also if it is that of the page that is still open."""
    open_home(page, app)
    page.locator(".hu-pages").evaluate(
        """(links) => {
          for (const page of ["glossary", ""]) links.querySelector(`[data-page="${page}"]`).click();
        }"""
    )
    page.wait_for_timeout(2000)
    wait_for_script_run(page)
    expect(page.locator(".hu-pages a[aria-current]")).to_have_text("Try")
    expect(page.get_by_label("English")).to_be_visible()
    link = '.hu-pages [data-page="inside"]'
    for pause in (0, 100, 200, 300):
        open_home(page, app)
        page.locator(link).click()
        page.wait_for_timeout(pause)
        page.locator(link).evaluate("(link) => link.click()")
        page.wait_for_timeout(1000)
        wait_for_script_run(page)
        expect(page.locator(".hu-pages a[aria-current]")).to_have_text("Look inside")


def test_the_picture_equals_the_address(bundled_app: str, new_page: NewPage) -> None:
    page = new_page(alone=True)
    check_another_answer_first(page, bundled_app)
    check_another_depth_first(page, bundled_app)
    check_an_erased_sentence(page, bundled_app)
    check_going_back_while_a_text_is_translated(page, bundled_app)
    check_a_pressed_button_while_an_answer_arrives(page, bundled_app)
    check_going_back_from_a_head(page, bundled_app)
    check_a_pinned_word_while_typing(page, bundled_app)
    check_two_pages_at_once(page, bundled_app)
