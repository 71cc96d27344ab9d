"""Terms of the art, each explained once: one tooltip wherever a term stands, and a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One term.

    Attributes:
        name: as it stands alone; also: what else it is called where it stands.
        what: in one plain sentence, or two.
        see: where it is to be seen: the path of a page, as a browser asks for it.
    """

    name: str
    what: str
    see: str
    also: tuple[str, ...] = ()


TERMS = (
    Term(
        "Attention",
        "For every word a model looks at the others and takes a little from each: much from those "
        "that matter to it, almost nothing from the rest.",
        "attention",
    ),
    Term(
        "Head",
        "One way of looking, learned by the model; each layer has several, which look at the same "
        "time and at different things.",
        "attention",
        ("Heads",),
    ),
    Term(
        "Layer",
        "One floor of the model: it reads what the floor below made of each word, lets its heads "
        "look around, and hands on what came of it.",
        "inside",
        ("Layers",),
    ),
    Term("Encoder", "The half that reads: the sentence looks at itself.", "inside"),
    Term(
        "Decoder",
        "The half that writes: the translation, as far as it is written, looks at itself.",
        "inside",
        ("Decoder, masked",),
    ),
    Term(
        "Encoder–decoder",
        "The bridge between the two halves: the translation looks at the sentence.",
        "attention",
        ("Cross attention",),
    ),
    Term(
        "Mask",
        "What may not be looked at: the decoder must not see words that it has not written yet.",
        "attention?view=heatmap&kind=decoder",
    ),
    Term(
        "Kind of attention",
        "Who looks at whom: the sentence at itself, the translation at itself, or the translation "
        "at the sentence.",
        "attention",
    ),
    Term(
        "Query",
        "What a word is looking for, as a row of numbers.",
        "attention?view=query-key",
    ),
    Term(
        "Key",
        "What a word has to offer, as a row of numbers that a query is held against.",
        "attention?view=query-key",
    ),
    Term(
        "Value",
        "What a word gives to those that look at it, as a row of numbers.",
        "attention?view=query-key",
    ),
    Term(
        "Score",
        "How well a query fits a key: their numbers multiplied pair by pair and added up.",
        "attention?view=query-key",
    ),
    Term(
        "Softmax",
        "Turns scores into shares of one whole: the larger a score, the larger its share.",
        "attention?view=query-key",
    ),
    Term(
        "Weight",
        "The share of its attention that a word gives to another: from 0, none, to 1, all of it.",
        "attention",
        ("Weights",),
    ),
    Term(
        "Piece",
        "What the model reads and writes: a whole word if it is common, else a part of one.",
        "translate?exact=1",
        ("Pieces",),
    ),
    Term(
        "Token",
        "Anything that has a place in the sequence a model reads: a piece of a word, a full stop, "
        "or a sign of its own such as start and end.",
        "translate?exact=1",
        ("Tokens",),
    ),
    Term(
        "Start and end",
        "Signs of the model's own: one begins every translation, the other ends every sentence; "
        "exactly they are `<s>` and `</s>`.",
        "attention?view=heatmap",
    ),
    Term(
        "Embedding",
        "The row of numbers by which a model knows a piece.",
        "inside",
    ),
    Term(
        "Positions",
        "How a model knows which word stands where: numbers added to each word for its place.",
        "positions",
    ),
    Term(
        "Feed-forward network",
        "Two matrices with a kink between them that each word passes by itself, after it has "
        "looked at the others.",
        "inside?box=encoder.ffn.hidden",
        ("d_ff",),
    ),
    Term(
        "LayerNorm",
        "Brings the numbers of a word to a mean of 0 and a like size, after every sublayer.",
        "inside?box=encoder.ffn.norm",
    ),
    Term(
        "Logits",
        "A number for every piece of the vocabulary, before softmax makes probabilities of them.",
        "inside?box=output.logits",
    ),
    Term("Greedy", "Always take the most probable next piece.", "translate"),
    Term(
        "Beam",
        "Carry several beginnings along, and in the end take the one with the best score.",
        "translate?method=beam",
        ("Beam search", "Beginnings carried along"),
    ),
    Term(
        "Length penalty",
        "Of two translations, how much a longer one is forgiven for being longer: 0 prefers short "
        "ones, and the paper takes 0.6.",
        "translate?method=beam",
    ),
    Term(
        "Sampling",
        "Draw the next piece by chance, in proportion to the probabilities.",
        "translate?method=sample",
    ),
    Term(
        "Temperature",
        "Below 1 the probable becomes more probable still when pieces are drawn, above 1 less.",
        "translate?method=sample",
    ),
    Term(
        "Top-k",
        "Draw from the k most probable pieces alone; 0 is from all of them.",
        "translate?method=sample",
        ("Only the k most probable",),
    ),
    Term(
        "Top-p",
        "Draw from the fewest pieces that have this much probability together.",
        "translate?method=sample",
        ("Only the top share p",),
    ),
    Term(
        "Seed",
        "The number that all chance begins with: the same seed draws the same again, on the same "
        "machine with the same settings.",
        "translate?method=sample",
    ),
    Term(
        "Sink",
        "A head at rest: most of its attention lies on a sign or a full stop, which says nothing.",
        "attention",
    ),
    Term(
        "Alignment",
        "Which word of the translation belongs to which word of the sentence.",
        "lab?lab=align",
        ("Word alignment",),
    ),
    Term(
        "Gold links",
        "An alignment made by someone who knows, against which others are held.",
        "lab?lab=align",
    ),
    Term(
        "Alignment error",
        "AER: how far links are from gold links, from 0, the same, to 1, none in common.",
        "lab?lab=align",
        ("AER", "Alignment error rate"),
    ),
    Term(
        "BLEU",
        "How many words and short phrases a translation shares with a right one, from 0 to 100: "
        "the higher the better.",
        "inside?section=bleu",
    ),
    Term(
        "Importance",
        "How much the model would lose without a head, guessed from one pass or measured by "
        "leaving it out.",
        "lab?lab=matter",
    ),
    Term(
        "Pruning",
        "Taking heads away one after the other, the least important first.",
        "lab?lab=matter",
        ("The pruning game",),
    ),
    Term(
        "Blanking",
        "Setting one weight to 0 while all else stays, to see what it was good for.",
        "lab?lab=switch",
    ),
    Term(
        "Rollout",
        "The weights of all layers multiplied, from an output back to the words of the sentence.",
        "lab?lab=moves",
    ),
    Term(
        "Rank correlation",
        "Whether two measures put things in the same order: 1 the same, 0 no relation, −1 the "
        "other way around.",
        "lab?lab=moves",
    ),
    Term(
        "Logit lens",
        "What the model would say if it stopped after each of its layers.",
        "inside?section=lens",
    ),
    Term("Checkpoint", "A trained model as a folder of files.", "train"),
    Term(
        "Loss",
        "How surprised a model is by the right answer, in nats a token: 0 is not at all, and it "
        "learns by making this small.",
        "train",
    ),
    Term(
        "Learning rate",
        "How far a model's numbers move at each step; here its peak, to which it rises and from "
        "which it falls.",
        "train",
    ),
    Term("Warm-up", "The steps in which the learning rate rises to its peak.", "train"),
    Term(
        "Dropout",
        "The share of numbers left out at random while a model learns, so that it relies on none "
        "alone.",
        "train",
    ),
    Term(
        "Label smoothing",
        "The share of the right answer that is spread over all others while a model learns, so "
        "that it is never quite sure.",
        "train",
    ),
)
_BY_NAME = {name.lower(): term for term in TERMS for name in (term.name, *term.also)}


def term(name: str) -> Term | None:
    """The term of this name, whatever its capitals; None for what is none."""
    return _BY_NAME.get(name.lower())


def tip(name: str) -> str | None:
    """The explanation of a term, for a tooltip; None for what is none."""
    found = term(name)
    return found.what if found else None
