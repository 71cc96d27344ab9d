"""Text from outside is shown by Streamlit as it stands."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from transformer.ui.widgets.frame import JOINER, plain

# The signs that begin anything in Markdown or in Streamlit's own directives.
SIGNS = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


@given(st.text())
def test_no_sign_is_left_to_mean_something(text: str) -> None:
    shown = plain(text)
    bare = re.sub(r"\\(.)", lambda pair: pair[1], shown, flags=re.S)
    assert bare.replace(JOINER, "") == text.replace(JOINER, "")
    assert not SIGNS & set(re.sub(r"\\.", "", shown, flags=re.S))


def test_a_picture_in_an_address_is_not_fetched() -> None:
    assert plain("![x](http://there)") == rf"\!\[x\]\(http{JOINER}\:\/\/there\)"


@given(
    st.from_regex(r"(https?://|HTTP://|www\.)[a-z]{1,9}\.[a-z]{2,3}/?[a-z]{0,5}", fullmatch=True)
)
def test_a_bare_address_is_no_link(address: str) -> None:
    """GitHub's Markdown looks for these in the text, when the backslashes are gone."""
    for text in (
        address,
        f"There is no kind '{address}'; see {address}.",
        f"me@{address[-5:]}.org",
    ):
        seen = re.sub(r"\\(.)", r"\1", plain(text))
        assert not re.search(r"(?i)https?:|www\.|@[\w.-]", seen)
