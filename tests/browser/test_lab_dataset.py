"""A visitor's file, from the upload to the dataset in their hands."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import FilePayload, Page, expect

from benchmarks.browser import settled
from tests.browser.conftest import NewPage
from tests.browser.test_app import wait_for_address

pytestmark = pytest.mark.browser

LINES = [f"The baker sells {number} books." for number in range(40)]


def bring(page: Page, name: str, text: str) -> None:
    file = FilePayload(name=name, mimeType="text/plain", buffer=text.encode())
    page.locator("input[type=file]").set_input_files(file)


def test_a_file_is_brought_traced_and_taken_away(app: str, page: Page, tmp_path: Path) -> None:
    page.goto(f"{app}/lab?lab=dataset&corpus=upload&traced=c1.2")
    expect(page.get_by_text("Encoder–decoder, layer 2, head 3")).to_have_count(0)
    bring(page, "mine.txt", "Fine.\n\nBooks.\n")
    expect(page.get_by_text("mine.txt, line 2: there is no sentence")).to_be_visible()
    bring(page, "mine.txt", "\n".join(LINES))
    expect(page.get_by_text("mine.txt: 40 sentences")).to_be_visible()
    expect(page.get_by_text("Encoder–decoder, layer 2, head 3")).to_be_visible()
    page.get_by_role("button", name="Trace them all").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    taken = page.get_by_role("button", name="Take the dataset")
    expect(taken).to_be_visible()
    settled(page)
    wait_for_address(page, "/lab", lab="dataset", corpus="upload", traced="c1.2")
    with page.expect_download() as download:
        taken.click()
    assert download.value.suggested_filename == "dataset-tiny-mine-txt.zip"
    download.value.save_as(tmp_path / "taken.zip")
    with zipfile.ZipFile(tmp_path / "taken.zip") as packed:
        assert packed.testzip() is None
        packed.extractall(tmp_path)
    said = pd.read_parquet(tmp_path / "translations.parquet")
    assert said["source"].tolist() == LINES
    with np.load(tmp_path / "weights.npz", allow_pickle=False) as stored:
        shapes = stored["cross.shapes"]
        assert shapes.tolist() == [
            [len(line.tokens), len(line.src_tokens)] for line in said.itertuples()
        ]
        assert len(stored["c1.2"]) == shapes.prod(axis=1).sum()


def test_a_telephone_in_the_dark_has_it_whole(app: str, new_page: NewPage) -> None:
    page = new_page(390, "dark")
    page.goto(f"{app}/lab?lab=dataset&sentences=3")
    page.get_by_role("button", name="Trace them all").click()
    expect(page.get_by_role("button", name="Take the dataset")).to_be_visible()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
