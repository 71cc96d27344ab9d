"""Console output of a run: few lines in a log, one progress bar on a terminal, the time left."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from transformer.training.console import LOG_INTERVAL_SECONDS, Console


class Clock:
    time = 100.0

    def __call__(self) -> float:
        return self.time


def make_line(step: int, share: float, **values: Any) -> dict[str, Any]:
    return {"step": step, "share": share, "loss": 2.5, "tokens": 300, "seconds": 0.1} | values


def test_log_lines_respect_the_interval(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Console(clock) as console:
        for step in range(1, 1001):
            console(make_line(step, (step - 1) / 1000))
            clock.time += 0.1
    out, log = capsys.readouterr()
    lines = log.splitlines()
    assert out == ""  # progress goes to standard error
    assert "\r" not in log
    assert len(lines) == int(99.9 // LOG_INTERVAL_SECONDS)
    assert lines[0] == " 30.1% step 302, loss 2.500, 3,000 tokens/s, 01:09 left"


def test_time_left_counts_from_this_start(capsys: pytest.CaptureFixture[str]) -> None:
    """Resumed at 40%, the run takes 10 s for each percent: 600 s in all, regardless of the time
    before."""
    clock = Clock()
    with Console(clock) as console:
        for percent in range(40, 80):
            console(make_line(percent, percent / 100))
            clock.time += 10
    time_left = re.findall(r"^ *([\d.]+)% .* ([\d:]+) left$", capsys.readouterr().err, flags=re.M)
    assert len(time_left) > 8
    for percent, text in time_left:
        minutes, seconds = map(int, text.split(":"))
        assert 60 * minutes + seconds == pytest.approx(10 * (100 - float(percent)), abs=1)


def test_terminal_shows_one_progress_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Console() as console:
        for step in range(1, 101):
            console(make_line(step, (step - 1) / 100))
    output = capsys.readouterr().err
    assert "step 100, loss 2.500" in output
    assert output.count("\n") == 1
    assert 1 <= output.count("\r") < 20  # the bar is not redrawn at every step
