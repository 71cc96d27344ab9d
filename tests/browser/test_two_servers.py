"""Two servers of pages over one folder of runs, as behind a balancer that keeps each visitor."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from benchmarks.browser import served
from tests.browser.conftest import NewPage
from tests.browser.test_train import badge, begin, button, stop
from transformer.training.run import RunFolder

pytestmark = pytest.mark.browser


def test_a_run_outlives_its_server_and_is_its_visitors_on_the_other(
    checkpoints: Path, tmp_path: Path, new_page: NewPage
) -> None:
    runs = tmp_path / "runs"
    with (
        served(checkpoints, HEADS_UP_RUNS=str(runs)) as (first, leaving),
        served(checkpoints, HEADS_UP_RUNS=str(runs)) as (second, _),
    ):
        page, stranger = new_page(), new_page()
        name = begin(page, first, 20_000)
        expect(badge(page, "running")).to_be_visible()
        stranger.goto(f"{second}/train?run={name}")
        expect(stranger.get_by_text("Someone else's run")).to_be_visible()
        page.goto(f"{second}/train?run={name}")  # the cookie is the domain's, not the server's
        expect(badge(page, "running")).to_be_visible()
        expect(button(page, "Stop")).to_be_visible()
        leaving.terminate()
        leaving.wait(60)
        saved = RunFolder(runs / name).state()["step"]
        expect(badge(page, "running")).to_be_visible()
        stop(page)
        expect(badge(stranger, "cancelled")).to_be_visible()
        assert RunFolder(runs / name).state()["step"] >= saved
        for one in (page, stranger):
            one.goto("about:blank")  # before the server goes, which a page would complain of
