"""The gender of a translated occupation, compared with translations whose gender is known."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.analysis.gender.nouns import ARTICLES, LANGUAGES, counterpart, noun_class, nouns
from transformer.analysis.gender.occupation_gender import (
    NO_ARTICLE,
    NOT_ALIGNED,
    ONE_GENDER,
    SAME_FORM,
    aligned_noun,
    check_language,
    read_gender,
)
from transformer.analysis.gender.sentences import WORD

# Written by hand: a translation, the noun of the occupation, and what a reader takes it for.
EXPECTED_GENDERS = [
    ("fr", "L'infirmière a aidé le médecin.", "infirmière", "feminine"),
    ("fr", "L'infirmière a aidé le médecin.", "médecin", "masculine"),
    ("fr", "La médecin était en retard.", "médecin", "feminine"),
    ("fr", "Il parle à la secrétaire.", "secrétaire", "feminine"),
    ("fr", "Il parle au secrétaire.", "secrétaire", "masculine"),
    ("fr", "Elle cherche l’architecte.", "architecte", SAME_FORM),
    ("fr", "Les comptables sont partis.", "comptables", SAME_FORM),
    ("fr", "Les vendeuses sont parties.", "vendeuses", "feminine"),
    ("fr", "Un jeune boulanger dort.", "boulanger", "masculine"),
    ("fr", "Une jeune dentiste dort.", "dentiste", "feminine"),
    ("fr", "La victime est un homme.", "victime", ONE_GENDER),
    ("fr", "La maison a aidé.", "maison", "feminine"),
    ("fr", "Elle est avocate.", "avocate", "feminine"),
    ("fr", "Elle est dentiste.", "dentiste", NO_ARTICLE),
    ("de", "Die Ärztin half dem Krankenpfleger.", "Ärztin", "feminine"),
    ("de", "Die Ärztin half dem Krankenpfleger.", "Krankenpfleger", "masculine"),
    ("de", "Der Arzt half der Krankenschwester.", "Arzt", "masculine"),
    ("de", "Der Arzt half der Krankenschwester.", "Krankenschwester", "feminine"),
    ("de", "Die Lehrer der Schule streiken.", "Lehrer", "masculine"),
    ("de", "Die Köchinnen streiken.", "Köchinnen", "feminine"),
    ("de", "Ich kenne die Angestellte.", "Angestellte", "feminine"),
    ("de", "Ich kenne den Angestellten.", "Angestellten", "masculine"),
    ("de", "Der Vorsitzende kam.", "Vorsitzende", "masculine"),
    ("de", "Er half der Vorsitzenden.", "Vorsitzenden", SAME_FORM),
    ("de", "Die Wache schläft.", "Wache", ONE_GENDER),
    ("de", "Die Person schläft.", "Person", ONE_GENDER),
    ("de", "Eine gute Kauffrau rechnet.", "Kauffrau", "feminine"),
    ("de", "Der Kaufmann rechnet.", "Kaufmann", "masculine"),
    ("de", "Die Entwicklung besucht ihn.", "Entwicklung", "feminine"),
]


@pytest.mark.parametrize(("language", "text", "noun", "expected"), EXPECTED_GENDERS)
def test_known_translations_give_the_expected_genders(
    language: str, text: str, noun: str, expected: str
) -> None:
    words = WORD.findall(text)
    occupation_gender = read_gender(language, words, words.index(noun))
    assert (occupation_gender.gender or occupation_gender.reason) == expected
    assert (occupation_gender.reason == "") == (occupation_gender.gender is not None)
    assert occupation_gender.person == (noun not in ("maison", "Entwicklung"))


def test_an_untranslated_occupation_is_not_decided() -> None:
    occupation_gender = read_gender("fr", ["Elle", "dort"], -1)
    assert (occupation_gender.gender, occupation_gender.reason, occupation_gender.noun) == (
        None,
        NOT_ALIGNED,
        -1,
    )


def test_the_noun_is_a_known_word_then_the_highest_score() -> None:
    words = WORD.findall("La maison et l'infirmière dorment.")
    assert words == ["La", "maison", "et", "l'", "infirmière", "dorment", "."]
    scores = np.full((7, 3), 0.1)
    scores[[0, 1, 4, 5], 1] = [0.9, 0.8, 0.5, 0.6]
    noun = aligned_noun("fr", words, scores, [1])
    assert words[noun] == "infirmière"  # "maison" and "La" have higher scores
    scores[words.index("infirmière")] = [0.9, 0.1, 0.1]
    assert words[aligned_noun("fr", words, scores, [1])] == "maison"
    assert aligned_noun("fr", words, scores, [2]) == -1


def test_the_lists_have_no_noun_of_two_genders_and_no_unknown_article() -> None:
    for language in LANGUAGES:
        shown = nouns(language)
        assert len(shown) > 100
        for article in ARTICLES[language]:
            assert article not in shown
            pair = counterpart(language, article, is_first_word=False)
            if pair is not None:
                assert article in pair
                assert pair[0] != pair[1]
    assert [noun_class("fr", word) for word in ("Secrétaire", "boulangères", "table")] == [
        "both",
        "feminine",
        None,
    ]


@pytest.mark.parametrize(
    ("language", "article", "first", "expected"),
    [
        ("fr", "Le", True, ("Le", "La")),
        ("fr", "une", False, ("un", "une")),
        ("fr", "l'", False, None),
        ("fr", "du", False, None),
        ("de", "Der", True, ("Der", "Die")),
        ("de", "Die", True, ("Der", "Die")),
        ("de", "die", False, ("den", "die")),
        ("de", "der", False, ("dem", "der")),
        ("de", "dem", False, ("dem", "der")),
        ("de", "eine", False, ("einen", "eine")),
        ("de", "einer", False, ("einem", "einer")),
        ("de", "das", False, None),
    ],
)
def test_an_article_has_a_counterpart_of_its_own_case(
    language: str, article: str, first: bool, expected: tuple[str, str] | None
) -> None:
    assert counterpart(language, article, first) == expected


@pytest.mark.parametrize(("code", "name"), [("ja", "Japanese"), ("", "an unknown language")])
def test_another_language_is_refused(code: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"read in French and German, not in {name}$"):
        check_language(code)
