"""How far a long command is and what is left of its time, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

from transformer.analysis.corpora.passes import Progress
from transformer.training.console import LINE_EVERY, TimeLeft, log


@contextmanager
def progress_bar(clock: Callable[[], float] = time.monotonic) -> Iterator[Progress]:
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
