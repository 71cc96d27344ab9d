"""A view is shared by its link, and printed."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.app_pages import TEXT, address
from tests.browser.conftest import NewPage
from tests.browser.explorer_file import bounding_box
from tests.live_app import wait_for_script_run, wait_until


def test_share_copies_the_link_and_a_view_has_its_keys(app: str, new_page: NewPage) -> None:
    page = new_page(alone=True)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{app}/?depth=heads&text=She+hides+the+lamp.&view=heatmap&layer=1&head=0")
    page.locator(".hu-canvas").first.wait_for()
    wait_for_script_run(page)
    page.get_by_role("button", name="Share").click()
    message = page.locator(".hu-link-message")
    expect(message).to_contain_text("Copied a link to All heads, “She hides the lamp.”")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.keyboard.press("Escape")
    expect(message).to_be_hidden()
    # The keys of a view work in the shadow root in which Streamlit mounts it.
    canvas = page.locator(".hu-canvas").first
    canvas.focus()
    page.keyboard.press("h")
    expect(page.locator(".hu-title")).to_have_text("Layer 2, head 2")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(canvas).to_be_focused()


def test_a_printed_page_has_the_view_without_controls(app: str, new_page: NewPage) -> None:
    page = new_page(alone=True)  # the others are not printed
    page.goto(f"{app}/?depth=heads&text=She+hides+the+lamp.&view=heatmap&layer=1&head=0")
    page.locator(".hu-canvas").first.wait_for()
    wait_for_script_run(page)
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".hu-canvas").first).to_be_visible()
    for control in (".st-key-navigation-bar", ".hu-tools", ".hu-tabs", ".stButtonGroup"):
        expect(page.locator(control).first).to_be_hidden()


VIEWS = (
    "view=heads&kind=decoder&layer=1&head=3&heads=1.3,0.2&tokens=q2,k1",
    "view=model&measure=entropy&order=measure",
    "view=heatmap&kind=encoder&layer=1&head=0&combine=mean&exact=1&special=hidden&scale=row",
    "view=query-key&layer=0&head=1&row=2&column=1",
    "view=decoding&layer=0&head=1&step=2&method=beam",
    "view=compare&layer=0&head=1&other=A pilot finds bread.",
)
IN_VIEW = "(new URLSearchParams(location.search).get('view') ?? 'heads') === view"

IN_ADDRESS = """(expected) => {
  const params = new URLSearchParams(location.search);
  return expected.every(([name, value]) => params.get(name) === value);
}"""


def select_another_view_and_return(page: Page, view: str) -> None:
    """Let the browser itself write the address."""
    for key, script in (("ArrowRight", f"!({IN_VIEW})"), ("ArrowLeft", IN_VIEW)):
        page.get_by_role("tab", selected=True).focus()
        page.keyboard.press(key)
        wait_until(page, f"(view) => {script}", view)
        wait_for_script_run(page)


def test_a_link_opens_the_same_view_in_another_browser_and_needs_no_clipboard(
    app: str, new_page: NewPage
) -> None:
    first, second = new_page(), new_page()
    for state in VIEWS:
        expected = dict(part.split("=") for part in state.split("&")) | {"text": TEXT}
        first.goto(f"{app}/?depth=heads&text={TEXT}&{state}")
        expect(first.get_by_role("tab", selected=True)).to_be_visible()
        wait_for_script_run(first)
        select_another_view_and_return(first, expected["view"])
        wait_until(first, IN_ADDRESS, [*(expected.items() - {("view", "heads")})])
        second.goto(first.url)
        expect(second.get_by_role("tab", selected=True)).to_be_visible()
        wait_for_script_run(second)
        assert address(second) == address(first)
        for page in (first, second):
            expect(page.locator(".hu-explorer")).not_to_contain_text("Loading", use_inner_text=True)
        displayed = [page.locator(".hu-explorer").inner_text() for page in (first, second)]
        assert displayed[0] == displayed[1], f"{first.url} shows something else"

    page = new_page(390, alone=True)
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined });")
    message = page.locator(".hu-link-message")
    for has_copy_command in (True, False):
        if not has_copy_command:
            page.add_init_script("document.execCommand = () => false;")
        page.goto(f"{app}/?depth=steps")
        wait_for_script_run(page)
        page.get_by_role("button", name="Share").click()
        if has_copy_command:
            expect(message).to_contain_text("Copied a link to Step by step")
        else:
            expect(message.get_by_label("The link")).to_have_value(page.url)
            assert message.evaluate("() => document.activeElement !== document.body")
        box = bounding_box(message)
        assert 0 <= box["x"] <= 390 - box["width"]
