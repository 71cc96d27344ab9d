"""Text from outside is shown by Streamlit as it stands."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from transformer.ui.frame import plain

# The signs that begin anything in Markdown or in Streamlit's own directives.
SIGNS = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


@given(st.text())
def test_no_sign_is_left_to_mean_something(text: str) -> None:
    shown = plain(text)
    assert re.sub(r"\\(.)", lambda pair: pair[1], shown, flags=re.S) == text
    assert not SIGNS & set(re.sub(r"\\.", "", shown, flags=re.S))


def test_a_picture_in_an_address_is_not_fetched() -> None:
    assert plain("![x](http://there)") == r"\!\[x\]\(http\:\/\/there\)"
