"""Verbs of the small grammar: English and French present tense, regular forms by rule.

A table entry: the English verb with its particle ("look_at"), the French infinitive, then the
irregular parts: the stem of je, tu, il, ils after "~", or all six forms; "+à" is the preposition
before the complement.
"""

from __future__ import annotations

from dataclasses import dataclass

from transformer.text.grammar.words import english_s


@dataclass(frozen=True)
class Verb:
    """A verb in both languages; `forms` are those of je, tu, il, nous, vous, ils."""

    base: str
    third: str  # with he, she, it
    after: tuple[str, ...]  # "at" of "look at"
    infinitive: str
    forms: tuple[str, ...]
    tail: tuple[str, ...] = ()  # "besoin" of "avoir besoin de"
    preposition: str = ""  # French "à" of "obéir à"


def conjugate(infinitive: str, stem: str = "") -> tuple[str, ...]:
    """The present tense of a regular verb in -er, -ir or -re; `stem` is that of je, tu, il, ils."""
    root, ending = infinitive[:-2], infinitive[-2:]
    if ending == "er":
        soft = {"g": root + "e", "c": root[:-1] + "ç"}.get(root[-1], root)  # mangeons
        strong = stem or root
        stems = (strong, strong, strong, soft, root, strong)
        return tuple(map(str.__add__, stems, ("e", "es", "e", "ons", "ez", "ent")))
    if ending == "ir":
        endings = ("is", "is", "it", "issons", "issez", "issent")
    else:
        endings = ("s", "s", "", "ons", "ez", "ent")
    return tuple(root + end for end in endings)


def _verb(line: str) -> Verb:
    english, infinitive, *fields = line.split()
    base, *after = english.split("_")
    preposition = fields.pop()[1:] if fields and fields[-1][0] == "+" else ""
    infinitive, *tail = infinitive.split("_")
    stem = fields.pop()[1:] if fields and fields[0][0] == "~" else ""
    return Verb(
        base=base,
        third="has" if base == "have" else english_s(base),
        after=tuple(after),
        infinitive=infinitive,
        forms=tuple(fields) or conjugate(infinitive, stem),
        tail=tuple(tail),
        preposition=preposition,
    )


def _verbs(table: str) -> tuple[Verb, ...]:
    return tuple(_verb(line) for line in table.split(","))


BE = _verb("be être suis es est sommes êtes sont")
# Auxiliary verbs: "is going to eat", "can eat", "must eat".
GO = _verb("go aller vais vas va allons allez vont")
CAN = _verb("can pouvoir peux peux peut pouvons pouvez peuvent")
MUST = _verb("must devoir dois dois doit devons devez doivent")

INTRANSITIVE = _verbs("""
sleep dormir dors dors dort dormons dormez dorment, sing chanter, dance danser, walk marcher,
cry pleurer, swim nager, run courir cours cours court courons courez courent, arrive arriver,
laugh rire ris ris rit rions riez rient, fall tomber, play jouer, begin commencer,
leave partir pars pars part partons partez partent""")

# Transitive, with any object.
ON_ANYTHING = _verbs("""
see voir vois vois voit voyons voyez voient, look_at regarder, look_for chercher, find trouver,
love aimer, draw dessiner, hide cacher, lose perdre, touch toucher""")
ON_THINGS = _verbs("""
have avoir ai as a avons avez ont, buy acheter ~achèt, sell vendre, choose choisir, carry porter,
break casser, wash laver, take prendre prends prends prend prenons prenez prennent,
want vouloir veux veux veut voulons voulez veulent, throw jeter ~jett, clean nettoyer ~nettoi,
pay_for payer ~pai""")
ON_PERSONS = _verbs("""
help aider, invite inviter, thank remercier, call appeler ~appell, hear entendre, admire admirer,
know connaître connais connais connaît connaissons connaissez connaissent, listen_to écouter,
follow suivre suis suis suit suivons suivez suivent, wait_for attendre,
understand comprendre comprends comprends comprend comprenons comprenez comprennent""")
ON_TEXTS = _verbs("""
read lire lis lis lit lisons lisez lisent, write écrire écris écris écrit écrivons écrivez écrivent,
finish finir""")
EAT = _verbs("eat manger, taste goûter, buy acheter ~achèt")
DRINK = _verbs("drink boire bois bois boit buvons buvez boivent, taste goûter, buy acheter ~achèt")

# With a preposition in French; English may have another one or none.
TO_PERSONS = _verbs("""
obey obéir +à, answer répondre +à, phone téléphoner +à, speak_to parler +à, speak_of parler +de,
think_of penser +à, dream_of rêver +de, play_with jouer +avec, work_for travailler +pour,
need avoir_besoin ai as a avons avez ont +de""")
TO_PLACES = _verbs("""
go_to aller vais vas va allons allez vont +à, return_to retourner +à, live_in habiter +dans,
come_from venir viens viens vient venons venez viennent +de, enter entrer +dans,
stay_in rester +dans, arrive_at arriver +à""")
