"""Classes: tokens, codes and names that are typed, by anybody and in any order."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.attack.hostile import BITS, text, told
from transformer.classroom import Classes, Classroom, ClassroomError
from transformer.classroom.codes import MAX_NAME_LENGTH
from transformer.ui.shell.registry import BY_PATH, CLASS, PAGES, make_view, parse_params
from transformer.ui.widgets.frame import plain

TOKEN, CLASSES, MEMBERS = "a token nobody types", 3, 4
VISITORS = ("", "ann", "bob", "cleo", "dan", "eve", "fay", "teacher", "colleague")


def classes(chance: random.Random, folder: Path) -> None:
    """A morning of a few classes: whatever is typed is done, or refused in a sentence."""
    clock = [0.0]
    found = Classes(TOKEN, CLASSES, MEMBERS, clock=lambda: clock[0])
    for _ in range(60):
        clock[0] += chance.choice((0, 0, 1, 700, 4 * 3600))
        try:
            _act(chance, found)
        except ClassroomError as error:
            told(error)
        _holds(found)
    found.close()
    assert not len(found)
    assert not any(found.class_of(visitor) for visitor in VISITORS)


def _act(chance: random.Random, found: Classes) -> None:
    visitor, address = chance.choice(VISITORS), chance.choice(("", "A", "B"))
    rooms = [*found._by_code.values()]
    codes = [room.code for room in rooms] or [""]
    mine = found.class_of(visitor)
    ways: list[Callable[[], Any]] = [
        lambda: found.join(chance.choice([*codes, text(chance)]), visitor, address, _name(chance)),
        lambda: found.open(chance.choice((TOKEN, text(chance))), visitor, address, _name(chance)),
        lambda: found.leave(visitor),
        lambda: found.end(visitor),
    ]
    if mine:
        ways += [
            lambda: _led(chance, mine),
            lambda: mine.answer(visitor, text(chance), chance.randrange(-1, 5)),
            lambda: mine.show_answers(text(chance)),
            lambda: mine.follow(visitor, chance.random() < 0.5),
        ]
    chance.choice(ways)()


def _name(chance: random.Random) -> str:
    return chance.choice(("", "Ann", "Zoë", text(chance), chance.choice(BITS) + "A"))


def _led(chance: random.Random, room: Classroom) -> None:
    """Wherever a class is led to, a student's page makes a view of this app of it."""
    page = chance.choice([*BY_PATH, text(chance)])
    names = [*PAGES[BY_PATH.get(page, CLASS)].view.fields(), text(chance)]
    room.begin_leading()
    room.lead_to(page, {chance.choice(names): text(chance) for _ in range(4)})
    lead = room.lead
    assert lead is not None
    file = BY_PATH.get(lead.page, CLASS)
    make_view(PAGES[file].view, parse_params(file, lead.params)[0])


def _holds(found: Classes) -> None:
    rooms = [*found._by_code.values()]
    assert len(rooms) <= CLASSES
    for room in rooms:
        assert not room.ended
        assert len(room.members()) <= MEMBERS
        for one in room.members():
            assert found.class_of(one.visitor) is room
            assert not room.is_teacher(one.visitor)
            assert len(one.name) <= MAX_NAME_LENGTH
            assert "<script>" not in plain(one.label)
    assert not found.class_of("")
