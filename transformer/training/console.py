"""Progress of runs and other long commands: a bar on a terminal, else lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from tqdm import tqdm

from transformer.text.visible import escape_controls

LOG_INTERVAL_SECONDS = 30.0  # seconds between two lines, if standard error is not a terminal


def log(text: str) -> None:
    """Print a sentence for the user to standard error, with control characters escaped; nothing if
    the terminal was closed, so that a run can still save."""
    with suppress(OSError):
        print(escape_controls(text), file=sys.stderr, flush=True)


class Console(AbstractContextManager["Console"]):
    """Shows a training run: called with each line of metrics.jsonl, in a `with` block.

    Tokens/s counts source and target without padding. The remaining time assumes that the run
    takes all its steps.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._bar = progress_bar(clock)
        self._speed = 0.0
        self._valid = ""
        self._last_evaluation: Mapping[str, Any] = {}

    def __enter__(self) -> Console:
        self._report = self._bar.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._bar.__exit__(*exception)
        if self._last_evaluation:
            figures = ", ".join(
                f"{name.replace('_', ' ')} {value:.4g}"
                for name, value in self._last_evaluation.items()
                if isinstance(value, float) and name not in ("elapsed", "share")
            )
            log(f"last evaluation, step {self._last_evaluation['step']:,}: {figures}")

    def __call__(self, line: Mapping[str, Any]) -> None:
        if "valid_loss" in line:
            self._valid = f", valid {line['valid_loss']:.3f}"
            self._last_evaluation = line
            return
        speed = line["tokens"] / line["seconds"]
        self._speed = 0.95 * self._speed + 0.05 * speed if self._speed else speed
        self._report(
            float(line["share"]),
            f"step {line['step']:,}, loss {line['loss']:.3f}{self._valid}, "
            f"{self._speed:,.0f} tokens/s",
        )


@contextmanager
def progress_bar(
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[float, str], None]]:
    """Show progress as a bar on a terminal, else as one line every `LOG_INTERVAL_SECONDS`.

    Yields a function that takes the progress, 0 to 1, and the name of the current stage. The time
    left is estimated from the progress since its first call.
    """
    bar_format = "{desc} {percentage:3.0f}% |{bar:20}| {elapsed}{postfix}"
    start: tuple[float, float] | None = None  # time and progress of the first call
    reported_at = clock()
    with tqdm(
        total=1.0,
        bar_format=bar_format,
        mininterval=0.5,
        file=sys.stderr,
        disable=None,
        dynamic_ncols=True,
    ) as bar:

        def report(progress: float, stage: str) -> None:
            nonlocal reported_at, start
            now = clock()
            first_time, first_progress = start = start or (now, progress)
            text = "? left"
            if progress > first_progress:
                seconds = (1 - progress) * (now - first_time) / (progress - first_progress)
                text = f"{tqdm.format_interval(seconds)} left"
            bar.set_description_str(stage, refresh=False)
            bar.set_postfix_str(text, refresh=False)
            bar.update(progress - bar.n)
            if bar.disable and now - reported_at >= LOG_INTERVAL_SECONDS:
                reported_at = now
                log(f"{100 * progress:5.1f}% {stage}, {text}")

        yield report
