"""Progress of runs and other long commands: a bar on a terminal, else lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

from tqdm import tqdm

from transformer.text.visible import escape_controls

LOG_INTERVAL_SECONDS = 30.0  # seconds between two lines, if standard error is not a terminal


def log(text: str) -> None:
    """Print a sentence for the user to standard error, with control characters escaped."""
    print(escape_controls(text), file=sys.stderr, flush=True)


class TimeLeft:
    """Estimates the remaining time from the progress since the first call.

    Called with the progress, 0 to 1; returns hours, minutes and seconds, or "?" at first.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.start: tuple[float, float] | None = None  # time and progress of the first call

    def __call__(self, progress: float) -> str:
        now = self.clock()
        first_time, first_progress = self.start = self.start or (now, progress)
        if progress <= first_progress:
            return "?"
        return tqdm.format_interval(
            (1 - progress) * (now - first_time) / (progress - first_progress)
        )


class Console(AbstractContextManager["Console"]):
    """Shows a training run: called with each line of metrics.jsonl, in a `with` block.

    Tokens/s counts source and target without padding. The remaining time assumes that the run
    takes all its steps.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.bar: tqdm[NoReturn] | None = None  # created at the first step
        self.speed = 0.0
        self.valid = ""
        self.last_evaluation: Mapping[str, Any] = {}
        self.left = TimeLeft(clock)
        self.reported_at = clock() - LOG_INTERVAL_SECONDS

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()
        if self.last_evaluation:
            figures = ", ".join(
                f"{name.replace('_', ' ')} {value:.4g}"
                for name, value in self.last_evaluation.items()
                if isinstance(value, float) and name not in ("elapsed", "share")
            )
            log(f"last evaluation, step {self.last_evaluation['step']:,}: {figures}")

    def __call__(self, line: Mapping[str, Any]) -> None:
        if "valid_loss" in line:
            self.valid = f", valid {line['valid_loss']:.3f}"
            self.last_evaluation = line
            return
        now, progress = self.clock(), float(line["share"])
        speed = line["tokens"] / line["seconds"]
        self.speed = 0.95 * self.speed + 0.05 * speed if self.speed else speed
        text = (
            f"step {line['step']:,}, loss {line['loss']:.3f}{self.valid}, "
            f"{self.speed:,.0f} tokens/s, {self.left(progress)} left"
        )
        if sys.stderr.isatty():
            self._draw(progress, text)
        elif now - self.reported_at >= LOG_INTERVAL_SECONDS:
            self.reported_at = now
            log(f"{100 * progress:5.1f}% {text}")

    def _draw(self, progress: float, text: str) -> None:
        if self.bar is None:
            self.bar = tqdm(
                total=1.0,
                bar_format="{percentage:5.1f}% {bar:20} {desc}",
                mininterval=0.5,
                dynamic_ncols=True,
            )
        self.bar.set_description_str(text, refresh=False)
        self.bar.update(progress - self.bar.n)


@contextmanager
def progress_bar(
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[float, str], None]]:
    """Show progress as a bar on a terminal, else as one line every `LOG_INTERVAL_SECONDS`.

    Yields a function that takes the progress, 0 to 1, and the name of the current stage.
    """
    bar_format = "{desc} {percentage:3.0f}% |{bar}| {elapsed}{postfix}"
    time_left, reported_at = TimeLeft(clock), clock()
    with tqdm(total=1.0, bar_format=bar_format, file=sys.stderr, disable=None) as bar:

        def report(progress: float, stage: str) -> None:
            nonlocal reported_at
            text = f"{time_left(progress)} left"
            bar.set_description_str(stage, refresh=False)
            bar.set_postfix_str(text, refresh=False)
            bar.update(progress - bar.n)
            if bar.disable and clock() - reported_at >= LOG_INTERVAL_SECONDS:
                reported_at = clock()
                log(f"{100 * progress:5.1f}% {stage}, {text}")

        yield report
