"""The site without a server: written whole, opened from a disk, guessed and looked into."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from transformer.house import HOUSE
from transformer.ui import models
from transformer.ui.lessons import course
from transformer.ui.site import write_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(models.FOLDER, str(HOUSE / "checkpoints"))
        patch.setenv("HEADS_UP_RUNS", str(out.parent / "runs"))
        write_site(out)
    return out


def test_a_step_is_guessed_and_looked_into(site: Path, new_page: NewPage) -> None:
    page = new_page()
    page.goto((site / "index.html").as_uri())
    page.get_by_role("link", name="Begin: Whose umbrella?").click()
    wrong = page.locator("details", has_text="Not this one").first
    wrong.locator("summary").click()
    expect(wrong).to_have_attribute("open", "")
    right = page.locator("details", has_text="✓ Right")
    right.locator("summary").click()
    expect(wrong).not_to_have_attribute("open", "")  # one guess at a time
    page.get_by_text("Look: the answer").click()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("tab", name="Heads", exact=True)).to_be_visible()
    expect(frame.get_by_text("Strongest first")).to_be_visible()
    page.get_by_role("navigation", name="Steps").get_by_role("link").last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Attention is shared out")


def test_every_link_leads_to_a_page_and_none_outside(site: Path, new_page: NewPage) -> None:
    page = new_page(390, "dark")
    steps = [*(site / "lessons").iterdir()]
    assert {path.stem for path in steps} == {lesson.name for lesson in course.LESSONS}
    for path in (site / "index.html", *steps):
        page.goto(path.as_uri())
        targets = "nodes => nodes.map((node) => node.href ?? node.src)"
        for target in page.eval_on_selector_all("a, iframe, link", targets):
            assert Path(target.removeprefix("file://")).is_file(), (path.name, target)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path.name
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"


def test_a_film_plays_from_its_first_step(site: Path, new_page: NewPage) -> None:
    page = new_page()
    page.goto((site / "films" / "toy-reverse.html").as_uri())
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_nothing_is_written_over_and_nothing_stays_of_what_fails(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileExistsError, match="is there already; give another name"):
        write_site(site)
    monkeypatch.setenv(models.FOLDER, str(tmp_path / "none"))
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path / "runs"))
    with pytest.raises(ValueError, match=r"there is no checkpoint in .*none that translates"):
        write_site(tmp_path / "site")
    assert not (tmp_path / "site").exists()

    def broken(*_: object) -> str:
        raise RuntimeError("half way")

    monkeypatch.setenv(models.FOLDER, str(HOUSE / "checkpoints"))
    monkeypatch.setattr("transformer.ui.site.writing.index_page", broken)
    with pytest.raises(RuntimeError, match="half way"):
        write_site(tmp_path / "site")
    assert not [path for path in tmp_path.iterdir() if path.name != "runs"]
