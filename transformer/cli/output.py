"""What the commands write as their result; `training.console.log` has the words beside it."""

from __future__ import annotations

import sys

from transformer.text.visible import shown


def result(text: str, end: str = "\n") -> None:
    """To standard output, at once. On a terminal nothing of it steers the terminal; a file or
    another program gets it as it is."""
    print(shown(text) if sys.stdout.isatty() else text, end=end, flush=True)
