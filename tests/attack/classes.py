"""Classes: tokens, codes and names that are typed, by anybody and in any order."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.attack.hostile import BITS, check_message, text
from transformer.classroom import Classes, Classroom, ClassroomError, MeasuredQuestion
from transformer.classroom.codes import MAX_NAME_LENGTH
from transformer.classroom.results import option_table, seat_table
from transformer.ui.shell.registry import BY_PATH, CLASS, PAGES, make_view, parse_params
from transformer.ui.widgets.frame import plain

TOKEN, CLASSES, MEMBERS = "a token nobody types", 3, 4
VISITORS = ("", "ann", "bob", "cleo", "dan", "eve", "fay", "teacher", "colleague")


def classes(chance: random.Random, folder: Path) -> None:
    """A few classes with random input: every action succeeds or is refused with a sentence."""
    clock = [0.0]
    classes_ = Classes(TOKEN, CLASSES, MEMBERS, clock=lambda: clock[0])
    for _ in range(60):
        clock[0] += chance.choice((0, 0, 1, 700, 4 * 3600))
        try:
            _act(chance, classes_)
        except ClassroomError as error:
            check_message(error)
        _holds(classes_)
    classes_.close()
    assert not len(classes_)
    assert not any(classes_.class_of(visitor) for visitor in VISITORS)


def _act(chance: random.Random, classes_: Classes) -> None:
    visitor, address = chance.choice(VISITORS), chance.choice(("", "A", "B"))
    rooms = [*classes_._by_code.values()]
    codes = [classroom.code for classroom in rooms] or [""]
    own_class = classes_.class_of(visitor)
    actions: list[Callable[[], Any]] = [
        lambda: classes_.join(
            chance.choice([*codes, text(chance)]), visitor, address, _name(chance)
        ),
        lambda: classes_.open(
            chance.choice((TOKEN, text(chance))), visitor, address, _name(chance)
        ),
        lambda: classes_.leave(visitor),
        lambda: classes_.end(visitor),
    ]
    if own_class:
        actions += [
            lambda: _led(chance, own_class, visitor),
            lambda: own_class.answer(visitor, text(chance), chance.randrange(-1, 5)),
            lambda: own_class.show_answers(text(chance)),
            lambda: own_class.follow(visitor, chance.random() < 0.5),
            lambda: classes_.join(own_class.teaching_code, chance.choice(VISITORS), address),
            lambda: _asked(chance, own_class, visitor),
        ]
    chance.choice(actions)()


def _name(chance: random.Random) -> str:
    return chance.choice(("", "Ann", "Zoë", text(chance), chance.choice(BITS) + "A"))


def _asked(chance: random.Random, classroom: Classroom, visitor: str) -> None:
    """Ask, answer and show measured questions in any order; every file of the results is safe."""
    measured, number = classroom.measured, chance.randrange(0, 4)
    lines = "\n".join(text(chance) for _ in range(chance.randrange(0, 12)))
    actions: list[Callable[[], Any]] = [
        lambda: measured.ask(MeasuredQuestion.read(text(chance), lines, chance.randrange(-1, 5))),
        lambda: measured.ask(MeasuredQuestion.read("Why?", "=A1\nB", 1)),
        lambda: measured.ask_again(number),
        lambda: measured.reopen(number),
        lambda: measured.close(number),
        lambda: measured.show(number),
        lambda: measured.answer(visitor, number, chance.randrange(3), chance.randrange(-1, 5)),
        measured.put_away,
    ]
    chance.choice(actions)()
    for table in (option_table, seat_table):
        for cell in table(measured.results()).astype(str).to_numpy().ravel():
            assert not cell.startswith(("=", "+", "@", "\t", "\r"))


def _led(chance: random.Random, classroom: Classroom, visitor: str) -> None:
    """For every view to follow, a student's page opens a view of this app."""
    page = chance.choice([*BY_PATH, text(chance)])
    names = [*PAGES[BY_PATH.get(page, CLASS)].view.fields(), text(chance)]
    classroom.begin_leading(visitor)
    classroom.set_view_to_follow(
        visitor, page, {chance.choice(names): text(chance) for _ in range(4)}
    )
    followed_view = classroom.view_to_follow
    if not classroom.is_teacher(visitor):
        return
    assert followed_view is not None
    file = BY_PATH.get(followed_view.page, CLASS)
    make_view(PAGES[file].view, parse_params(file, followed_view.params)[0])


def _holds(classes_: Classes) -> None:
    rooms = [*classes_._by_code.values()]
    assert len(rooms) <= CLASSES
    for classroom in rooms:
        assert not classroom.ended
        assert len(classroom.members()) <= MEMBERS
        for member in classroom.members():
            assert classes_.class_of(member.visitor) is classroom
            assert not classroom.is_teacher(member.visitor)
            assert len(member.name) <= MAX_NAME_LENGTH
            assert "<script>" not in plain(member.label)
    assert not classes_.class_of("")
