"""Languages in model cards: the YAML forms that cards use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text.languages import (
    NAMES,
    front_matter,
    languages_from_card,
)

VALID_CARDS = {
    "in brackets": "---\nlanguage: [en, fr]\n---\n# Card\n",
    "one per line": "---\nlicense: mit\nlanguage:\n- en\n- fr\ntags:\n- translation\n---\n",
    "indented": "---\nlanguage:\n  - en\n  - fr\n---\n",
    "quoted, with a comment": "---\nlanguage: [\"en\", 'fr'] # reads, writes\n---\n",
    "CRLF line ends": "---\r\nlanguage:   [ en ,fr ]  \r\n---\r\n# Card\r\n",
    "between entries": "---\ndatasets: [tatoeba]\nlanguage: [en, fr]\nmetrics:\n- bleu\n---\n",
}
INVALID_CARDS = {
    "one language": "---\nlanguage: en\n---\n",
    "three languages": "---\nlanguage: [en, fr, de]\n---\n",
    "no language": "---\nlanguage:\nlicense: mit\n---\n",
    "names instead of codes": "---\nlanguage: [English, French]\n---\n",
    "a path": "---\nlanguage: [../../etc, fr]\n---\n",
    "markup": "---\nlanguage: [<b>, fr]\n---\n",
    "not closed": "---\nlanguage: [en, fr\n---\n",
    "twice": "---\nlanguage: [en, fr]\nlanguage: [en, de]\n---\n",
}


@pytest.mark.parametrize("case", VALID_CARDS)
def test_a_card_names_source_and_target_language(case: str) -> None:
    assert languages_from_card(VALID_CARDS[case]) == ("en", "fr")


@pytest.mark.parametrize("case", INVALID_CARDS)
def test_an_invalid_entry_gives_a_one_sentence_error(case: str) -> None:
    with pytest.raises(ValueError, match=r"(languages are two codes|a card must have one entry)"):
        languages_from_card(INVALID_CARDS[case])


@given(st.text())
def test_any_card_is_read_or_refused(text: str) -> None:
    for card in (text, f"---\n{text}\n---\n", f"---\nlanguage: {text}\n---\n"):
        try:
            languages = languages_from_card(card)
        except ValueError:
            continue
        assert languages is None or all(code.replace("-", "").isalnum() for code in languages)


language_codes = st.sampled_from([*NAMES, "pt-BR", "sr-Latn", "xho"])


@given(language_codes, language_codes)
def test_languages_survive_a_round_trip(src: str, tgt: str) -> None:
    assert languages_from_card(front_matter((src, tgt)) + "# Card\n") == (src, tgt)


def test_invalid_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="two codes"):
        front_matter(["en"])
