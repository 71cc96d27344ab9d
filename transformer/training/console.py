"""A run as people watch it, and what else takes long: a bar on a terminal, else a line in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

from tqdm import tqdm

from transformer.text.visible import shown

LINE_EVERY = 30.0  # seconds, where standard error is no terminal


def log(text: str) -> None:
    """A sentence for the user, in which nothing steers the terminal; standard output stays free for
    results."""
    print(shown(text), file=sys.stderr, flush=True)


class TimeLeft:
    """Called with the share that is done: what the share done since the first call took, carried on
    to the whole, as hours, minutes and seconds; "?" at first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.start: tuple[float, float] | None = None  # time and share of the first call

    def __call__(self, share: float) -> str:
        now = self.clock()
        began, from_share = self.start = self.start or (now, share)
        if share <= from_share:
            return "?"
        return tqdm.format_interval((1 - share) * (now - began) / (share - from_share))


class Console(AbstractContextManager["Console"]):
    """Called with each line of metrics.jsonl; use it in a `with` block, which ends the bar.

    Tokens/s counts source and target, padding not. The time left is that of this start; an early
    stop comes sooner.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.bar: tqdm[NoReturn] | None = None  # made when there is something to show
        self.speed = 0.0
        self.valid = ""
        self.left = TimeLeft(clock)
        self.reported_at = clock() - LINE_EVERY

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def __call__(self, line: Mapping[str, Any]) -> None:
        if "valid_loss" in line:
            self.valid = f", valid {line['valid_loss']:.3f}"
            return
        now, share = self.clock(), float(line["share"])
        speed = line["tokens"] / line["seconds"]
        self.speed = 0.95 * self.speed + 0.05 * speed if self.speed else speed
        text = (
            f"step {line['step']:,}, loss {line['loss']:.3f}{self.valid}, "
            f"{self.speed:,.0f} tokens/s, {self.left(share)} left"
        )
        if sys.stderr.isatty():
            self._draw(share, text)
        elif now - self.reported_at >= LINE_EVERY:
            self.reported_at = now
            log(f"{100 * share:5.1f}% {text}")

    def _draw(self, share: float, text: str) -> None:
        if self.bar is None:
            self.bar = tqdm(
                total=1.0,
                bar_format="{percentage:5.1f}% {bar:20} {desc}",
                mininterval=0.5,
                dynamic_ncols=True,
            )
        self.bar.set_description_str(text, refresh=False)
        self.bar.update(share - self.bar.n)


@contextmanager
def progress_bar(
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[float, str], None]]:
    """A bar, if standard error is a terminal; else a line every half minute, and none of what ends
    before that."""
    form = "{desc} {percentage:3.0f}% |{bar}| {elapsed}{postfix}"
    left, reported_at = TimeLeft(clock), clock()
    with tqdm(total=1.0, bar_format=form, file=sys.stderr, disable=None) as bar:

        def progress(share: float, stage: str) -> None:
            nonlocal reported_at
            text = f"{left(share)} left"
            bar.set_description_str(stage, refresh=False)
            bar.set_postfix_str(text, refresh=False)
            bar.update(share - bar.n)
            if bar.disable and clock() - reported_at >= LINE_EVERY:
                reported_at = clock()
                log(f"{100 * share:5.1f}% {stage}, {text}")

        yield progress
