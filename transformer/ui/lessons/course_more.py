"""Steps for those who want more: the rest of the mathematics and of the mistakes."""

from __future__ import annotations

from transformer.ui.lessons import mathematics, mistakes
from transformer.ui.lessons.course_core import ATTENTION, INSIDE
from transformer.ui.lessons.lesson import Lesson

SUMS, SLIPS = "The mathematics", "Mistakes of notes"

MORE = (
    Lesson(
        name="shifted",
        title="Learning from the answer, shifted by one",
        part=SUMS,
        minutes=1.5,
        more=True,
        exact=True,
        section="3.1",
        page=INSIDE,
        view={"section": "training"},
        text=(
            "In training the decoder is given the right translation, moved one place to the "
            "right behind `<s>`: at every place it has to name the piece that comes next. All "
            "places are learned from at once."
        ),
        question="At which place would this model lose most?",
        learnt="Training asks at every place at once for the piece that comes next.",
        ask=mathematics.shifted,
    ),
    Lesson(
        name="lengths",
        title="From a word to a vector",
        part=SUMS,
        minutes=1,
        more=True,
        section="3.4",
        page=INSIDE,
        view={"box": "encoder.embed.tokens"},
        text=(
            "Each piece is a row of one large matrix, the embedding. The same matrix turns the "
            "decoder's last vector back into a score for every piece. Where it embeds, its vectors "
            "are made longer before the position is added."
        ),
        question="How much longer?",
        learnt="Embeddings are multiplied by √d_model, so that the position does not drown them.",
        ask=mathematics.lengths,
    ),
    Lesson(
        name="norm",
        title="Add and norm",
        part=SUMS,
        minutes=1,
        more=True,
        section="3.1",
        page=INSIDE,
        view={"box": "encoder.self_attn.norm", "layer": 0},
        text=(
            "What a sublayer finds is added to what was there before: there is always a way around "
            "it, for the signal and for the gradient. Then the sum is brought to mean 0 and "
            "variance 1."
        ),
        question="Mean and variance over what?",
        learnt="A place's own vector is brought to mean 0 and variance 1, whatever the others are.",
        ask=mathematics.norm,
    ),
    Lesson(
        name="cost",
        title="Why self-attention",
        part=SUMS,
        minutes=1.5,
        more=True,
        section="4",
        page="pages/why.py",
        view={"part": "table", "n": 64, "d": 512},
        text=(
            "A recurrent layer takes one step after the other, a convolution sees a few "
            "neighbours; self-attention joins all places in one step. The price grows with the "
            "square of the length."
        ),
        question="Up to which length is self-attention cheaper than a recurrent layer, d = 512?",
        learnt="Self-attention is cheaper than recurrence while the sentence is below d long.",
        ask=mathematics.cost,
    ),
    Lesson(
        name="missing",
        title="The row that is missing",
        part=SLIPS,
        minutes=1,
        more=True,
        exact=True,
        section="3.1",
        page=INSIDE,
        view={"section": "training", "target": "Je suis étudiant."},
        text="Every row of training's table is one question: with this much read, what comes next?",
        misprint=(
            "three rows teach *Je suis étudiant*: `<s>` → Je · `<s>` Je → suis · "
            "`<s>` Je suis → étudiant."
        ),
        question="Which row has been left out?",
        learnt="Without a row for the end nothing is learned about stopping.",
        ask=mistakes.missing_row,
    ),
    Lesson(
        name="keys",
        title="A matrix of its own for the keys",
        part=SLIPS,
        minutes=1,
        more=True,
        section="3.2.2",
        page=INSIDE,
        view={"box": "encoder.self_attn.key", "layer": 0},
        text=(
            "Each head makes its queries, keys and values with matrices. In the encoder all of "
            "them read the same rows, so only the matrices tell a piece that asks from a piece "
            "that is asked."
        ),
        misprint="$head_i = \\text{Attention}(QW_i^Q, KW_i^Q, VW_i^V)$",
        question="Which letter is wrong?",
        learnt="Keys have a matrix of their own, or all looking would be mutual.",
        ask=mistakes.keys,
    ),
    Lesson(
        name="output",
        title="Putting the heads together",
        part=SLIPS,
        minutes=1,
        more=True,
        section="3.2.2",
        page=INSIDE,
        view={"box": "encoder.self_attn.output", "layer": 0},
        text=(
            "The outputs of all heads are laid side by side, and one more matrix mixes them into "
            "a vector as wide as the model."
        ),
        misprint="$W^O \\in \\mathbb{R}^{h \\times d_{model}}$",
        question="What is wrong with this shape?",
        learnt="W^O takes all numbers of all heads, not one of each.",
        ask=mistakes.output,
    ),
    Lesson(
        name="infinity",
        title="An infinite score",
        part=SLIPS,
        minutes=1,
        more=True,
        section="3.2.3",
        page=INSIDE,
        view={"box": "decoder.self_attn.mask", "layer": 0},
        text=(
            "While it learns, the decoder has the whole translation before it, and must not see "
            "the piece it is to name. The mask takes the later places away before the softmax."
        ),
        misprint="All future positions are set to $\\text{Softmax}(\\infty) = 0$.",
        question="What is wrong in this line of some notes?",
        learnt="The mask sets scores to −∞; +∞ would take all of the weight.",
        ask=mistakes.infinity,
    ),
    Lesson(
        name="memory",
        title="Three uses of attention",
        part=SLIPS,
        minutes=1,
        more=True,
        section="3.2.3",
        page=ATTENTION,
        view={"view": "heads", "kind": "cross"},
        text=(
            "The encoder looks at the source, the decoder at what it has written, and in between "
            "the decoder looks at the encoder's output, the memory."
        ),
        misprint=(
            "In encoder–decoder attention the queries come from the previous decoder layer and "
            "the memory."
        ),
        question="What is wrong in this line of some notes?",
        learnt="Queries are the decoder's, keys and values the memory's.",
        ask=mistakes.memory,
    ),
    Lesson(
        name="self",
        title="Whose self?",
        part=SLIPS,
        minutes=1,
        more=True,
        section="3.2.3",
        page=ATTENTION,
        view={"view": "heatmap", "kind": "cross"},
        text=(
            "Attention within one sequence is called self-attention: what asks and what is asked "
            "are the same pieces. A decoder layer has one attention of that kind and one of "
            "another."
        ),
        misprint="the decoder’s second sublayer is *self*-attention over the encoder’s output.",
        question="Which word is wrong?",
        learnt="Self-attention has the same pieces on both sides; its table is square.",
        ask=mistakes.not_self,
    ),
    Lesson(
        name="units",
        title="Each place for itself",
        part=SLIPS,
        minutes=1,
        more=True,
        section="3.3",
        page=INSIDE,
        view={"box": "encoder.ffn.hidden", "layer": 0},
        text=(
            "After attention has brought places together, a small network works on each of them "
            "alone, the same at every place: widen, cut off below zero, narrow again."
        ),
        misprint="$FFN(x) = W_2 \\cdot (0, x \\cdot W_1 + b_1) + b_2$",
        question="Which word is missing?",
        learnt="Between its two matrices the network cuts off what is below zero.",
        ask=mistakes.units,
    ),
    Lesson(
        name="epsilon",
        title="Learning, step by step",
        part=SLIPS,
        minutes=1,
        more=True,
        section="5.3",
        page="pages/train.py",
        reads="reverse",
        sentences=("a b c d e f",),
        text=(
            "Adam keeps a running mean of each weight's gradients and of their squares, and steps "
            "by one over the root of the other. Below the curves of a run stands the update of one "
            "matrix, written out in numbers."
        ),
        misprint=(
            "$\\theta_t = \\theta_{t-1} - \\alpha \\, \\hat m_t / \\sqrt{\\hat v_t + \\epsilon}$"
        ),
        question="What is wrong in this line of some notes?",
        learnt="Adam's ε stands beside the root, where it is as small as it looks.",
        ask=mistakes.epsilon,
    ),
)
