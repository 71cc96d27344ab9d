"""English sentences that the included English–French model gets wrong in an instructive way.

`python -m benchmarks.mistakes` finds such sentences; a test holds that the model makes each of
these mistakes.
"""

from __future__ import annotations

from dataclasses import dataclass

from transformer.text.languages import Languages


@dataclass(frozen=True)
class Mistake:
    """A sentence that goes wrong.

    Attributes:
        wrong: a word of the translation that shows it; right: what would be right there.
        note: one sentence about what goes wrong, in Markdown.
    """

    text: str
    wrong: str
    right: str
    note: str


MISTAKES: dict[Languages, tuple[Mistake, ...]] = {
    ("en", "fr"): (
        Mistake(
            "The woman that the boy loves is old.",
            "vieux",
            "vieille",
            "**vieux** agrees with the nearer noun, *garçon*; it is the woman who is old, so it "
            "should be *vieille*.",
        ),
        Mistake(
            "This table is new, but it is expensive.",
            "c'est",
            "elle est chère",
            "**c'est** refers to nothing in the sentence; *it* is the table, so it should be "
            "*elle est chère*.",
        ),
        Mistake(
            "They sat on the bank of the lake.",
            "banque",
            "rive",
            "**banque** is a bank for money; the bank of a lake is *la rive*.",
        ),
        Mistake(
            "She lies in bed and lies to me.",
            "ment",
            "est couchée",
            "**ment** means “tells lies” both times; the first *lies* should be *est couchée*, and "
            "the bed is lost.",
        ),
        Mistake(
            "Turn right, then left.",
            "parti",
            "à gauche",
            "**parti** comes from *left* as the past of *to leave*; here it is a direction, "
            "*à gauche*.",
        ),
        Mistake(
            "This owl sleeps in the garden.",
            "propre",
            "chouette",
            "**propre** means *own*: the model reads the rare word *owl* in pieces, and takes it "
            "for a word that it knows; an owl is *une chouette*.",
        ),
    ),
}
"""The sentences by the codes of source and target."""
