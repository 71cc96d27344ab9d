"""All doors, by name."""

from __future__ import annotations

from tests.attack import classes, clock, full, given, kills, memory, messages, twice, typed, uploads
from tests.attack.door import Door, simple

DOORS: dict[str, Door] = {
    "texts": simple(given.texts, share=0.5),
    "links": simple(given.links, share=0.5),
    "checkpoints": simple(given.checkpoints, share=0.5),
    "folders of others": simple(given.folders_of_others),
    "classes": simple(classes.classes),
    "traces": simple(given.traces, share=0.5),
    "run folders": simple(given.runs, share=0.5),
    "uploads": Door(uploads.opened, rounds=40),
    "messages": Door(messages.opened, share=2.0, rounds=15),
    "command line": Door(typed.commands, share=2.0, rounds=10),
    "calls": Door(typed.calls, share=0.5),
    "trainers killed": Door(kills.trainers, share=6.0, rounds=4),
    "servers killed": Door(kills.servers, share=4.0, rounds=1),
    "two servers": Door(twice.opened, share=2.0, rounds=2),
    "a full disk": Door(full.opened, share=2.0, rounds=4),
    "no memory left": Door(memory.opened, rounds=5),
    "a clock put back": Door(clock.opened, rounds=20),
}
