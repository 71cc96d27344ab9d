"""Views saved in the browser with notes: save, list, export, import."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app_pages import wait_for_address
from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser

NOTE = 'Look at <b>lamp</b> & "hides" <img src=x onerror="document.title=\'stolen\'">'


def open_dialog(page: Page) -> Locator:
    page.get_by_role("button", name="Saved", exact=True).click()
    dialog = page.get_by_role("dialog", name="Saved views")
    expect(dialog).to_be_visible()
    return dialog


def test_views_are_saved_exported_and_imported_without_links_to_other_sites(
    app: str, new_page: NewPage, tmp_path: Path, page: Page
) -> None:
    page = new_page()
    page.goto(f"{app}/?depth=heads&text=She+hides+the+lamp.&view=heatmap&layer=1&head=0")
    dialog = open_dialog(page)
    expect(dialog).to_contain_text("There are no saved views yet.")
    dialog.get_by_role("button", name="Save this view").click()
    expect(dialog.get_by_label("Name of the view")).to_have_value(
        "All heads, “She hides the lamp.”, layer 2, head 1"
    )
    page.keyboard.type(NOTE)  # the note has the focus
    page.goto(f"{app}/glossary")
    dialog = open_dialog(page)
    expect(dialog.get_by_role("textbox", name="Note on")).to_have_value(NOTE)
    dialog.get_by_role("button", name="Save this view").click()
    expect(dialog.get_by_label("Name of the view")).to_have_count(2)

    with page.expect_download() as download:
        dialog.get_by_role("button", name="Export as JSON").click()
    download.value.save_as(tmp_path / "views.json")
    exported = json.loads((tmp_path / "views.json").read_text("utf-8"))
    assert [saved["page"] for saved in exported["views"]] == ["glossary", ""]
    with page.expect_download() as download:
        dialog.get_by_role("button", name="Export as HTML").click()
    download.value.save_as(tmp_path / "views.html")

    for _ in range(2):
        dialog.get_by_role("button", name="Remove: ").first.click()
    expect(dialog).to_contain_text("There are no saved views yet.")
    with page.expect_file_chooser() as chooser:
        dialog.get_by_role("button", name="Import JSON …").click()
    chooser.value.set_files(tmp_path / "views.json")
    expect(dialog).to_contain_text("2 views opened.")
    dialog.get_by_role("link", name="Open: All heads").click()
    wait_for_address(
        page, "/", depth="heads", text="She hides the lamp.", view="heatmap", layer="1", head="0"
    )

    page.goto((tmp_path / "views.html").as_uri())
    expect(page).to_have_title("Views of Heads Up")
    expect(page.locator("img, b")).to_have_count(0)
    expect(page.locator("li p")).to_have_text(NOTE)
    expect(page.get_by_role("link", name="All heads, “She")).to_have_attribute(
        "href", f"{app}/?depth=heads&text=She+hides+the+lamp.&view=heatmap&layer=1&head=0"
    )

    view = {"query": "", "title": "x", "note": "", "day": "", "page": "javascript:alert(1)"}
    invalid_list = tmp_path / "views.json"
    invalid_list.write_text(
        json.dumps({"format": "heads-up views 1", "views": [view]}), encoding="utf-8"
    )
    page.goto(f"{app}/glossary")
    dialog = open_dialog(page)
    with page.expect_file_chooser() as chooser:
        dialog.get_by_role("button", name="Import JSON …").click()
    chooser.value.set_files(invalid_list)
    expect(dialog).to_contain_text("View 1 of this list belongs to a page that this app does not")
    expect(dialog.get_by_role("link", name="Open: x")).to_have_count(0)
