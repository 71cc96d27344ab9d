"""Our Markdown on paper: what is written becomes that and nothing else."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.figures.marked import html_of
from transformer.ui.lessons.course import LESSONS

ALLOWED = {"b", "i", "code", "span", "sub", "sup"}


class Read(HTMLParser):
    """The tags and the text of a piece of HTML, as a browser takes it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
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
def test_what_is_written(markdown: str, html: str) -> None:
    assert html_of(markdown) == html


@pytest.mark.parametrize("formula", [r"$\nosuch$", "$x_{i$", "$x}$", "$x_$"])
def test_a_formula_that_is_none_is_refused_in_a_sentence(formula: str) -> None:
    with pytest.raises(ValueError, match=r"^The formula .*\.$"):
        html_of(formula)


@given(st.text(alphabet=st.characters(exclude_characters="$")))
def test_no_text_becomes_a_tag_of_its_own(text: str) -> None:
    read = Read(html_of(text))
    assert set(read.tags) <= ALLOWED
    assert not read.open


def test_all_that_the_lessons_say_can_be_printed() -> None:
    for one in LESSONS:
        for text in (one.title, one.text, one.misprint, one.question, one.learnt):
            read = Read(html_of(text))
            assert "$" not in read.text
            assert "**" not in read.text
            assert not read.open
