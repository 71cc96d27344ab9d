"""Every citation has an entry in `citations.toml`: its claim, and how that was checked."""

from __future__ import annotations

import pytest

from tests import citations
from tests.citations import THIS_PAPER, Citation

VOITA, KINGMA, ABNAR = "Voita et al. 2019", "Kingma and Ba 2015", "Abnar and Zuidema 2020"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(section 3.3, eq. 2)", [(THIS_PAPER, "section 3.3"), (THIS_PAPER, "equation 2")]),
        ("sections 3.4 and 3.5)", [(THIS_PAPER, "section 3.4"), (THIS_PAPER, "section 3.5")]),
        ("Voita et al. 2019, section 5.1.", [(VOITA, ""), (VOITA, "section 5.1")]),
        ("Voita et al. (2019, eq. 4)", [(VOITA, ""), (VOITA, "equation 4")]),
        (
            'Abnar and Zuidema 2020, "Quantifying Attention Flow"\n(https://arxiv.org/abs/1.2), '
            "section 3. A layer (section 3.1)",
            [(ABNAR, ""), (ABNAR, "section 3"), (THIS_PAPER, "section 3.1")],
        ),
        (
            '"(Kingma & Ba 2015, "\n        f"algorithm 1; section 5.3 of the paper)"',
            [(KINGMA, ""), (KINGMA, "algorithm 1"), (THIS_PAPER, "section 5.3")],
        ),
        ("as in algorithm 1 of Kingma and Ba (2015)", [(KINGMA, "algorithm 1"), (KINGMA, "")]),
        ("Voita et al. 2019. Long (their eq. 12)", [(VOITA, ""), (VOITA, "equation 12")]),
        ('section="3.2.1",', [(THIS_PAPER, "section 3.2.1")]),
        ("In January 2020, a table of 3 rows", []),
    ],
)
def test_a_section_belongs_to_the_citation_before_it(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert list(citations.mentions(text)) == [Citation(*citation) for citation in expected]


def test_every_citation_in_the_code_is_listed() -> None:
    cited, listed = citations.files_by_citation(), citations.listed_citations()
    unlisted = [
        f"{citation} ({', '.join(files)})"
        for citation, files in cited.items()
        if citation not in listed
    ]
    assert unlisted == [], "give each a line in tests/citations.toml"


def test_every_listed_work_is_cited() -> None:
    cited = citations.files_by_citation()
    assert [
        str(citation) for citation in citations.listed_citations() if citation not in cited
    ] == []


def test_every_entry_has_a_claim_and_how_it_was_checked() -> None:
    for citation, entry in citations.listed_citations().items():
        assert entry.keys() == {"claim", "checked"}, citation
        assert entry["claim"].strip(), citation
        assert entry["checked"] in ("text", "secondary", "memory"), citation
