"""Pages of the site: what is written reaches them as text."""

from __future__ import annotations

from html.parser import HTMLParser

from tests.figures.made import HOSTILE
from transformer.figures.site_pages import AnswerChoice, CourseStep, Look, index_page, step_page


class Tags(HTMLParser):
    """Names of all elements, and everything that is text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not [name for name, _ in attrs if name.startswith("on")]
        self.names.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile(text: str) -> CourseStep:
    choices = [AnswerChoice(text, text, right=True), AnswerChoice("b", text)]
    look = Look("views/a.html", text)
    return CourseStep("lessons/a.html", text, text, [text], text, text, choices, text, None, look)


def test_no_text_becomes_an_element() -> None:
    plain = hostile("plain")
    known = Tags(step_page(plain, "home", plain, plain, "footer")).names
    listed = Tags(index_page("t", ["lead"], [("part", [plain])], [("l", [Look("x", "y")])], "f"))
    for text in HOSTILE:
        step = hostile(text.replace("$", ""))
        assert Tags(step_page(step, text, step, step, "footer")).names <= known | {"b", "i", "code"}
        page = index_page(text, ["lead"], [(text, [step])], [(text, [Look("x", text)])], "footer")
        assert Tags(page).names <= listed.names | {"b", "i", "code"}
        assert "script" not in Tags(page).names


def test_the_first_and_the_last_step_have_one_neighbour() -> None:
    one = hostile("one")
    assert Tags(step_page(one, "home", None, one, "f")).text.count("→") == 1
    assert Tags(step_page(one, "home", one, None, "f")).text.count("←") == 1
