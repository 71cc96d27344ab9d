"""Nouns and adjectives of the small grammar, and rules for plurals and elision.

A table entry is an English word, its French translation and the irregular forms: for a noun its
gender and irregular plurals after a slash ("man/men homme m", "bijou/bijoux"), for an adjective its
feminine. An underscore stands for a space.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

# Words with an "h aspiré", before which there is no elision; other words with h allow it.
_ASPIRATED = ("hache", "haricot", "harpe", "héros", "hibou", "hérisson")


def starts_with_vowel(word: str) -> bool:
    """Whether le, la, je, ne, de, que lose their vowel before this French word."""
    if word.startswith(_ASPIRATED):
        return False
    return unicodedata.normalize("NFD", word)[0] in "aeiouhœ"


@dataclass(frozen=True)
class Noun:
    """A noun in both languages; forms are (singular, plural), of one or more words."""

    english: tuple[str, str]
    french: tuple[str, str]
    feminine: bool


@dataclass(frozen=True)
class Adjective:
    """An adjective; `french` is masculine and feminine, then their plurals."""

    english: str
    french: tuple[str, str, str, str]
    before: bool  # precedes its noun in French
    liaison: str  # the masculine singular before a vowel: "vieil"

    def agree(self, feminine: bool, plural: bool) -> str:
        """The French form for a noun of this gender and number."""
        return self.french[feminine + 2 * plural]


def english_s(word: str) -> str:
    """Add the s of plurals and of verbs: cats, boxes, berries, goes."""
    if word.endswith(("s", "x", "ch", "sh", "o")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeou":
        return word[:-1] + "ies"
    return word + "s"


def french_plural(word: str) -> str:
    """The regular plural: chats, souris, chevaux, bateaux."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + ("x" if word.endswith(("eau", "jeu")) else "s")


def _noun(line: str) -> Noun:
    english, french, gender = line.split()
    singular, _, plural = english.partition("/")
    singular_fr, _, plural_fr = french.partition("/")
    return Noun(
        (singular, plural or english_s(singular)),
        (
            singular_fr.replace("_", " "),
            (plural_fr or french_plural(singular_fr)).replace("_", " "),
        ),
        gender == "f",
    )


def _nouns(table: str) -> tuple[Noun, ...]:
    return tuple(_noun(line) for line in table.split(",") if line.strip())


PERSONS = _nouns("""
man/men homme m, woman/women femme f, boy garçon m, girl fille f, king roi m, queen reine f,
friend ami m, teacher professeur m, student étudiant m, child/children enfant m, baby bébé m,
brother frère m, sister sœur f, mother mère f, father père m, uncle oncle m, aunt tante f,
neighbour voisin m, doctor médecin m, actress actrice f, hero héros m, princess princesse f,
son fils m, grandmother grand-mère/grands-mères f, witch sorcière f, pilot pilote m""")

ANIMALS = _nouns("""
cat chat m, dog chien m, bird oiseau m, horse cheval m, cow vache f, mouse/mice souris f,
rabbit lapin m, goat chèvre f, donkey âne m, elephant éléphant m, owl hibou/hiboux m, bear ours m,
wolf/wolves loup m, bee abeille f, ant fourmi f, swallow hirondelle f, monkey singe m,
hedgehog hérisson m, spider araignée f, squirrel écureuil m""")

THINGS = _nouns("""
car voiture f, table table f, chair chaise f, key clé f, hat chapeau m, lamp lampe f, tree arbre m,
flower fleur f, boat bateau m, bicycle vélo m, picture image f, clock horloge f, glass verre m,
knife/knives couteau m, bag sac m, shirt chemise f, coat manteau m, umbrella parapluie m,
ladder échelle f, box boîte f, gift cadeau m, game jeu m, jewel bijou/bijoux m, axe hache f,
harp harpe f, tool outil m, sword épée f, computer ordinateur m""")

TEXTS = _nouns("book livre m, letter lettre f, newspaper journal m, story histoire f")

FOODS = _nouns("""
apple pomme f, orange orange f, egg œuf m, cake gâteau m, cherry cerise f, carrot carotte f,
potato pomme_de_terre/pommes_de_terre f, tomato tomate f, onion oignon m, bean haricot m,
strawberry fraise f, walnut noix f""")

# Without a plural here: "some bread" is "du pain".
MEALS = _nouns("""
bread pain m, meat viande f, cheese fromage m, butter beurre m, sugar sucre m, rice riz m,
soup soupe f, honey miel m, jam confiture f""")
DRINKS = _nouns("water eau f, milk lait m, coffee café m, tea thé m, oil huile f, wine vin m")

INSIDE = _nouns("""
garden jardin m, house maison f, school école f, market marché m, church église f,
hospital hôpital m, hotel hôtel m, station gare f, village village m, town ville f,
castle château m, forest forêt f, kitchen cuisine f, museum musée m, library bibliothèque f,
shop magasin m, office bureau m, farm ferme f, factory usine f, theatre théâtre m""")
OUTSIDE = _nouns("bridge pont m, river rivière f, mountain montagne f, street rue f, wall mur m")


def _adjectives(table: str, before: bool = False) -> dict[str, Adjective]:
    adjectives = {}
    for line in table.split(","):
        english, masculine, feminine, *irregular = line.split()
        liaison, plural, *_ = *irregular, "", ""
        forms = (masculine, feminine, plural or french_plural(masculine), feminine + "s")
        adjectives[english] = Adjective(english, forms, before, liaison or masculine)
    return adjectives


_BEFORE = _adjectives(
    """
big grand grande, small petit petite, beautiful beau belle bel beaux, good bon bonne,
bad mauvais mauvaise, old vieux vieille vieil, new nouveau nouvelle nouvel nouveaux,
young jeune jeune, pretty joli jolie, fat gros grosse, long long longue""",
    before=True,
)
_AFTER = _adjectives("""
red rouge rouge, blue bleu bleue, green vert verte, black noir noire, white blanc blanche,
grey gris grise, heavy lourd lourde, light léger légère, expensive cher chère,
round rond ronde, empty vide vide, clean propre propre, dirty sale sale, strange étrange étrange,
modern moderne moderne, dark sombre sombre, fresh frais fraîche, cold froid froide,
hot chaud chaude, sad triste triste, happy heureux heureuse, tired fatigué fatiguée,
rich riche riche, famous célèbre célèbre, shy timide timide, strong fort forte,
serious sérieux sérieuse, brave courageux courageuse, sick malade malade, free libre libre,
proud fier fière, jealous jaloux jalouse, calm calme calme, royal royal royale,
clever intelligent intelligente, kind gentil gentille, slow lent lente""")
ADJECTIVES = _BEFORE | _AFTER


def _adjectives_named(names: str) -> tuple[Adjective, ...]:
    return tuple(ADJECTIVES[name] for name in names.split())


# Adjectives by the nouns they modify. `_OF_BEINGS` are also used after "to be"; "good" is not.
_OF_BEINGS = (
    "big small beautiful old young sad happy tired rich famous shy strong serious brave sick free "
    "proud jealous calm clever kind"
)
_OF_THINGS = "big small beautiful old new red blue green black white grey heavy light expensive"
OF_PERSONS = _adjectives_named(_OF_BEINGS + " good bad pretty")
OF_ANIMALS = _adjectives_named(
    "big small beautiful old young sad tired strong sick free calm black white grey slow dirty "
    "clean good pretty fat"
)
OF_THINGS = _adjectives_named(
    _OF_THINGS + " round empty clean dirty strange modern pretty long good bad"
)
OF_FOODS = _adjectives_named("big small good bad red green fresh cold hot expensive")
OF_MEALS = _adjectives_named("good bad fresh cold hot expensive")
OF_PLACES = _adjectives_named(
    "big small beautiful old new pretty modern dark empty strange clean dirty royal"
)
PREDICATES_OF_PERSONS = _adjectives_named(_OF_BEINGS)
PREDICATES_OF_ANIMALS = _adjectives_named(
    "big small beautiful old young sad tired strong sick free calm black white grey slow dirty "
    "clean"
)
PREDICATES_OF_THINGS = _adjectives_named(_OF_THINGS + " round empty clean dirty strange modern")
# One form for both genders, for subjects without a gender in English: "I am sad".
EPICENE = tuple(item for item in PREDICATES_OF_PERSONS if item.french[0] == item.french[1])
