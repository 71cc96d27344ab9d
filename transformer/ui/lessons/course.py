"""The lessons, in the order of the notes that the app grew from; the paper has the last word."""

from __future__ import annotations

from transformer.ui.lessons import answers
from transformer.ui.lessons.lesson import Lesson, fixed, found, looked

LONG = (
    "The old man who lives next to the station has never seen the sea, but his children often go "
    "there in summer."
)

LESSONS = (
    Lesson(
        title="A sentence in, a sentence out",
        section="3",
        page="pages/translate.py",
        text=(
            "The encoder reads the sentence, all of it at once. The decoder writes its translation "
            "a piece at a time, and reads back what it has written. The table below has a row for "
            "each of its steps."
        ),
        question="How many steps does it take, and how does it know that it is done?",
        answer=found(answers.steps),
    ),
    Lesson(
        title="Learning from the answer, shifted by one",
        section="3.1",
        page="pages/inside.py",
        view={"section": "training"},
        translated=True,
        text=(
            "In training the decoder is given the right translation, moved one place to the "
            "right behind `<s>`: at every place it has to name the piece that comes next. All "
            "places are learned from at once."
        ),
        question="At which place would this model lose most, and how much?",
        answer=found(answers.shifted),
    ),
    Lesson(
        title="The row that is missing",
        section="3.1",
        page="pages/inside.py",
        view={"section": "training", "target": "Je suis étudiant."},
        text=(
            "Every row of training's table is one question: with this much read, what comes next? "
            "The table below is this model's own; the last thing each of its translations says is "
            "`</s>`."
        ),
        misprint=(
            "three rows teach *Je suis étudiant*: `<s>` → Je · `<s>` Je → suis · "
            "`<s>` Je suis → étudiant."
        ),
        question="Which row has been left out, and what would a model never learn without it?",
        answer=found(answers.missing_row),
    ),
    Lesson(
        title="From a word to a vector",
        section="3.4",
        page="pages/inside.py",
        view={"box": "encoder.embed.tokens"},
        text=(
            "Each piece is a row of one large matrix, the embedding. The same matrix turns the "
            "decoder's last vector back into a score for every piece. Where it embeds, it is "
            "multiplied by √d_model."
        ),
        question="How much longer are the vectors after that, and why does it matter?",
        answer=found(answers.embedding),
    ),
    Lesson(
        title="Telling the order",
        section="3.5",
        page="pages/positions.py",
        view={"topic": "waves"},
        text=(
            "Attention alone sees a bag of pieces. So each place gets a pattern of its own, made "
            "of waves from short to long, and that is added to the piece's vector."
        ),
        question="How long are the shortest and the longest wave, in places?",
        answer=found(answers.waves),
    ),
    Lesson(
        title="A cosine with another exponent",
        section="3.5",
        page="pages/positions.py",
        view={"topic": "slip"},
        text=(
            "Sine and cosine of a pair turn together like the hand of a clock: moving k places on "
            "is a turn by one angle, the same everywhere. That is why the paper hoped that a "
            "model could learn to look k places back."
        ),
        misprint="$PE_{(pos, 2i+1)} = \\cos(pos / 10000^{(2i+1)/d_{model}})$",
        question="What is wrong in this line of some notes, and what breaks?",
        answer=found(answers.misprint),
    ),
    Lesson(
        title="A query meets a key",
        section="3.2.1",
        page="pages/attention.py",
        view={"view": "query-key", "kind": "cross", "row": answers.ROW},
        text=(
            "The query says what is looked for, each key what there is to find. Their product is "
            "the score; the softmax makes weights of the scores; and the values are what is then "
            "said, each by its weight."
        ),
        question="Which piece does this row look at most, and how much of its weight goes there?",
        answer=found(answers.meeting),
    ),
    Lesson(
        title="What a value is",
        section="3.2",
        page="pages/inside.py",
        view={"box": "decoder.cross_attn.heads", "layer": 0},
        text=(
            "Three vectors are made for an attention: queries, keys and values. Query and key meet "
            "in a score, and the softmax of the scores is the weight. The open box shows what is "
            "then done with the values."
        ),
        misprint="the value of a key is its normalised weight: how much it is attended to.",
        question="What is a number here and what a vector, and where does a value come from?",
        answer=found(answers.value),
    ),
    Lesson(
        title="A matrix of its own for the keys",
        section="3.2.2",
        page="pages/inside.py",
        view={"box": "encoder.self_attn.key", "layer": 0},
        text=(
            "Each head has three matrices: $W_i^Q$ makes queries, $W_i^K$ keys, $W_i^V$ values. "
            "In the encoder all three read the same rows, so only the matrices tell a piece that "
            "asks from a piece that is asked."
        ),
        misprint="$head_i = \\text{Attention}(QW_i^Q, KW_i^Q, VW_i^V)$",
        question="Which letter is wrong, and what could two pieces no longer do?",
        answer=looked(answers.shared_matrix),
    ),
    Lesson(
        title="Why divide by √d_k",
        section="3.2.1",
        page="pages/why.py",
        view={"part": "scores"},
        text=(
            "The longer queries and keys are, the larger their products become, and the softmax "
            "of large scores puts nearly all weight on one key. There it is nearly flat, and "
            "hardly any gradient comes back."
        ),
        question="By how much does the variance of q·k grow when d_k goes from 64 to 256?",
        answer=answers.variance,
    ),
    Lesson(
        title="Many heads",
        section="3.2.2",
        page="pages/attention.py",
        view={
            "text": LONG,
            "view": "model",
            "kind": "encoder",
            "measure": "positional",
            "order": "measure",
        },
        text=(
            "One head mixes all it looks at into a single average, so there are several, each with "
            "a smaller query, key and value of its own. All heads of the encoder are below, those "
            "that look most often at one fixed distance first. The sentence is long: on a short "
            "one a head can seem to do so by chance."
        ),
        question="How many of them look at one distance in nine rows of ten that can?",
        answer=found(answers.positional),
    ),
    Lesson(
        title="Putting the heads together",
        section="3.2.2",
        page="pages/inside.py",
        view={"box": "encoder.self_attn.output", "layer": 0},
        text=(
            "The outputs of all heads are laid side by side, and one more matrix mixes them into "
            "a vector as wide as the model."
        ),
        misprint="$W^O \\in \\mathbb{R}^{h \\times d_{model}}$",
        question="What is wrong with this shape? The open box shows the real one.",
        answer=found(answers.output),
    ),
    Lesson(
        title="No look ahead",
        section="3.2.3",
        page="pages/inside.py",
        view={"box": "decoder.self_attn.mask", "layer": 0},
        text=(
            "While it learns, the decoder has the whole translation before it, and must not see "
            "the piece it is to name. The mask takes the later places away before the softmax."
        ),
        misprint="All future positions are set to $\\text{Softmax}(\\infty) = 0$.",
        question="What would an infinite score really do, and what does the mask set?",
        answer=found(answers.mask),
    ),
    Lesson(
        title="Three uses of attention",
        section="3.2.3",
        page="pages/attention.py",
        view={"view": "heads", "kind": "cross"},
        text=(
            "The encoder looks at the source, the decoder at what it has written, and in between "
            "the decoder looks at the encoder's output, the memory. Change the kind above the "
            "picture and see what stands on its two sides."
        ),
        misprint=(
            "In encoder–decoder attention the queries come from the previous decoder layer and "
            "the memory."
        ),
        question="What comes from the memory, and what does not?",
        answer=fixed(
            "Queries come from the decoder alone: the left side holds what was written. Keys and "
            "values come from the memory: the right side holds your sentence. So every place of "
            "the output can look at every place of the source."
        ),
    ),
    Lesson(
        title="Whose self?",
        section="3.2.3",
        page="pages/attention.py",
        view={"view": "heatmap", "kind": "cross"},
        text=(
            "Attention within one sequence is called self-attention: what asks and what is asked "
            "are the same pieces. A decoder layer has one attention of that kind and one of "
            "another. Below is the second."
        ),
        misprint=("the decoder’s second sublayer is *self*-attention over the encoder’s output."),
        question="Which word is wrong, and how does the shape of the picture show it?",
        answer=found(answers.not_self),
    ),
    Lesson(
        title="Each place for itself",
        section="3.3",
        page="pages/inside.py",
        view={"box": "encoder.ffn.hidden", "layer": 0},
        text=(
            "After attention has brought places together, a small network works on each of them "
            "alone, the same at every place: widen, cut off below zero, narrow again."
        ),
        misprint="$FFN(x) = W_2 \\cdot (0, x \\cdot W_1 + b_1) + b_2$",
        question="Which word is missing, and what share of the units is not zero here?",
        answer=found(answers.units),
    ),
    Lesson(
        title="Add and norm",
        section="3.1",
        page="pages/inside.py",
        view={"box": "encoder.self_attn.norm", "layer": 0},
        text=(
            "What a sublayer finds is added to what was there before: there is always a way around "
            "it, for the signal and for the gradient. Then each place's vector is brought to mean "
            "0 and variance 1, and stretched and moved by what was learned."
        ),
        question="What are mean and variance before the norm, at the first place?",
        answer=found(answers.norm),
    ),
    Lesson(
        title="Why self-attention",
        section="4",
        page="pages/why.py",
        view={"part": "table", "n": 64, "d": 512},
        text=(
            "A recurrent layer takes one step after the other, a convolution sees a few "
            "neighbours; self-attention joins all places in one step. The price grows with the "
            "square of the length."
        ),
        question="Up to which length is self-attention cheaper than a recurrent layer, d = 512?",
        answer=fixed(
            "It costs $n^2 \\cdot d$ against $n \\cdot d^2$: as long as n is below d, here up to "
            "511 places. Most sentences are far shorter."
        ),
    ),
    Lesson(
        title="Learning, step by step",
        section="5.3",
        page="pages/train.py",
        text=(
            "Adam keeps a running mean of each weight's gradients and of their squares, and steps "
            "by one over the root of the other. Train **Reverse**, or open the one that came with "
            "the app: under its curves stands the update of one matrix, written out in numbers, "
            "and the film of its heads."
        ),
        misprint=(
            "$\\theta_t = \\theta_{t-1} - \\alpha \\, \\hat m_t / \\sqrt{\\hat v_t + \\epsilon}$"
        ),
        question="Where does ε belong, and what would it do under the root?",
        answer=fixed(
            "Beside the root: $\\sqrt{\\hat v_t} + \\epsilon$ (Kingma and Ba 2015, algorithm 1). "
            "The paper takes ε = 10⁻⁹. Under the root it would count as √ε ≈ 3·10⁻⁵ where a "
            "weight has hardly any gradient, thirty thousand times more than meant."
        ),
    ),
)
