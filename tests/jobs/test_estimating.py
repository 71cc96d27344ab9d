"""A run's time, measured in a process beside the app: bounded, and never waited for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from tests import leaks
from transformer.jobs.estimating import Estimating
from transformer.training.estimate import PREPARING, Estimate
from transformer.training.recipe import describe

GB = 1_000_000_000
Make = Callable[..., Estimating]


@pytest.fixture
def estimating() -> Iterator[Make]:
    made: list[Estimating] = []

    def make(**given: Any) -> Estimating:
        made.append(Estimating(**({"memory": GB, "nice": 0} | given)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def small(**settings: Any) -> dict[str, Any]:
    shape = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16, "steps": 50}
    return describe("reverse", settings={**shape, **settings})


def known(estimates: Estimating, config: dict[str, Any], *pairs: tuple[str, str]) -> Any:
    deadline = time.monotonic() + 90
    while (found := estimates.look(config, pairs)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def test_nobody_waits_for_it_and_it_is_known_from_then_on(estimating: Make) -> None:
    estimates = estimating()
    began = time.monotonic()
    assert estimates.look(small()) is None
    assert time.monotonic() - began < 1  # torch alone takes longer to start in the other process
    found = known(estimates, small())
    assert isinstance(found, Estimate)
    assert found.steps == 50
    assert found.seconds > PREPARING
    assert estimates.look(small()) == found
    twice = estimates.look(small(steps=100))  # the same step
    assert twice is not None
    assert twice.seconds - PREPARING == pytest.approx(2 * (found.seconds - PREPARING))


def test_a_line_of_nine_thousand_words_costs_no_more_than_a_line_that_is_trained_on(
    estimating: Make,
) -> None:
    """It is left out of the training, and so of the estimate: the server took 9 GB for twenty."""
    estimates = estimating()
    own = describe(settings={"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16, "steps": 50})
    assert estimates.look(own, [("word " * 9000, "mot " * 9000)] * 20) is None
    found = known(estimates, own, *[("word " * 9000, "mot " * 9000)] * 20)
    assert isinstance(found, Estimate)
    (process,) = leaks.children()
    assert process.memory_info().rss < GB


@pytest.mark.skipif(sys.platform != "linux", reason="the system holds no process to a limit")
def test_a_step_that_is_too_large_is_refused_and_the_next_one_measured(estimating: Make) -> None:
    estimates = estimating()
    large = small(d_model=256, n_layers=12, d_ff=1024, batch_tokens=16_384, score="additive")
    found = known(estimates, large)
    assert found.startswith("a step needs more than the 1.0 GB of memory that a run may take here")
    assert isinstance(known(estimates, small()), Estimate)


def test_a_step_that_does_not_end_is_ended(estimating: Make) -> None:
    estimates = estimating(memory=8 * GB, seconds=1)
    found = known(estimates, small(d_model=256, n_layers=12, d_ff=1024, batch_tokens=16_384))
    assert found.startswith("its time cannot be told: a step takes too long here")
    assert not leaks.children()


def test_a_killed_process_is_replaced(estimating: Make) -> None:
    estimates = estimating()
    known(estimates, small())
    (process,) = leaks.children()
    process.kill()
    process.wait()
    assert not psutil.pid_exists(process.pid)
    assert isinstance(known(estimates, small(d_ff=24)), Estimate)


def test_what_nobody_asks_for_any_more_is_dropped(
    estimating: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformer.jobs.estimating.FORGOTTEN", 0.5)
    estimates = estimating()
    for d_ff in range(8, 88, 8):  # clicked through and left; the first takes seconds to start
        estimates.look(small(d_ff=d_ff))
    deadline = time.monotonic() + 60
    while estimates._wanted and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not estimates._wanted
    assert len(estimates._known) <= 2


def test_a_wrong_setting_is_said_at_once(estimating: Make) -> None:
    config = small()
    config["model"]["n_heads"] = 3
    with pytest.raises(ValueError, match="n_heads"):
        estimating().look(config)
