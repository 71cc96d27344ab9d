"""The extra lessons: a minimal pair, more mathematics and more common mistakes."""

from __future__ import annotations

from transformer.lessons import mathematics, minimal_pair, mistakes
from transformer.lessons.lesson import INSIDE, TRAIN, TRY, Lesson
from transformer.text.sentences import EXAMPLE, EXAMPLES

MATHEMATICS, MISTAKES = "The mathematics", "Common mistakes"
FIND_MISTAKE = "What is wrong in this line, taken from study notes?"

EXTRA = (
    Lesson(
        name="gender",
        title="He and she",
        picture="900900 090090 009009 900900 090090 009009",
        part="Comparing two sentences",
        minutes=1,
        extra=True,
        page=TRY,
        fields={"depth": "heads"},
        sentences=(f"He isn't an {minimal_pair.NOUN}.",),
        text=(
            "In French and German, nouns have a grammatical gender, and other words agree with it. "
            "In this English sentence only the pronoun tells whether the person is a man or a "
            "woman."
        ),
        question="Which words of the translation change if *He* becomes *She*?",
        takeaway="What differs between the translations of a minimal pair is due to one word.",
        build=minimal_pair.changed_words,
    ),
    Lesson(
        name="shifted",
        sentences=(EXAMPLES[2], EXAMPLES[3], EXAMPLES[1], EXAMPLE),
        title="Targets shifted right",
        picture="900000 490000 449000 444900 444490 444449",
        part=MATHEMATICS,
        minutes=1.5,
        extra=True,
        section="3.1",
        page=INSIDE,
        fields={"section": "training"},
        text=(
            "During training the decoder reads the reference translation, shifted right by one "
            "position and with the start token in front. At every position it has to predict the "
            "next token, and all positions are trained at once (teacher forcing)."
        ),
        question="At which position is the loss of this model highest?",
        takeaway="Training predicts the next token at every position at once.",
        build=mathematics.highest_loss,
    ),
    Lesson(
        name="lengths",
        title="Embeddings and √d_model",
        picture="000009 000909 090909 090999 990999 999999",
        part=MATHEMATICS,
        minutes=1,
        extra=True,
        section="3.4",
        page=INSIDE,
        fields={"box": "encoder.embed.tokens"},
        text=(
            "Each token has a row in the embedding matrix. The same matrix turns the decoder's "
            "last vector into a score for every token. When it serves as the embedding, its rows "
            "are scaled before the position is added."
        ),
        question="By which factor are they scaled?",
        takeaway="Embeddings are multiplied by √d_model, so the position does not dominate.",
        build=mathematics.embedding_scale,
    ),
    Lesson(
        name="norm",
        title="Residual connection and LayerNorm",
        picture="193555 728555 256555 907555 364555 481555",
        part=MATHEMATICS,
        minutes=1,
        extra=True,
        section="3.1",
        page=INSIDE,
        fields={"box": "encoder.self_attn.norm", "layer": 0},
        text=(
            "The output of a sublayer is added to its input (a residual connection), so signal and "
            "gradient always have a path around the sublayer. Then LayerNorm scales the sum to "
            "mean 0 and variance 1."
        ),
        question="Over which numbers are mean and variance computed?",
        takeaway="LayerNorm normalises the vector of each position by itself.",
        build=mathematics.layer_norm,
    ),
    Lesson(
        name="cost",
        title="The cost of self-attention",
        picture="999900 999990 999999 999999 099999 009999",
        part=MATHEMATICS,
        minutes=1.5,
        extra=True,
        section="4",
        page=INSIDE,
        fields={"tab": "why", "part": "table", "n": 64, "d": 512},
        text=(
            "A recurrent layer processes one position after another, and a convolution sees a few "
            "neighbours. Self-attention connects all positions in one step, but its cost grows "
            "with the square of the length n."
        ),
        question="Up to which length is self-attention cheaper than a recurrent layer, for d = "
        "512?",
        takeaway="Self-attention is cheaper than recurrence while n is smaller than d.",
        build=mathematics.attention_cost,
    ),
    Lesson(
        name="missing",
        title="The missing row",
        picture="900000 490000 449000 444900 444490 000000",
        part=MISTAKES,
        minutes=1,
        extra=True,
        section="3.1",
        page=INSIDE,
        fields={"section": "training", "target": "Je suis étudiant."},
        text=(
            "Each row of the training table is one prediction: given the tokens so far, which "
            "comes next?"
        ),
        misprint=(
            "three rows train *Je suis étudiant*: `start` → Je · `start` Je → suis · "
            "`start` Je suis → étudiant."
        ),
        question="Which row is missing?",
        takeaway="Without a row for the end token the model never learns to stop.",
        build=mistakes.missing_end_row,
    ),
    Lesson(
        name="keys",
        title="Keys have their own matrix",
        picture="952613 597402 279158 641983 105892 328329",
        part=MISTAKES,
        minutes=1,
        extra=True,
        section="3.2.2",
        page=INSIDE,
        fields={"box": "encoder.self_attn.key", "layer": 0},
        text=(
            "Each head computes its queries, keys and values with three matrices. In the encoder "
            "all three are applied to the same vectors, so only the matrices distinguish a query "
            "from a key."
        ),
        misprint="$head_i = \\text{Attention}(QW_i^Q, KW_i^Q, VW_i^V)$",
        question="Which letter is wrong?",
        takeaway="Keys have their own matrix; otherwise the scores would be symmetric.",
        build=mistakes.key_matrix,
    ),
    Lesson(
        name="output",
        title="Combining the heads",
        picture="997755 997755 997755 997755 997755 997755",
        part=MISTAKES,
        minutes=1,
        extra=True,
        section="3.2.2",
        page=INSIDE,
        fields={"box": "encoder.self_attn.output", "layer": 0},
        text=(
            "The outputs of all heads are concatenated. One more matrix maps them to a vector with "
            "d_model numbers."
        ),
        misprint="$W^O \\in \\mathbb{R}^{h \\times d_{model}}$",
        question="What is wrong with this shape?",
        takeaway="W^O maps the concatenated outputs of all heads to d_model numbers.",
        build=mistakes.output_matrix_shape,
    ),
    Lesson(
        name="infinity",
        title="The sign of the mask",
        picture="900000 540000 333000 322200 222220 222111",
        part=MISTAKES,
        minutes=1,
        extra=True,
        section="3.2.3",
        page=INSIDE,
        fields={"box": "decoder.self_attn.mask", "layer": 0},
        text=(
            "During training the decoder reads the whole translation, but must not see the token "
            "that it has to predict. The mask removes later positions before the softmax."
        ),
        misprint="All future positions are set to $\\text{Softmax}(\\infty) = 0$.",
        question=FIND_MISTAKE,
        takeaway="The mask sets scores to −∞; +∞ would take all of the weight.",
        build=mistakes.mask_sign,
    ),
    Lesson(
        name="memory",
        title="Three uses of attention",
        picture="643334 463333 234632 222356 212247",
        part=MISTAKES,
        minutes=1,
        extra=True,
        section="3.2.3",
        page=TRY,
        fields={"depth": "heads", "view": "heatmap", "kind": "cross"},
        text=(
            "The encoder attends to the source, the decoder to what it has written. In "
            "cross-attention (encoder–decoder attention) the decoder attends to the encoder's "
            "output, the memory."
        ),
        misprint=(
            "In encoder–decoder attention the queries come from the previous decoder layer and "
            "the memory."
        ),
        question=FIND_MISTAKE,
        takeaway="In cross-attention queries come from the decoder, keys and values from memory.",
    ),
    Lesson(
        name="self",
        title="Self-attention or cross-attention",
        picture="643334 463333 234632 222356 212247",
        part=MISTAKES,
        minutes=1,
        extra=True,
        section="3.2.3",
        page=TRY,
        fields={"depth": "heads", "view": "heatmap", "kind": "cross"},
        text=(
            "In self-attention queries and keys come from the same sequence. A decoder layer has "
            "two attention sublayers, and only one of them is self-attention."
        ),
        misprint="the decoder's second sublayer is *self*-attention over the encoder's output.",
        question="Which word is wrong?",
        takeaway="In self-attention both sides are the same tokens, so the matrix is square.",
    ),
    Lesson(
        name="units",
        title="The feed-forward network",
        picture="060003 900040 002000 700050 080000 000906",
        part=MISTAKES,
        minutes=1,
        extra=True,
        section="3.3",
        page=INSIDE,
        fields={"box": "encoder.ffn.hidden", "layer": 0},
        text=(
            "After attention has mixed positions, a small network is applied to each position "
            "separately, the same one everywhere: a linear map to more dimensions, a ReLU, and a "
            "linear map back."
        ),
        misprint="$FFN(x) = W_2 \\cdot (0, x \\cdot W_1 + b_1) + b_2$",
        question="Which function is missing?",
        takeaway="Between its two linear maps the network has a ReLU.",
        build=mistakes.missing_relu,
    ),
    Lesson(
        name="epsilon",
        title="The ε of Adam",
        picture="000009 000008 000007 000025 000430 653100",
        part=MISTAKES,
        minutes=1,
        extra=True,
        section="5.3",
        page=TRAIN,
        task="reverse",
        sentences=("a b c d e f",),
        text=(
            "Adam keeps a moving average of each weight's gradient and of its square. A step is "
            "the first divided by the root of the second. Below the curves of a run you see the "
            "update of one matrix in numbers."
        ),
        misprint=(
            "$\\theta_t = \\theta_{t-1} - \\alpha \\, \\hat m_t / \\sqrt{\\hat v_t + \\epsilon}$"
        ),
        question=FIND_MISTAKE,
        takeaway="Adam adds ε outside the root; inside it, a small gradient would count as √ε.",
        build=mistakes.epsilon_position,
    ),
)
