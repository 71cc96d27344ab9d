"""Lesson plans for tests: a valid one, and files that are refused."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

PLAN: dict[str, Any] = {
    "format": "heads-up-plan",
    "version": 1,
    "title": "Attention in 45 minutes",
    "stations": [
        {"title": "Warm-up", "minutes": 5, "text": "Talk to your neighbour: what is a </s>?"},
        {
            "title": "Whose key?",
            "minutes": 10,
            "lesson": "umbrella",
            "sentence": "My brother lost his key.",
        },
        {"title": "Try it", "minutes": 10, "sentence": "The cat sleeps < 8 hours."},
        {"title": "The mask", "minutes": 10, "lesson": "ahead"},
        {
            "title": "Check",
            "minutes": 10,
            "question": {
                "text": "What do the weights of a row sum to?",
                "options": ["To 1", "To 8", "It depends"],
                "correct": 1,
                "explanation": "They are a softmax.",
            },
        },
    ],
}
LESSON, QUESTION = 1, 4
"""Numbers of stations of `PLAN`."""


def changed(station: int | None = None, /, **fields: Any) -> bytes:
    """Return the file of `PLAN` with other fields of the plan or of one station; None removes a
    field."""
    plan = deepcopy(PLAN)
    target = plan if station is None else plan["stations"][station]
    for name, value in fields.items():
        target.pop(name, None)
        if value is not None:
            target[name] = value
    return json.dumps(plan).encode()


def with_question(**fields: Any) -> bytes:
    question = {**PLAN["stations"][QUESTION]["question"], **fields}
    return changed(QUESTION, question={n: v for n, v in question.items() if v is not None})


HUNDRED = [{**PLAN["stations"][QUESTION], "title": f"Question {n}"} for n in range(100)]
BAD_PLANS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "not a lesson plan"),
    "HTML": (b"<!doctype html><script>alert(1)</script>", "not a lesson plan"),
    "CSV": (b"question,answer\n1,2\n", "not a lesson plan"),
    "a list": (b"[]", "not a lesson plan"),
    "nested": (b"[" * 50_000, "not a lesson plan"),
    "other JSON": (b'{"quiz": []}', "not a lesson plan"),
    "another format": (changed(format="moodle"), "not a lesson plan"),
    "a later version": (changed(version=2), "version must be a whole number from 1 to 1"),
    "no title": (changed(title=None), "The field title is missing"),
    "no stations": (changed(stations=None), "The field stations is missing"),
    "no station": (changed(stations=[]), "at least one station"),
    "a hundred questions": (changed(stations=HUNDRED), "a list of at most 20"),
    "a text as station": (changed(stations=["umbrella"]), "Station 1: "),
    "no minutes": (changed(LESSON, minutes=None), "Station 2: The field minutes is missing"),
    "no time": (changed(LESSON, minutes=0), "Station 2: minutes must be a whole number from 1"),
    "half minutes": (changed(LESSON, minutes=1.5), "Station 2: minutes must be a whole number"),
    "an unknown field": (changed(LESSON, onclick="alert(1)"), "Station 2: There is no field"),
    "an unknown lesson": (changed(LESSON, lesson="constructor"), "Station 2: There is no "),
    "a lesson without sentences": (changed(LESSON, lesson="waves"), "takes no sentence of your"),
    "a lesson and a question": (changed(QUESTION, lesson="row"), "Station 5: A station with a"),
    "HTML in a title": (changed(0, title="<b>Hi</b>"), "Station 1: title must be plain text"),
    "HTML in a text": (changed(0, text="<img src=x onerror=alert(1)>"), "text must be plain text"),
    "an empty title": (changed(0, title="  "), "Station 1: title must be"),
    "two lines": (changed(0, title="a\nb"), "Station 1: title must be"),
    "hidden direction": (changed(0, title="a\u202eb"), "Station 1: title must be"),
    "a long sentence": (changed(LESSON, sentence="word " * 50), "Station 2: sentence must be"),
    "no options": (with_question(options=None), "Station 5: The field options is missing"),
    "one option": (with_question(options=["To 1"]), "Station 5: A question has 2 to 8 options"),
    "many options": (with_question(options=list("abcdefghi")), "a list of at most 8"),
    "equal options": (with_question(options=["A", "A"]), "Station 5: Two options are the same"),
    "HTML in an option": (with_question(options=["<i>", "B"]), "Station 5: "),
    "no right option": (with_question(correct=4), "Station 5: The correct option"),
    "no right number": (with_question(correct="1"), "correct must be a whole number from 1"),
    "a question as text": (changed(QUESTION, question="Why?"), "Station 5: An object is needed"),
}
"""Files that are refused, and what the sentence about each says."""
