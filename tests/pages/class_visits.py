"""Helpers to test the Class page: join a class, click, and read what the page shows."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from streamlit.testing.v1 import AppTest

from tests.pages.conftest import TEACHER_TOKEN, Visit, send_choice
from transformer.api.visitors import new_id
from transformer.classroom import Classroom
from transformer.figures.packing import unpack
from transformer.ui.base.registry import CLASS, path
from transformer.ui.services import live_classes
from transformer.ui.services.class_updates import handle


def with_visitor_id(app: AppTest) -> AppTest:
    """Give this session the visitor id that a browser keeps in a cookie."""
    app.session_state["visitor"] = new_id()
    return app


def rerun(app: AppTest) -> AppTest:
    """Rerun the page after a redirect, as the browser of a class member does."""
    app.switch_page(app.session_state["page"]).run()
    assert not app.exception, app.exception[0].message
    return app


def press(app: AppTest, label: str) -> AppTest:
    """Click a button, given its label or its key."""
    [matching] = [button for button in app.button if label in (button.label, button.key)]
    matching.click()
    return rerun(app)


def field(app: AppTest, label: str) -> Any:
    return next(element for element in app.text_input if element.label.startswith(label))


def open_as_teacher(visit: Visit, page: str = CLASS, **params: Any) -> AppTest:
    app = with_visitor_id(visit(CLASS, **params))
    field(app, "Token").input(TEACHER_TOKEN)
    field(app, "Your name").input("Ms Curie")
    press(app, "Open a class")
    return follow_link(app, page)


def join_as_student(visit: Visit, classroom: Classroom, name: str = "", **params: Any) -> AppTest:
    app = with_visitor_id(visit(CLASS, code=classroom.code.lower(), **params))
    field(app, "First name").input(name)
    return press(app, "Join")


def follow_link(app: AppTest, page: str) -> AppTest:
    """Open a page as a link on another page does, for example "app.py?depth=heads"."""
    file, _, query = page.partition("?")
    if file != CLASS:
        app.query_params = dict(parse_qsl(query))
        app.switch_page(file).run()
        assert not app.exception
    return app


def lead(teacher: AppTest) -> None:
    """Send the teacher's place to the class, as the teacher's browser does."""
    page = path(teacher.session_state["page"])
    params = {
        name: values if isinstance(values, str) else values[-1]
        for name, values in teacher.query_params.items()
    }
    message = json.dumps({"lead": {"page": page, "params": params}})
    handle(only_class(), teacher.session_state["visitor"], message.encode(), [])


def follow(student: AppTest) -> AppTest:
    """Open the teacher's place, as the browser of a student does."""
    place = only_class().view_to_follow
    assert place is not None
    return send_choice(student, "frame", page=place.page, params=dict(place.params))


def only_class() -> Classroom:
    [classroom] = live_classes.classes()._by_code.values()
    return classroom


def class_line_data(app: AppTest) -> dict[str, Any]:
    """Return the data of the line about the class that every page shows."""
    elements = [element.proto for element in app.get("bidi_component")
             if element.proto.component_name == "heads_up.classroom"]  # fmt: skip
    return dict(json.loads(elements[0].json)) if elements else {}


def run_cards(app: AppTest) -> list[dict[str, Any]]:
    """Return the cards of the class's training runs."""
    elements = [element.proto for element in app.get("bidi_component")
             if element.proto.component_name == "heads_up.wall"]  # fmt: skip
    return list(unpack(elements[0].bytes)[0]["cards"]) if elements else []


def page_markdown(app: AppTest) -> str:
    boxes = [*app.markdown, *app.caption, *app.header, *app.subheader, *app.info, *app.success]
    return "\n".join(box.value for box in boxes)


def heading(app: AppTest) -> str:
    return str(app.title[0].value)
