"""Time estimates of runs: measured in a separate process with limits, while the page goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import leaks
from transformer.training.estimate import STARTUP_SECONDS, Estimate
from transformer.training.recipe import make_run_config
from transformer.training.run_config import TrainingRun
from transformer.ui.services import shared
from transformer.ui.services.live_jobs import time_estimate


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    limits = tmp_path / "limits.toml"
    limits.write_text("memory = 1000000000\n")
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("HEADS_UP_LIMITS", str(limits))
    yield
    shared.close_all()


def small_run(**settings: Any) -> TrainingRun:
    shape = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16, "steps": 50}
    return make_run_config("reverse", settings={**shape, **settings})


def wait_for_estimate(config: TrainingRun, *pairs: tuple[str, str]) -> Any:
    deadline = time.monotonic() + 120
    while (result := time_estimate(config, pairs)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return result


@pytest.mark.slow
def test_an_estimate_does_not_block_and_is_cached() -> None:
    children, start = leaks.children(), time.monotonic()
    assert time_estimate(small_run()) is None
    assert time.monotonic() - start < 2  # to import torch in another process takes longer
    result = wait_for_estimate(small_run())
    assert isinstance(result, Estimate)
    assert result.steps == 50
    assert result.seconds > STARTUP_SECONDS
    assert time_estimate(small_run()) == result
    repeated = time_estimate(small_run(steps=100))  # known, as a step takes the same time
    assert isinstance(repeated, Estimate)
    assert repeated.seconds - STARTUP_SECONDS == pytest.approx(
        2 * (result.seconds - STARTUP_SECONDS)
    )
    # Training leaves out pairs of 9,000 words, so the estimate must too; twenty of them once took
    # 9 GB.
    pairs_config = make_run_config(
        settings={"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16, "steps": 50}
    )
    assert isinstance(
        wait_for_estimate(pairs_config, *[("word " * 9000, "mot " * 9000)] * 20), Estimate
    )
    (process,) = leaks.children() - children
    assert process.memory_info().rss < 1_000_000_000


@pytest.mark.slow
def test_a_too_large_step_is_rejected_and_the_next_one_measured() -> None:
    large = small_run(d_model=256, n_layers=12, d_ff=1024, batch_tokens=16_384, score="additive")
    result = wait_for_estimate(large)
    assert result.startswith("its time cannot be estimated: ")
    assert result.endswith("; take a smaller model, or a smaller batch")
    assert isinstance(wait_for_estimate(small_run()), Estimate)
