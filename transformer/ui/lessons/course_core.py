"""The steps that everybody walks through, about twenty minutes: from a puzzle to the mistakes of
notes."""

from __future__ import annotations

from transformer.ui.lessons import (
    first_questions,
    head_questions,
    mathematics,
    mistakes,
    order_questions,
)
from transformer.ui.lessons.lesson import Lesson

ATTENTION, INSIDE = "pages/attention.py", "pages/inside.py"
EVERYDAY = (
    "She has never seen the sea.",
    "If it rains, we will stay at home.",
    "Who gave you that red umbrella?",
)

CORE = (
    Lesson(
        name="umbrella",
        title="Whose umbrella?",
        part="The puzzle",
        minutes=1.5,
        page=ATTENTION,
        sentences=(
            "My sister lost her umbrella.",
            "Mary forgot her umbrella.",
            "He took her umbrella.",
            "Tom lost his umbrella.",
        ),
        text=(
            "The model writes its translation a word at a time. Before each word it looks at all "
            "words of the sentence, at some more and at others less. That is **attention**."
        ),
        question="As it writes the bold word, at which word does it look most?",
        learnt="Each word is written while looking at some words more than at others.",
        ask=first_questions.umbrella,
    ),
    Lesson(
        name="row",
        title="Attention is shared out",
        part="The puzzle",
        minutes=1,
        section="3.2.1",
        page=ATTENTION,
        exact=True,
        sentences=EVERYDAY,
        text=(
            "How much a word is looked at is a number, its **weight**. For each word that is "
            "written there is a row of weights, one for every word (and sign) that was read."
        ),
        question="One number is missing. What do the weights of a row add up to?",
        learnt="A row of weights adds up to 1: what one word gets, the others do not.",
        ask=first_questions.row,
    ),
    Lesson(
        name="steps",
        title="A sentence in, a sentence out",
        part="The puzzle",
        minutes=1.5,
        section="3",
        page="pages/translate.py",
        exact=True,
        text=(
            "The **encoder** reads the sentence, all of it at once. The **decoder** writes the "
            "translation a piece at a time, and reads back what it has written."
        ),
        question="How many times is the decoder asked for this translation?",
        learnt="A translation is a row of choices, and the last of them is to stop.",
        ask=first_questions.steps,
    ),
    Lesson(
        name="meeting",
        title="A query meets the keys",
        part="Queries and keys",
        minutes=2,
        section="3.2.1",
        page=ATTENTION,
        exact=True,
        sentences=EVERYDAY,
        text=(
            "Where do the weights come from? The place that writes has a **query**, what it looks "
            "for; each place that was read has a **key**, what there is to find. Multiplied, they "
            "give a **score**. The **softmax** makes weights of the scores."
        ),
        question="How much of the attention does the highest score get?",
        learnt="Query times key is a score; the softmax makes shares of the scores.",
        ask=first_questions.meeting,
    ),
    Lesson(
        name="back",
        title="Find a head that looks back",
        part="Heads",
        minutes=2,
        section="3.2.2",
        page=ATTENTION,
        in_place=True,
        sentences=(*EVERYDAY, "I am a student."),
        text=(
            "One attention is one mixture. So there are many side by side, the **heads**, each "
            "with queries, keys and values of its own. On the page is a small picture of each: "
            "rows look at columns."
        ),
        question=(
            "One of them looks at the word before: its dark cells run just below the diagonal. "
            "Click it, then ask."
        ),
        learnt="Heads do different things; some look one word back, and nobody told them to.",
        ask=head_questions.back,
    ),
    Lesson(
        name="rest",
        title="Where heads rest",
        part="Heads",
        minutes=1,
        page=ATTENTION,
        exact=True,
        sentences=EVERYDAY,
        text=(
            "A head has to share out all of its attention, even when there is nothing for it in "
            "this sentence. It puts it somewhere."
        ),
        question="Which of these is looked at most, by all heads of the encoder together?",
        learnt="Much attention goes to signs that say nothing: a head at rest.",
        ask=head_questions.rest,
    ),
    Lesson(
        name="ahead",
        title="No look ahead",
        part="The mask",
        minutes=1,
        section="3.2.3",
        page=ATTENTION,
        sentences=EVERYDAY,
        text=(
            "The decoder looks at its own translation too. While it learns, all of that lies "
            "before it, the word that it is to guess as well."
        ),
        question="About to write what follows the bold word: how much can it look at that?",
        learnt="The mask hides what comes later, before the softmax shares out.",
        ask=head_questions.ahead,
    ),
    Lesson(
        name="crossing",
        title="Lines that cross",
        part="Between the languages",
        minutes=1.5,
        section="3.2.3",
        page=ATTENTION,
        sentences=(
            "Who gave you that red umbrella?",
            "Tom lost his umbrella.",
            "Tom took Mary's umbrella.",
            "She has never seen the sea.",
        ),
        text=(
            "Between the languages the decoder asks and the encoder's output answers. From word "
            "to word some heads find the original of what is written: they **align**."
        ),
        question="As it writes the bold word, at which word does the clearest such head look?",
        learnt="Between two languages attention finds which word belongs to which.",
        ask=head_questions.crossing,
    ),
    Lesson(
        name="bag",
        title="Who bit whom?",
        part="Order",
        minutes=1.5,
        section="3.5",
        page="pages/positions.py",
        sentences=(order_questions.DOG,),
        text=(
            "Each place has a pattern of its own, its **position**, that is added to the word's "
            "vector. Take that away from both sentences, and leave all else as it is."
        ),
        question="Who bites, for an encoder without positions?",
        learnt="Attention alone has no order; positions are added to the words.",
        ask=order_questions.bag,
    ),
    Lesson(
        name="waves",
        title="Telling the order",
        part="Order",
        minutes=1,
        section="3.5",
        page="pages/positions.py",
        view={"topic": "waves"},
        text=(
            "The patterns are made of waves, as a clock has fast and slow hands: the fast ones "
            "tell neighbours apart, the slow ones the beginning from the end."
        ),
        question="After how many places does the slowest hand come round?",
        learnt="Waves from short to long tell near places apart, and far ones.",
        ask=order_questions.waves,
    ),
    Lesson(
        name="off",
        title="Without heads",
        part="Without heads",
        minutes=2,
        page="pages/lab.py",
        view={"lab": "switch"},
        in_place=True,
        sentences=(EVERYDAY[1], EVERYDAY[0], EVERYDAY[2]),
        text="That a head looks somewhere does not say that it matters. Each has a switch here.",
        question="Switch off as few heads as you can, until it writes something else. Then ask.",
        learnt="Many heads can go and nothing happens; whether one is needed is an experiment.",
        ask=head_questions.off,
    ),
    Lesson(
        name="reverse",
        title="Train one yourself",
        part="Train one",
        minutes=2,
        section="5.3",
        page="pages/train.py",
        reads="reverse",
        sentences=("a b c d e f", "d h c a", "f e d c b"),
        text=(
            "A small model has learned to write a row of letters backwards, from examples alone. "
            "On the next page is the film of its heads; one like it trains there in a minute."
        ),
        question="Where does it look, as it writes its first letter?",
        learnt="What heads look at is learned: at first it is grey, then it has a form.",
        ask=head_questions.reverse,
    ),
    Lesson(
        name="scale",
        title="Why divide by √d_k",
        part="The mathematics",
        minutes=1,
        section="3.2.1",
        page="pages/why.py",
        view={"part": "scores"},
        text=(
            "The longer queries and keys are, the larger their products become, and the softmax "
            "of large scores puts nearly all weight on one key. There it is nearly flat, and "
            "hardly any gradient comes back."
        ),
        question="By how much does the variance of q·k grow when d_k goes from 64 to 256?",
        learnt="Scores are divided by √d_k, so that the softmax can still learn.",
        ask=mathematics.scale,
    ),
    Lesson(
        name="cosine",
        title="A cosine with another exponent",
        part="Mistakes of notes",
        minutes=1,
        section="3.5",
        page="pages/positions.py",
        view={"topic": "slip"},
        text=(
            "Sine and cosine of a pair turn together like the hand of a clock: moving k places on "
            "is a turn by one angle, the same everywhere. That is why the paper hoped that a "
            "model could learn to look k places back."
        ),
        misprint="$PE_{(pos, 2i+1)} = \\cos(pos / 10000^{(2i+1)/d_{model}})$",
        question="What is wrong in this line of some notes?",
        learnt="A sine and its cosine share their exponent, or no shift is a turn.",
        ask=mistakes.cosine,
    ),
    Lesson(
        name="value",
        title="What a value is",
        part="Mistakes of notes",
        minutes=1,
        section="3.2",
        page=INSIDE,
        view={"box": "decoder.cross_attn.heads", "layer": 0},
        text=(
            "Three vectors are made for an attention: queries, keys and **values**. Query and key "
            "meet in a score, the softmax of the scores is the weight, and then something is done "
            "with the values."
        ),
        misprint="the value of a key is its normalised weight: how much it is attended to.",
        question="What is wrong in this line of some notes?",
        learnt="A weight is a number, a value a vector; what is said is their sum.",
        ask=mistakes.value,
    ),
)
