"""Sentences that an English–French model gets wrong in an instructive way.

    python -m benchmarks.mistakes [--checkpoint checkpoints/en-fr] [--shown 5]

Combines words to sentences whose difficulty is known: which French word is right, and which one
shows the mistake. Prints how many sentences of each kind go wrong in this way, and of those with
few words the most telling: the least certain about the wrong word, and the most certain. The shelf
of the page Try (`transformer/text/mistakes.py`) has six sentences of such kinds, and a test holds
that the bundled model makes each of these mistakes.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from transformer import Translator
from transformer.inference.results import Translation
from transformer.measures.words import plain_words


@dataclass(frozen=True)
class Kind:
    """Sentences with the same difficulty.

    Attributes:
        template: a sentence with names in braces.
        slots: the words for each name. right, wrong: French words, of which the translation should
            have one, and of which one shows the mistake (regular expressions).
    """

    template: str
    right: str
    wrong: str
    slots: dict[str, list[str]] = field(default_factory=dict)

    def sentences(self) -> Iterator[str]:
        for words in itertools.product(*self.slots.values()):
            sentence = self.template.format(**dict(zip(self.slots, words, strict=True)))
            yield sentence[0].upper() + sentence[1:]


WOMEN = ["girl", "woman", "queen", "princess", "nurse", "mother"]
MEN = ["boy", "man", "king", "doctor", "teacher", "father"]
KINDS = {
    "agreement with the nearer noun": Kind(
        "The {woman} that the {man} {verb} is {adjective}.",
        r"grande|petite|contente|heureuse|vieille|intelligente",
        r"grand|petit|content|heureux|vieux|intelligent",
        {
            "woman": WOMEN,
            "man": MEN,
            "verb": ["saw", "knows", "loves"],
            "adjective": ["tall", "small", "happy", "old", "intelligent"],
        },
    ),
    "participle of a far noun": Kind(
        "The {things} {of} are {state}.",
        r"perdues|cassées|fermées|ouvertes|vertes|vendues",
        r"perdus|cassés|fermés|ouverts|verts|vendus",
        {
            "things": ["keys", "chairs", "doors", "windows", "tables", "houses", "letters", "cars"],
            "of": ["to the house", "of my brothers", "in the garden", "of the king"],
            "state": ["lost", "broken", "closed", "open", "green", "sold"],
        },
    ),
    "it, across a clause": Kind(
        "{article} {thing} is {first}, but it is {second}.",
        r"elle",
        r"il|c'est",
        {
            "article": ["the", "my", "this"],
            "thing": ["house", "car", "table", "chair", "letter", "flower", "apple"],
            "first": ["old", "small", "green", "cheap", "new"],
            "second": ["beautiful", "good", "big", "expensive", "heavy"],
        },
    ),
    "bank of a river": Kind(
        "{who} {verb} on the bank of the {water}.",
        r"rive|bord|berge",
        r"banque",
        {
            "who": ["we", "they", "the children", "my father"],
            "verb": ["sat", "slept", "walked", "played"],
            "water": ["river", "lake", "Seine"],
        },
    ),
    "spring of a watch": Kind(
        "the spring {of} is {state}.",
        r"ressort",
        r"printemps",
        {
            "of": ["in the watch", "of my watch", "in the clock", "of this old bed"],
            "state": ["broken", "lost", "old", "too short"],
        },
    ),
    "fly in the soup": Kind(
        "{there} a fly in {place}.",
        r"mouche",
        r"vol|voler|vole",
        {
            "there": ["there is", "I see", "she found"],
            "place": ["my soup", "the soup", "his coffee", "the milk", "my room"],
        },
    ),
    "left, not right": Kind(
        "turn {first}, then {second}.",
        r"gauche",
        r"parti|partis|partez|quitté|laissé",
        {"first": ["right", "around", "right here"], "second": ["left", "turn left", "go left"]},
    ),
    "engineer": Kind(
        "the engineer {verb} {thing}.",
        r"ingénieur|ingénieure",
        r"moteur",
        {
            "verb": ["lost", "found", "forgot", "bought", "sold"],
            "thing": ["her keys", "his umbrella", "a bicycle", "the letter", "our dog"],
        },
    ),
    "idiom": Kind(
        "{idiom}",
        r"cordes|averse|torrents",
        r"chats?|chiens?",
        {"idiom": ["it is raining cats and dogs.", "it rained cats and dogs."]},
    ),
    "two meanings in one sentence": Kind(
        "{who} lies in bed and lies to {whom}.",
        r"couché|couchée|allongé|allongée|lit",
        r"ment",
        {"who": ["he", "she", "my brother"], "whom": ["me", "his mother", "everyone"]},
    ),
    "rare word": Kind(
        "{the} {animal} {does}.",
        r"pieuvre|poulpe|écureuil|hérisson|homard|chouette|hibou|crabe|castor|méduse",
        r"\S+",
        {
            "the": ["the", "my", "this"],
            "animal": ["octopus", "squirrel", "hedgehog", "lobster", "owl", "crab", "beaver"],
            "does": ["has eight arms", "sleeps in the garden", "eats an apple", "is very old"],
        },
    ),
    "rare profession": Kind(
        "my {who} is a {job} and {possession} is good.",
        r"boulanger|boulangère|boucher|bouchère|plombier|coiffeur|coiffeuse|cordonnier|jardinier|jardinière|menuisier|charpentier",
        r"\S+",
        {
            "who": ["neighbour", "sister", "father"],
            "job": ["baker", "butcher", "plumber", "hairdresser", "gardener", "carpenter"],
            "possession": ["her bread", "his work", "my bread"],
        },
    ),
    "who bit whom": Kind(
        "the {a} was {verb} by the {b}.",
        r"a été|fut",
        r"par l[ae] (chat|chien)",
        {
            "a": ["cat", "dog", "mouse", "wolf", "lion"],
            "b": ["mouse", "man", "bird", "cat", "fish"],
            "verb": ["eaten", "bitten", "chased", "followed"],
        },
    ),
}  # fmt: skip


def has_word(text: str, pattern: str) -> bool:
    """Return whether one of the words of `text` is what the pattern describes."""
    return re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE) is not None


def certainty(translation: Translation, pattern: str) -> float:
    """Return the lowest probability of a step that writes a part of the first such word."""
    tokens = [step.chosen.token for step in translation.steps]
    numbers, labels = plain_words(tokens)
    number = next((n for n, label in enumerate(labels) if has_word(label, pattern)), None)
    steps = translation.steps
    return min(
        (step.probability for step, n in zip(steps, numbers, strict=True) if n == number),
        default=float("nan"),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--checkpoint", default="checkpoints/en-fr")
    parser.add_argument("--shown", type=int, default=5, help="sentences of each kind")
    options = parser.parse_args()
    translator = Translator.load(options.checkpoint)
    for name, kind in KINDS.items():
        wrong = []
        sentences = [*dict.fromkeys(kind.sentences())]
        for sentence in sentences:
            result = translator.translate(sentence, method="greedy")
            if has_word(result.text, kind.wrong) and not has_word(result.text, kind.right):
                wrong.append((certainty(result, kind.wrong), sentence, result.text))
        print(f"{name}: {len(wrong)} of {len(sentences)} go wrong")
        wrong.sort()
        shown = wrong[: options.shown] + wrong[options.shown :][-options.shown :]
        for probability, sentence, text in shown:
            print(f"  {probability:.0%}  {sentence}  →  {text}")


if __name__ == "__main__":
    main()
