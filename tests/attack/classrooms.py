"""Hostile input for classes: tokens, codes, names, questions and answers, in any order."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.attack.random_input import TEXT_FRAGMENTS, check_message, random_text
from transformer.classroom import Classes, Classroom, ClassroomError, MeasuredQuestion
from transformer.classroom.codes import MAX_NAME_LENGTH
from transformer.classroom.results import option_table, seat_table
from transformer.ui.shell.registry import BY_PATH, CLASS, PAGES, make_view, parse_params
from transformer.ui.widgets.frame import plain

TOKEN, MAX_CLASSES, MAX_MEMBERS = "a token nobody types", 3, 4
VISITORS = ("", "ann", "bob", "cleo", "dan", "eve", "fay", "teacher", "colleague")


def classes(rng: random.Random, folder: Path) -> None:
    """Attack a few classes with random actions: each succeeds or is rejected with one sentence."""
    clock = [0.0]
    open_classes = Classes(TOKEN, MAX_CLASSES, MAX_MEMBERS, clock=lambda: clock[0])
    for _ in range(60):
        clock[0] += rng.choice((0, 0, 1, 700, 4 * 3600))
        try:
            _random_action(rng, open_classes)
        except ClassroomError as error:
            check_message(error)
        _check_invariants(open_classes)
    open_classes.close()
    assert not len(open_classes)
    assert not any(open_classes.class_of(visitor) for visitor in VISITORS)


def _random_action(rng: random.Random, open_classes: Classes) -> None:
    visitor, address = rng.choice(VISITORS), rng.choice(("", "A", "B"))
    classrooms = [*open_classes._by_code.values()]
    codes = [classroom.code for classroom in classrooms] or [""]
    own_class = open_classes.class_of(visitor)
    actions: list[Callable[[], Any]] = [
        lambda: open_classes.join(
            rng.choice([*codes, random_text(rng)]), visitor, address, _name(rng)
        ),
        lambda: open_classes.open(
            rng.choice((TOKEN, random_text(rng))), visitor, address, _name(rng)
        ),
        lambda: open_classes.leave(visitor),
        lambda: open_classes.end(visitor),
    ]
    if own_class:
        actions += [
            lambda: _lead(rng, own_class, visitor),
            lambda: own_class.answer(visitor, random_text(rng), rng.randrange(-1, 5)),
            lambda: own_class.show_answers(random_text(rng)),
            lambda: own_class.follow(visitor, rng.random() < 0.5),
            lambda: open_classes.join(own_class.teaching_code, rng.choice(VISITORS), address),
            lambda: _ask_questions(rng, own_class, visitor),
        ]
    rng.choice(actions)()


def _name(rng: random.Random) -> str:
    return rng.choice(("", "Ann", "Zoë", random_text(rng), rng.choice(TEXT_FRAGMENTS) + "A"))


def _ask_questions(rng: random.Random, classroom: Classroom, visitor: str) -> None:
    """Ask, answer and show measured questions; check that no cell of the results is a formula."""
    measured, number = classroom.measured, rng.randrange(0, 4)
    lines = "\n".join(random_text(rng) for _ in range(rng.randrange(0, 12)))
    actions: list[Callable[[], Any]] = [
        lambda: measured.ask(MeasuredQuestion.read(random_text(rng), lines, rng.randrange(-1, 5))),
        lambda: measured.ask(MeasuredQuestion.read("Why?", "=A1\nB", 1)),
        lambda: measured.ask_again(number),
        lambda: measured.reopen(number),
        lambda: measured.close(number),
        lambda: measured.show(number),
        lambda: measured.answer(visitor, number, rng.randrange(3), rng.randrange(-1, 5)),
        measured.hide,
    ]
    rng.choice(actions)()
    for table in (option_table, seat_table):
        for cell in table(measured.results()).astype(str).to_numpy().ravel():
            assert not cell.startswith(("=", "+", "@", "\t", "\r"))


def _lead(rng: random.Random, classroom: Classroom, visitor: str) -> None:
    """Lead the class to a random view, and check that a student's page opens a view of this app."""
    page = rng.choice([*BY_PATH, random_text(rng)])
    names = [*PAGES[BY_PATH.get(page, CLASS)].view.fields(), random_text(rng)]
    classroom.begin_leading(visitor)
    classroom.set_view_to_follow(
        visitor, page, {rng.choice(names): random_text(rng) for _ in range(4)}
    )
    followed_view = classroom.view_to_follow
    if not classroom.is_teacher(visitor):
        return
    assert followed_view is not None
    file = BY_PATH.get(followed_view.page, CLASS)
    make_view(PAGES[file].view, parse_params(file, followed_view.params)[0])


def _check_invariants(open_classes: Classes) -> None:
    classrooms = [*open_classes._by_code.values()]
    assert len(classrooms) <= MAX_CLASSES
    for classroom in classrooms:
        assert not classroom.ended
        assert len(classroom.members()) <= MAX_MEMBERS
        for member in classroom.members():
            assert open_classes.class_of(member.visitor) is classroom
            assert not classroom.is_teacher(member.visitor)
            assert len(member.name) <= MAX_NAME_LENGTH
            assert "<script>" not in plain(member.label)
    assert not open_classes.class_of("")
