"""All doors, by name."""

from __future__ import annotations

from tests.attack import given, typed, uploads
from tests.attack.door import Door, simple

DOORS: dict[str, Door] = {
    "texts": simple(given.texts),
    "links": simple(given.links),
    "checkpoints": simple(given.checkpoints),
    "run folders": simple(given.runs),
    "uploads": Door(uploads.opened, rounds=60),
    "command line": Door(typed.commands, rounds=20),
    "calls": Door(typed.calls),
}
