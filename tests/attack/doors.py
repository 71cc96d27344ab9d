"""All doors, by name."""

from __future__ import annotations

from tests.attack import clock, given, kills, scarce, twice, typed, uploads
from tests.attack.door import Door, simple

DOORS: dict[str, Door] = {
    "texts": simple(given.texts),
    "links": simple(given.links),
    "checkpoints": simple(given.checkpoints),
    "run folders": simple(given.runs),
    "uploads": Door(uploads.opened, rounds=60),
    "command line": Door(typed.commands, rounds=20, share=2.0),
    "calls": Door(typed.calls),
    "trainers killed": Door(kills.trainers, share=2.0, rounds=4),
    "a full disk": Door(scarce.disk, share=2.0, rounds=4),
    "no memory left": Door(scarce.memory, rounds=6),
    "a clock put back": Door(clock.opened, rounds=30),
    "two servers": Door(twice.opened, share=2.0, rounds=2),
    "servers killed": Door(kills.servers, share=4.0, rounds=3),
}
