"""What a user types or clicks faster than the app responds is not lost."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

from tests.browser.app_pages import navigation
from tests.browser.conftest import NewPage
from tests.live_app import wait_for_script_run, wait_until


def set_exact(page: Page, on: bool) -> None:
    page.get_by_text("Show tokens", exact=True).click()
    wait_until(page, "(on) => location.search.includes('exact=1') === on", on)
    wait_for_script_run(page)


# Figure 1 is an SVG, whose elements have no `click()`.
CLICK_BOTH = """(first, [second, delay]) => {
  const options = { bubbles: true, cancelable: true, composed: true };
  const click = (node) => node.dispatchEvent(new MouseEvent("click", options));
  click(first);
  setTimeout(() => click(second), delay);
}"""


def check_text_typed_before_the_field_is_drawn(page: Page, app: str) -> None:
    # Without these scripts, the browser cannot draw a text field yet.
    held_requests: list[Route] = []
    page.route("**/Text{Area,Input}.*.js", lambda route: held_requests.append(route))
    page.goto(
        f"{app}/research?experiment=attribution&text=She reads.&method=forced&target=Elle lit."
    )
    page.locator(".js-plotly-plot").first.wait_for()
    set_exact(page, on=True)  # reruns the page
    assert held_requests, (
        "Streamlit no longer requests these scripts for the field; hold what it requests instead"
    )
    for route in held_requests:
        route.continue_()
    page.unroute("**/Text{Area,Input}.*.js")
    expect(page.get_by_label("English")).to_have_value("She reads.")
    set_exact(page, on=False)
    expect(page.get_by_label("English")).to_have_value("She reads.")
    assert "text=She+reads." in page.url


def check_a_double_click_on_an_example(page: Page, app: str) -> None:
    page.goto(f"{app}/research?experiment=attribution")
    page.locator(".js-plotly-plot").first.wait_for()
    wait_for_script_run(page)
    field, examples = page.get_by_label("English"), page.get_by_role("radiogroup", name="Examples")
    option = examples.get_by_role("radio", checked=False).first
    text = option.inner_text()
    option.dblclick()
    expect(field).to_have_value(text)
    expect(examples.get_by_role("radio", name=text)).to_be_checked()
    field.fill("She reads.")
    field.press("Enter")
    expect(examples.get_by_role("radio", checked=True)).to_have_count(0)
    wait_for_script_run(page)
    expect(field).to_have_value("She reads.")


def check_the_default_sentence_typed_again(page: Page, app: str) -> None:
    """The browser's next message also has the layer and head that the app set for the example."""
    page.goto(f"{app}/?depth=off&text=She reads.")
    page.locator("[data-head]").first.wait_for()
    wait_for_script_run(page)
    field = page.get_by_label("Your sentence")

    def type_sentence() -> None:
        field.fill("I am a student.")  # the first example, the default of the address
        field.press("Enter")
        wait_until(page, "() => !location.search.includes('text=')", timeout=60)
        wait_for_script_run(page)
        expect(field).to_have_value("I am a student.")

    type_sentence()
    page.get_by_text("She has never seen the sea.").first.click()
    wait_until(page, "() => location.search.includes('the+sea')", timeout=60)
    wait_for_script_run(page)
    type_sentence()


def check_a_choice_just_before_or_after_a_link(page: Page, app: str) -> None:
    """It does not stop the page."""
    for path, choice in (
        ("?depth=heads", ".hu-mosaic [role=radio]"),
        ("inside", ".hu-box"),
        ("inside", ".hu-larger"),
    ):
        for link_is_first, delay_ms in ((True, 0), (True, 40), (False, 150)):
            page.goto(f"{app}/{path}")
            wait_for_script_run(page)
            link = navigation(page).get_by_role("link", name="Glossary")
            clicks = [link.element_handle(), page.locator(choice).last.element_handle()]
            first, second = clicks if link_is_first else reversed(clicks)
            assert first
            first.evaluate(CLICK_BOTH, [second, delay_ms])
            expect(page.get_by_role("heading", level=1)).to_have_text("Glossary")
            wait_for_script_run(page)
            expect(page.get_by_role("heading", level=1)).to_have_text("Glossary")


def check_a_setting_of_the_page_just_after_a_head(page: Page, app: str) -> None:
    page.goto(f"{app}/?depth=heads")
    page.locator(".hu-explorer").wait_for()
    wait_for_script_run(page)
    for head, setting in enumerate(
        (".hu-tools button:has-text('Show tokens')", ".hu-larger"), start=1
    ):
        first = page.locator(".hu-mosaic [role=radio]").nth(head).element_handle()
        assert first
        second = page.locator(setting).first.element_handle()
        first.evaluate(CLICK_BOTH, [second, 100])
        wait_until(page, f"location.search.includes('head={head}')")
        wait_until(page, "location.search.includes('exact=1')")
        expect(page.locator(".hu-title")).to_have_text(f"Layer 1, head {head + 1}")
        wait_for_script_run(page)
    expect(page.locator(".hu-explorer")).to_have_attribute("data-size", "large")
    assert "exact=1" in page.url


def test_a_fast_user_loses_no_text_and_no_click(
    app: str, bundled_app: str, new_page: NewPage
) -> None:
    page = new_page(alone=True)
    check_text_typed_before_the_field_is_drawn(page, app)
    check_a_double_click_on_an_example(page, app)
    check_the_default_sentence_typed_again(page, bundled_app)
    check_a_choice_just_before_or_after_a_link(page, app)
    check_a_setting_of_the_page_just_after_a_head(page, bundled_app)
