"""French and German words for people, by the gender that their form shows; and articles.

A noun shows the gender of the person ("boulanger", "boulangère"), or leaves it to the article ("le
secrétaire", "la secrétaire"), or has one grammatical gender for everybody ("la victime", "die
Person"), which says nothing about the person. The lists were made for this package and are not
complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal

Gender = Literal["masculine", "feminine"]
NounClass = Literal["masculine", "feminine", "both", "fixed"]
"""What a noun shows: one gender; "both", so that the article decides; or "fixed", the same gender
for everybody."""
LANGUAGES = ("fr", "de")

_FRENCH_PAIRS = """acheteur acheteuse, acteur actrice, agriculteur agricultrice, ami amie,
assistant assistante, auditeur auditrice, auteur autrice, avocat avocate, boulanger boulangère,
caissier caissière, charpentier charpentière, chauffeur chauffeuse, chercheur chercheuse,
chirurgien chirurgienne, client cliente, coiffeur coiffeuse, commerçant commerçante,
concepteur conceptrice, conducteur conductrice, conseiller conseillère, couturier couturière,
créateur créatrice, cuisinier cuisinière, danseur danseuse, déménageur déménageuse,
dessinateur dessinatrice, développeur développeuse, directeur directrice, docteur doctoresse,
écrivain écrivaine, éditeur éditrice, électricien électricienne, employé employée,
enseignant enseignante, étudiant étudiante, fermier fermière, gardien gardienne, gérant gérante,
infirmier infirmière, ingénieur ingénieure, inspecteur inspectrice, instituteur institutrice,
instructeur instructrice, invité invitée, maçon maçonne, maître maîtresse, mécanicien mécanicienne,
menuisier menuisière, modérateur modératrice, monsieur madame, nettoyeur nettoyeuse,
officier officière, ouvrier ouvrière, passager passagère, patient patiente, patron patronne,
pâtissier pâtissière, paysan paysanne, pharmacien pharmacienne, plombier plombière,
policier policière, pompier pompière, préposé préposée, président présidente,
programmeur programmeuse, propriétaire propriétaire, rédacteur rédactrice, serveur serveuse,
superviseur superviseuse, surveillant surveillante, tailleur tailleuse, technicien technicienne,
traducteur traductrice, travailleur travailleuse, vendeur vendeuse, visiteur visiteuse,
vérificateur vérificatrice, voisin voisine, homme femme, garçon fille, héros héroïne, roi reine"""
_FRENCH_FEMININE = "autrice auteure professeure cheffe ingénieure médecine-cheffe avocate-conseil"
_FRENCH_BOTH = """adolescent-e analyste architecte artiste athlète bibliothécaire chef chimiste
collègue comptable concierge dentiste élève enfant garde guide journaliste juge locataire médecin
ministre pédiatre pilote professeur propriétaire psychologue réceptionniste responsable
scientifique secrétaire shérif soldat spécialiste thérapeute vétérinaire"""
_FRENCH_FIXED = "bébé individu personne recrue sentinelle star témoin vedette victime vigile"

_GERMAN_MASCULINE = """Analyst Analytiker Angestellter Anwalt Arbeiter Architekt Arzt Assistent
Autor Bäcker Bauarbeiter Bauer Berater Besitzer Besucher Bibliothekar Buchhalter Chef Chemiker
Chirurg Designer Detektiv Dichter Direktor Doktor Drucker Elektriker Empfänger Entwickler Fahrer
Farmer Feuerwehrmann Freund Friseur Frisör Gärtner Geschäftsführer Händler Handwerker Hausmeister
Helfer Ingenieur Inspektor Journalist Kassierer Kellner Klempner Koch Kollege Krankenpfleger
Kunde Künstler Landwirt Lehrer Leiter Maler Manager Mechaniker Mitarbeiter Mechatroniker Möbelpacker
Nachbar Patient Pfleger Pilot Pförtner Polizist Präsident Professor Programmierer Prüfer Psychologe
Putzmann Redakteur Rezeptionist Richter Sänger Schauspieler Schneider Schreiber Schreiner
Schriftsteller Schüler Sekretär Soldat Spezialist Student Techniker Therapeut Tischler Tänzer
Verkäufer Verfasser Wächter Wärter Wissenschaftler Zeuge Zimmermann Zuschauer Zeichner"""
_GERMAN_UMLAUTS = {
    "Anwalt": "Anwältin",
    "Arzt": "Ärztin",
    "Bauer": "Bäuerin",
    "Koch": "Köchin",
    "Landwirt": "Landwirtin",
}
_GERMAN_FEMININE = """Krankenschwester Schwester Putzfrau Feuerwehrfrau Hausfrau Friseuse Zimmerfrau
Kauffrau Geschäftsfrau Frau Dame"""
_GERMAN_BOTH = """Angestellte Angestellten Beamte Beamten Jugendliche Jugendlichen Kranke Kranken
Verwandte Verwandten Vorgesetzte Vorgesetzten Vorsitzende Vorsitzenden"""
_GERMAN_FIXED = """Bedienung Gast Hilfskraft Kind Lehrkraft Lehrling Leute Mensch Mitglied Opfer
Person Wache"""


@cache
def nouns(language: str) -> dict[str, NounClass]:
    """Return the words for people of a language, in lower case, with their plurals."""
    listed: dict[str, NounClass] = {}
    for noun, shows in _french_nouns() if language == "fr" else _german_nouns():
        forms = _french_forms(noun) if language == "fr" else _german_forms(noun, shows)
        for form in forms:
            listed.setdefault(form.casefold(), shows)
    return listed


def _french_nouns() -> Iterator[tuple[str, NounClass]]:
    for noun in _FRENCH_BOTH.split():
        yield noun, "both"
    for noun in _FRENCH_FIXED.split():
        yield noun, "fixed"
    for pair in _FRENCH_PAIRS.replace("\n", " ").split(", "):
        masculine, feminine = pair.split()
        yield masculine, "masculine"
        yield feminine, "feminine"
    for noun in _FRENCH_FEMININE.split():
        yield noun, "feminine"


def _french_forms(noun: str) -> list[str]:
    return [noun] if noun[-1] in "sx" else [noun, noun + "s"]


def _german_nouns() -> Iterator[tuple[str, NounClass]]:
    for noun in _GERMAN_BOTH.split():
        yield noun, "both"
    for noun in _GERMAN_FIXED.split():
        yield noun, "fixed"
    for noun in _GERMAN_FEMININE.split():
        yield noun, "feminine"
    for noun in _GERMAN_MASCULINE.split():
        yield noun, "masculine"
        yield _GERMAN_UMLAUTS.get(noun, re.sub("e?$", "in", noun)), "feminine"


def _german_forms(noun: str, shows: NounClass) -> list[str]:
    """Return the noun with the endings of its cases and plural."""
    if shows == "feminine":
        return [noun, noun + "nen", noun + "n"]
    return [noun, noun + "s", noun + "es", noun + "n", noun + "en", noun + "e"]


def noun_class(language: str, word: str) -> NounClass | None:
    """Return what a word for a person shows; None for a word that is not in the lists."""
    listed_class = nouns(language).get(word.casefold())
    if listed_class is not None or language != "de" or not word[:1].isupper():
        return listed_class
    if word.endswith(("frau", "frauen")):
        return "feminine"
    return "masculine" if word.endswith("mann") else None


_FRENCH_MASCULINE_ARTICLES = "le un du au ce cet"
_FRENCH_ARTICLES_WITHOUT_GENDER = "l' l’ les des aux ces d' d’"
_GERMAN_MASCULINE_ARTICLES = "dem den ein einen einem eines des kein keinen keinem"
_GERMAN_FEMININE_ARTICLES = "die eine einer keine keiner"
ARTICLES: dict[str, dict[str, Gender | None]] = {
    "fr": {
        **dict.fromkeys(_FRENCH_MASCULINE_ARTICLES.split(), "masculine"),
        **dict.fromkeys(("la", "une", "cette"), "feminine"),
        **dict.fromkeys(_FRENCH_ARTICLES_WITHOUT_GENDER.split(), None),
    },
    "de": {
        **dict.fromkeys(_GERMAN_MASCULINE_ARTICLES.split(), "masculine"),
        **dict.fromkeys(_GERMAN_FEMININE_ARTICLES.split(), "feminine"),
        "der": None,  # masculine subject, or feminine dative and genitive
        "das": None,
    },
}
"""Articles in lower case and the gender that they show; None for those that show none. A German
"ein", "dem" or "des" may also be neuter, and "die" plural."""

COUNTERPARTS: dict[str, dict[str, str]] = {
    "fr": {"le": "la", "la": "le", "un": "une", "une": "un"},
    "de": {
        "dem": "der",
        "den": "die",
        "ein": "eine",
        "einen": "eine",
        "einem": "einer",
        "einer": "einem",
    },
}
"""The article of the other gender in the same case and number, where that is one word."""
FIRST_COUNTERPARTS = {"fr": {}, "de": {"der": "die", "die": "der", "eine": "ein"}}
"""The same at the beginning of a sentence, where a German article is read as that of the
subject."""
OTHER_COUNTERPARTS = {"fr": {}, "de": {"der": "dem", "die": "den", "eine": "einen"}}
"""The same elsewhere: "der" as a feminine dative, "die" and "eine" as accusatives."""

_FRENCH_FUNCTION_WORDS = """a à ai ait aux avec c' car ce cela cet cette ces d' dans de des dont du
elle elles en est et été être eu il ils j' je l' la le les leur lui m' me mais n' ne nous on ont ou
par parce pas pour pourrait qu' que qui s' sa sans se ses si son sont sur t' te tu un une vous y
était avait plus moins très"""
FUNCTION_WORDS = frozenset(_FRENCH_FUNCTION_WORDS.split())
"""French words that are not nouns."""
_GERMAN_FUNCTION_WORDS = "er es sie ihr wir ich du dass weil wenn als und aber was wer"
GERMAN_PRONOUNS = frozenset(_GERMAN_FUNCTION_WORDS.split())
"""German words that are not nouns, although they may be capitalized in a sentence."""


def may_be_noun(language: str, word: str) -> bool:
    """Return whether an aligned word can be a noun: a capitalized word in German, a word that is
    not an article or function word in French."""
    folded = word.casefold().replace("’", "'")
    if not word[:1].isalpha() or folded in ARTICLES[language]:
        return False
    if language == "de":
        return word[0].isupper() and folded not in GERMAN_PRONOUNS
    return folded not in FUNCTION_WORDS


def counterpart(language: str, article: str, is_first_word: bool) -> tuple[str, str] | None:
    """Return the masculine and the feminine form of an article; None if unknown.

    Args:
        article: in upper or lower case; both forms keep its capital letter.
        is_first_word: whether it is the first word of the sentence.
    """
    folded = article.casefold()
    table = {
        **COUNTERPARTS[language],
        **(FIRST_COUNTERPARTS if is_first_word else OTHER_COUNTERPARTS)[language],
    }
    if folded not in table:
        return None
    counterpart_form = table[folded]
    feminine = ("la", "une") if language == "fr" else ("die", "eine", "einer")
    # "der" is feminine only where its counterpart is "dem".
    is_feminine = folded in feminine or (folded == "der" and counterpart_form == "dem")
    forms = (counterpart_form, folded) if is_feminine else (folded, counterpart_form)
    if article[:1].isupper():
        return forms[0].capitalize(), forms[1].capitalize()
    return forms
