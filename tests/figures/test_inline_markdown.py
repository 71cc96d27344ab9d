"""Markdown of one line as HTML, such as the texts of lessons."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.figures.inline_markdown import html_of
from transformer.lessons.course import LESSONS

ALLOWED_TAGS = {"b", "i", "code", "span", "sub", "sup"}


class ParsedHtml(HTMLParser):
    """Tags and text of HTML, as a browser parses it; `open` has the tags that are not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not [name for name, _ in attrs if name.startswith("on")]
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            self.open.reverse()
            self.open.remove(tag)
            self.open.reverse()
        else:
            self.tags.append(f"/{tag} alone")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("**a** and *b*", "<b>a</b> and <i>b</i>"),
        ("`<s>` & co", "<code>&lt;s&gt;</code> &amp; co"),
        (r"\*not\* \<b\>", "*not* &lt;b&gt;"),
        ("$x_i^2$", '<span class="math">x<sub>i</sub><sup>2</sup></span>'),
        (r"$\sqrt{\hat v_t} + \epsilon$", '<span class="math">√(v\u0302<sub>t</sub>) + ε</span>'),
        (
            r"$10000^{(2i+1)/d_{model}}$",
            '<span class="math">10000<sup>(2i+1)/d<sub>model</sub></sup></span>',
        ),
        ("a **b", "a <b>b</b>"),
    ],
)
def test_markdown_to_html(markdown: str, html: str) -> None:
    assert html_of(markdown) == html


@pytest.mark.parametrize("formula", [r"$\nosuch$", "$x_{i$", "$x}$", "$x_$"])
def test_invalid_formulas_are_refused(formula: str) -> None:
    with pytest.raises(ValueError, match=r"^The formula .*\.$"):
        html_of(formula)


@given(st.text(alphabet=st.characters(exclude_characters="$")))
def test_markdown_creates_no_other_tags(text: str) -> None:
    page = ParsedHtml(html_of(text))
    assert set(page.tags) <= ALLOWED_TAGS
    assert not page.open


def test_all_lesson_texts_can_be_shown() -> None:
    for lesson in LESSONS:
        for text in (lesson.title, lesson.text, lesson.misprint, lesson.question, lesson.takeaway):
            page = ParsedHtml(html_of(text))
            assert "$" not in page.text
            assert "**" not in page.text
            assert not page.open
