"""Lines as notes have them: what is wrong in each, and what a model would do by it."""

from __future__ import annotations

import numpy as np

from transformer.analysis import positions
from transformer.analysis.inside.asides import keys_by_the_query_matrix
from transformer.figures.explorer_sides import ExplorerData
from transformer.figures.naming import head_name
from transformer.ui.lessons.lesson import Looked, Option, Question, percent, pieces

ROW = 2
"""The row that is looked at: the place that has read the second piece."""


def cosine(looked: Looked) -> Question:
    d_model = looked.model.translator.model.config.d_model
    d_model += d_model % 2
    right, wrong = (
        positions.pair_residuals(form(4 * d_model, d_model), 1).max()
        for form in (positions.sinusoidal, positions.misprinted)
    )
    return Question(
        options=(
            Option("the 10000: it should be 1000", "The paper takes 10000."),
            Option("the cosine: it should be a sine", "Even places have sines, odd ones cosines."),
            Option("the exponent: it should be $2i/d_{model}$"),
        ),
        right=2,
        answer=(
            "Sine and cosine of a pair share the exponent $2i/d_{model}$. With another one the two "
            "hands turn at different speeds, and no 2 × 2 matrix moves them one place on: the best "
            f"is off by up to {wrong:.2g}, where the paper's is by {right:.0e}, which is rounding. "
            "How alike two places are then depends on where they stand."
        ),
    )


def value(looked: Looked) -> Question:
    trace = looked.trace
    layer, head = ExplorerData(trace).clearest("cross")
    site = f"decoder.layers.{layer}.cross_attn.hook_"
    row = min(ROW, len(trace.tgt_tokens) - 1)
    weights, values = trace[f"{site}weights"][head, row], trace[f"{site}value"][head]
    best = int(weights.argmax())
    apart = np.abs(weights @ values - trace[f"{site}heads"][head, row]).max()
    return Question(
        options=(
            Option("a value is a vector of its own, made from the piece"),
            Option("the weight is not normalised", "It is: a row adds up to 1."),
            Option(
                "it is the query’s value, not the key’s",
                "Values come from where the keys come from.",
            ),
        ),
        right=0,
        answer=(
            f"The **weight** is one number for a query and a key: in {head_name(layer, head)} "
            f"the row of {pieces([trace.tgt_tokens[row]])} gives {pieces([trace.src_tokens[best]])}"
            f" {percent(float(weights[best]))}. The **value** of that piece is a vector, "
            f"$x W_i^V$: {values.shape[1]} numbers of length {np.linalg.norm(values[best]):.2f}, "
            "the same whoever asks. The head says the sum of all values, each times its weight; "
            f"worked out from the {len(weights)} of this row it is what the model has, to "
            f"{max(apart, 1e-7):.0e}."
        ),
    )


def missing_row(looked: Looked) -> Question:
    trace = looked.trace
    step = trace.translation.steps[-1]
    return Question(
        options=(
            Option("`<s>` → `</s>`", "Nothing would ever be written then."),
            Option("`<s>` Je suis étudiant → `</s>`"),
            Option("Je → suis", "Every row begins with `<s>`, and what is read only grows."),
        ),
        right=1,
        answer=(
            "The last: when all is read, the answer is `</s>`. A sentence of n pieces asks n + 1 "
            f"questions. Of {pieces(trace.predicted_tokens)} this model was asked "
            f"{len(trace.predicted_tokens)}, and gave {pieces([step.chosen.token])} "
            f"{percent(step.probability)} at the last. Without that row nothing would ever be "
            "learned about ending: no example says that `</s>` is right anywhere."
        ),
    )


def keys(looked: Looked) -> Question:
    found = keys_by_the_query_matrix(looked.model.translator.model, looked.trace, 0)
    right, wrong = found.own_place
    return Question(
        options=(
            Option(
                "$VW_i^V$ should be $VW_i^Q$", "Values have a matrix of their own: it is right."
            ),
            Option("$KW_i^Q$ should be $KW_i^K$"),
            Option("$QW_i^Q$ should be $KW_i^K$", "Queries are made from Q, by their own matrix."),
        ),
        right=1,
        answer=(
            "The keys’: it is $KW_i^K$. With $W_i^Q$ every key would be its own query, and the "
            "score of two places the same both ways: whatever a piece found in another, the other "
            "would find in it. In this model’s first layer the two ways differ by up to "
            f"{found.right_lopsided:.2g}; with the queries’ matrix by {found.wrong_lopsided:.0e}, "
            f"which is rounding. Of each row’s weight {percent(found.moved)} would move to other "
            f"pieces, and a place would give itself {percent(wrong)} on average, not "
            f"{percent(right)}."
        ),
    )


def output(looked: Looked) -> Question:
    config = looked.model.translator.model.config
    d_model, n_heads = config.d_model, config.n_heads
    return Question(
        options=(
            Option(
                "it should be $d_{model} \\times h$", "Its input is not as wide as that, either."
            ),
            Option(
                "it should be $h \\times h$",
                "It has to give back a vector as wide as the model, to be added to what was there.",
            ),
            Option("it should be $h \\cdot d_v \\times d_{model}$"),
        ),
        right=2,
        answer=(
            f"It is $h \\cdot d_v \\times d_{{model}}$: {n_heads} heads of {d_model // n_heads} "
            f"numbers side by side are {d_model} numbers for each place, and the matrix takes all "
            f"of them: {d_model} × {d_model} here. With $h \\times d_{{model}}$ only one number of "
            "each head could pass."
        ),
    )


def infinity(looked: Looked) -> Question:
    trace = looked.trace
    weights = np.stack([trace.weights("decoder", i) for i in range(trace.n_layers)])
    later = np.triu(np.ones(weights.shape[-2:], dtype=bool), k=1)
    return Question(
        options=(
            Option("the scores are set to −∞, not to +∞"),
            Option("the weights should be 1, not 0", "What may not be seen gets no attention."),
            Option(
                "it is the past that is masked, not the future",
                "What has been written may be read back; what comes next is to be guessed.",
            ),
        ),
        right=0,
        answer=(
            "The mask sets the later scores to −∞, and $e^{-\\infty} = 0$. A score of +∞ would "
            "take all of the weight. Here the greatest weight on a later place, over all layers "
            f"and heads, is {weights[..., later].max(initial=0):.0f}, and each row still adds up "
            "to 1."
        ),
    )


def memory(looked: Looked) -> Question:
    rows, columns = looked.trace.weights("cross", 0).shape[1:]
    return Question(
        options=(
            Option(
                "the keys come from the decoder",
                "Keys are what there is to be found: the sentence that was read.",
            ),
            Option("the queries come from the decoder alone"),
            Option(
                "the queries come from the memory alone",
                "Who asks is the place that is about to write.",
            ),
        ),
        right=1,
        answer=(
            f"Queries come from the decoder alone: the {rows} rows of the picture are what was "
            f"written. Keys and values come from the memory: its {columns} columns are your "
            "sentence. So every place of the output can look at every place of the source."
        ),
    )


def not_self(looked: Looked) -> Question:
    trace = looked.trace
    _, rows, columns = trace.weights("cross", 0).shape
    same = trace.weights("decoder", 0).shape[-1]
    return Question(
        options=(
            Option("*encoder’s*: it looks at the decoder’s output", "It does look at the memory."),
            Option("*second*: it is the first", "The masked self-attention comes before it."),
            Option("*self*: the two sides are not the same"),
        ),
        right=2,
        answer=(
            f"*Self*. The picture is {rows} × {columns}: its rows are the {rows} pieces the "
            f"decoder has read, its columns the {columns} of your sentence. Self-attention’s is "
            f"always square, the same pieces on both sides; the decoder’s other attention has "
            f"{same} × {same}, with the mask’s empty triangle. Choose it above the picture."
        ),
    )


def units(looked: Looked) -> Question:
    trace = looked.trace
    hidden = np.stack(
        [trace[f"encoder.layers.{layer}.ffn.hook_hidden"] for layer in range(trace.n_layers)]
    )
    own = str(trace.config.get("activation", "relu"))
    others = "silent" if own == "relu" else f"let through a little, for this model has {own} there"
    return Question(
        options=(
            Option("softmax", "That shares 1 out; here every unit is on its own."),
            Option("$\\max$"),
            Option("√", "No root is taken in it."),
        ),
        right=1,
        answer=(
            "$\\max$: it is $\\max(0, xW_1 + b_1)$, which cuts off what is below zero "
            f"(equation 2). Of the {hidden.shape[-1]:,} units of each encoder layer "
            f"{percent(float((hidden > 0).mean()))} are above zero on this sentence; the others "
            f"are {others}."
        ),
    )


def epsilon(looked: Looked) -> Question:
    given = 1e-9
    return Question(
        options=(
            Option("ε belongs beside the root, not under it"),
            Option("the step should go up, not down", "Downhill is right: the loss is to fall."),
            Option("it should be $\\hat v_t$ without a root", "Then a step would have no scale."),
        ),
        right=0,
        answer=(
            "Beside the root: $\\sqrt{\\hat v_t} + \\epsilon$ (Kingma and Ba 2015, algorithm 1). "
            f"The paper takes ε = 10⁻⁹. Under the root it would count as √ε ≈ {given**0.5:.1e} "
            "where a weight has hardly any gradient, "
            f"{given**0.5 / given:,.0f} times more than meant."
        ),
    )
