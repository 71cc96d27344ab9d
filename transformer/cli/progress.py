"""How far a pass over a corpus is, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from transformer.analysis.passes import Progress


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar, if standard error is a terminal."""
    form = "{desc}: {percentage:3.0f}% |{bar}| {elapsed}"
    with tqdm(total=1.0, bar_format=form, file=sys.stderr, disable=None) as bar:

        def progress(share: float, doing: str) -> None:
            bar.set_description_str(doing, refresh=False)
            bar.update(share - bar.n)

        yield progress
