"""Streamlit shows untrusted text literally."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from transformer.ui.widgets.frame import WORD_JOINER, plain

# The characters that are special in Markdown or in Streamlit's directives.
SPECIAL_CHARACTERS = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


@given(st.text())
def test_every_markdown_character_is_escaped(text: str) -> None:
    escaped = plain(text)
    unescaped = re.sub(r"\\(.)", lambda pair: pair[1], escaped, flags=re.S)
    assert unescaped.replace(WORD_JOINER, "") == text.replace(WORD_JOINER, "")
    assert not SPECIAL_CHARACTERS & set(re.sub(r"\\.", "", escaped, flags=re.S))


def test_an_image_in_an_address_is_not_fetched() -> None:
    assert plain("![x](http://there)") == rf"\!\[x\]\(http{WORD_JOINER}\:\/\/there\)"


@given(
    st.from_regex(r"(https?://|HTTP://|www\.)[a-z]{1,9}\.[a-z]{2,3}/?[a-z]{0,5}", fullmatch=True)
)
def test_a_bare_url_is_no_link(address: str) -> None:
    """GitHub's Markdown searches the text for these after removing backslashes."""
    for text in (
        address,
        f"There is no kind '{address}'; see {address}.",
        f"me@{address[-5:]}.org",
    ):
        unescaped = re.sub(r"\\(.)", r"\1", plain(text))
        assert not re.search(r"(?i)https?:|www\.|@[\w.-]", unescaped)
