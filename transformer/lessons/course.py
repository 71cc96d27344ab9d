"""The course: its lessons in order, by name, and the names that replaced old lesson numbers."""

from __future__ import annotations

from transformer.analysis.positions import ORDER_PAIR
from transformer.lessons import interventions, mathematics, mistakes
from transformer.lessons.extra_lessons import (
    EXTRA,
    FIND_MISTAKE,
    MATHEMATICS,
    MISTAKES,
)
from transformer.lessons.lesson import INSIDE, TRAIN, TRY, Lesson
from transformer.text.sentences import EXAMPLES

EVERYDAY_SENTENCES = EXAMPLES[1:]

CORE = (
    Lesson(
        name="umbrella",
        title="Whose umbrella?",
        picture="90000 09000 00900 00900 00090 00009",
        part="First look",
        minutes=1.5,
        page=TRY,
        fields={"depth": "heads"},
        sentences=(
            "My sister lost her umbrella.",
            "Mary forgot her umbrella.",
            "He took her umbrella.",
            "Tom lost his umbrella.",
        ),
        text=(
            "The model writes its translation one word at a time. For each word it looks at all "
            "words of the sentence, at some more than at others. This is **attention**. One part "
            "of it, a **head**, links each word of the translation to a word of the sentence."
        ),
        question="Which word does this head link to the bold word?",
        takeaway="Attention gives some words of the sentence more weight than others.",
    ),
    Lesson(
        name="row",
        title="Weights sum to 1",
        picture="111020 131411 226220 221811 110133 000117",
        part="First look",
        minutes=1,
        section="3.2.1",
        page=TRY,
        fields={"depth": "heads"},
        sentences=EVERYDAY_SENTENCES,
        text=(
            "How much attention a token gets is a number, its **weight**. Tokens are words, parts "
            "of words and punctuation marks. For each token that is written there is a row of "
            "weights, one for each token that was read."
        ),
        question="One number is missing. What do the weights of a row sum to?",
        takeaway="The weights of a row sum to 1: weight given to one token is taken from others.",
    ),
    Lesson(
        name="steps",
        title="Encoder and decoder",
        picture="643334 463333 234632 222356 212247",
        part="First look",
        minutes=1.5,
        section="3",
        page=TRY,
        fields={"depth": "steps"},
        text=(
            "The **encoder** reads the whole sentence at once. The **decoder** writes the "
            "translation one token at a time, and reads the tokens that it has already written."
        ),
        question="How many times does the decoder run for this translation?",
        takeaway="A translation is a sequence of choices; the last choice is to stop.",
    ),
    Lesson(
        name="meeting",
        title="Queries, keys and scores",
        picture="110110 661110 141810 010900 000190 000001",
        part="Queries and keys",
        minutes=2,
        section="3.2.1",
        page=TRY,
        fields={"depth": "heads"},
        sentences=EVERYDAY_SENTENCES,
        text=(
            "Where do the weights come from? The position that writes has a **query**, which says "
            "what it looks for. Each position that was read has a **key**, which says what it "
            "offers. Their dot product, divided by √d_k, is a **score**. The **softmax** turns "
            "scores into weights."
        ),
        question="Which weight does the highest score get?",
        takeaway="Query times key, scaled, is a score; the softmax turns scores into weights.",
    ),
    Lesson(
        name="back",
        title="Find a previous-token head",
        picture="000000 810000 531000 126000 003600 000090",
        part="Heads",
        minutes=2,
        section="3.2.2",
        page=TRY,
        fields={"depth": "heads"},
        in_place=True,
        sentences=(*EVERYDAY_SENTENCES, "I am a student."),
        text=(
            "Each layer has several **heads** side by side, each with its own queries, keys and "
            "values. The page shows a small picture of each head: a row is the word that attends, "
            "a column the word that it attends to."
        ),
        question=(
            "One head attends to the previous word: its dark cells are just below the diagonal. "
            "Which one?"
        ),
        takeaway="Heads learn different patterns; some attend to the previous word.",
    ),
    Lesson(
        name="rest",
        title="Attention sinks",
        picture="000009 000008 000008 000009 000009 000008",
        part="Heads",
        minutes=1,
        page=TRY,
        fields={"depth": "heads"},
        sentences=(
            *EVERYDAY_SENTENCES,
            "I am a student.",
            "The little girl was looking for her mother.",
            "Tom took Mary's umbrella.",
        ),
        text=(
            "The weights of a row sum to 1, even if a head finds nothing useful in this sentence. "
            "Then the weight has to go somewhere."
        ),
        question="Which token gets most of the attention of one such head, averaged over all rows?",
        takeaway="Heads that find nothing useful attend to a sink, such as the end token.",
    ),
    Lesson(
        name="ahead",
        title="The causal mask",
        picture="900000 750000 744000 555200 535340 433344",
        part="The mask",
        minutes=1,
        section="3.2.3",
        page=TRY,
        fields={"depth": "heads"},
        sentences=EVERYDAY_SENTENCES,
        text=(
            "The decoder also attends to its own translation. During training the whole "
            "translation is there, with the word that the decoder has to predict."
        ),
        question=(
            "While the decoder predicts the word after the bold one, how much attention can that "
            "word get?"
        ),
        takeaway="The causal mask hides later tokens before the softmax.",
    ),
    Lesson(
        name="crossing",
        title="Word order across languages",
        picture="900000 204100 070001 000009 000009 000090",
        part="Cross-attention",
        minutes=1.5,
        section="3.2.3",
        page=TRY,
        fields={"depth": "heads"},
        sentences=(
            "Who gave you that red umbrella?",
            "Tom lost his umbrella.",
            "Tom took Mary's umbrella.",
            "She has never seen the sea.",
        ),
        text=(
            "In **cross-attention** the queries come from the decoder, keys and values from the "
            "encoder's output. Some of its heads **align** words: they attend to the source word "
            "of the word that is being written."
        ),
        question="While the bold word is written, which word gets most weight from such a head?",
        takeaway="Cross-attention learns which words belong together, in any order.",
    ),
    Lesson(
        name="bag",
        title="Attention without positions",
        picture="444444 444444 444444 444444 444444 444444",
        part="Order",
        minutes=1.5,
        section="3.5",
        page=INSIDE,
        fields={"tab": "positions"},
        sentences=(ORDER_PAIR[0],),
        text=(
            "Each position has its own vector, its **positional encoding**, which is added to the "
            "embedding of the token there. Remove these vectors from both sentences and leave "
            "everything else unchanged."
        ),
        question="According to an encoder without positions, who follows whom?",
        takeaway="Attention alone ignores word order; positional encodings add it.",
        build=mathematics.word_order,
    ),
    Lesson(
        name="waves",
        title="Sinusoidal positions",
        picture="494949 895959 976959 557959 138959 018869",
        part="Order",
        minutes=1,
        section="3.5",
        page=INSIDE,
        fields={"tab": "positions", "topic": "waves"},
        text=(
            "The positional encodings are sine and cosine waves, like the hands of a clock: short "
            "waves distinguish neighbouring positions, long ones the beginning of a text from its "
            "end."
        ),
        question="How long is the longest wave?",
        takeaway="Waves of many lengths distinguish near and distant positions.",
        build=mathematics.longest_wave,
    ),
    Lesson(
        name="off",
        title="Ablation: switch heads off",
        picture="747474 474747 740474 474747 747474 474747",
        part="Interventions",
        minutes=2,
        page=TRY,
        fields={"depth": "off"},
        in_place=True,
        sentences=(EVERYDAY_SENTENCES[1], EVERYDAY_SENTENCES[0], EVERYDAY_SENTENCES[2]),
        text=(
            "A clear pattern does not mean that a head matters. To see whether it does, switch it "
            "off and compare the translations."
        ),
        question="Switch off heads until the translation changes.",
        takeaway="Whether a head is needed is a question for an experiment, not for a picture.",
        build=interventions.ablation,
    ),
    Lesson(
        name="reverse",
        title="Heads form during training",
        picture="000009 000090 000900 009000 090000 900000",
        part="Training",
        minutes=2,
        section="5.3",
        page=TRAIN,
        task="reverse",
        sentences=("a b c d e f", "d h c a", "f e d c b"),
        text=(
            "A small model has learned to write a sequence of letters backwards, from examples "
            "alone. The page Train has a film of its heads during training."
        ),
        question="Which letter gets most of its attention while it writes the first letter?",
        takeaway="Attention patterns are learned: uniform at first, clear at the end.",
        build=interventions.reverse,
    ),
    Lesson(
        name="scale",
        title="Why divide by √d_k",
        picture="222222 121211 121311 111411 010701 000900",
        part=MATHEMATICS,
        minutes=1,
        section="3.2.1",
        page=INSIDE,
        fields={"tab": "why", "part": "scores"},
        text=(
            "The longer queries and keys are, the larger their dot products become. The softmax of "
            "large scores puts nearly all weight on one key: it **saturates**, and its gradient is "
            "close to 0."
        ),
        question="By which factor does the variance of q·k grow when d_k goes from 64 to 256?",
        takeaway="Dividing scores by √d_k keeps the softmax from saturating.",
        build=mathematics.score_variance,
    ),
    Lesson(
        name="cosine",
        title="The exponent of the cosine",
        picture="494949 969696 818181 303030 050505 393939",
        part=MISTAKES,
        minutes=1,
        section="3.5",
        page=INSIDE,
        fields={"tab": "positions", "topic": "waves", "waves": "8,9"},
        text=(
            "The sine and cosine of a pair rotate together: a shift by k positions is a rotation "
            "by one angle, the same at every position. For this reason the authors hoped that a "
            "model could easily learn to attend by relative position."
        ),
        misprint="$PE_{(pos, 2i+1)} = \\cos(pos / 10000^{(2i+1)/d_{model}})$",
        question=FIND_MISTAKE,
        takeaway="The sine and cosine of a pair share their exponent, so a shift is a rotation.",
        build=mistakes.cosine_exponent,
    ),
    Lesson(
        name="value",
        title="Weights and values",
        picture="000000 190250 000000 385261 385261 385261",
        part=MISTAKES,
        minutes=1,
        section="3.2",
        page=INSIDE,
        fields={"box": "decoder.cross_attn.heads", "layer": 0},
        text=(
            "Attention uses three vectors per token: query, key and **value**. Query and key give "
            "a score, the softmax of the scores gives the weights, and the weights are applied to "
            "the values."
        ),
        misprint="the value of a key is its normalised weight: how much it is attended to.",
        question=FIND_MISTAKE,
        takeaway="A weight is a number, a value a vector; a head outputs their weighted sum.",
        build=mistakes.weight_called_value,
    ),
)


__all__ = [
    "BY_NAME",
    "CORE",
    "END",
    "EXTRA",
    "LESSONS",
    "following",
    "group",
    "minutes",
    "number",
    "previous",
]

LESSONS = (*CORE, *EXTRA)
BY_NAME = {lesson.name: lesson for lesson in LESSONS}
END = "end"
"""The name of the last page of the course in addresses."""


def group(lesson: Lesson) -> tuple[Lesson, ...]:
    """Return the group that contains the lesson: the main course or the extra lessons."""
    return EXTRA if lesson.extra else CORE


def number(lesson: Lesson) -> int:
    """Return the lesson's number in its group, from 1."""
    return group(lesson).index(lesson) + 1


def following(name: str) -> str:
    """Return the name of the next lesson; `END` after the last of a group."""
    lessons, count = group(BY_NAME[name]), number(BY_NAME[name])
    return lessons[count].name if count < len(lessons) else END


def previous(name: str) -> str:
    """Return the name of the lesson before; "" for the first of a group."""
    count = number(BY_NAME[name])
    return group(BY_NAME[name])[count - 2].name if count > 1 else ""


def minutes(lessons: tuple[Lesson, ...]) -> float:
    return sum(lesson.minutes for lesson in lessons)
