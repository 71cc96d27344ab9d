"""Common mistakes in notes about the paper: what is wrong, and what the model's numbers show."""

from __future__ import annotations

import numpy as np

from transformer.analysis import positions
from transformer.figures.packed_trace import PackedTrace
from transformer.lessons.lesson import (
    LessonCase,
    LessonUnavailable,
    Option,
    Question,
    percent,
    signed,
    table_picture,
)

N_POSITIONS, N_NUMBERS = 6, 8
"""Positions, and numbers of a vector, in a picture."""
VALUE_ROW = 2
"""The row of the attention matrix in the lesson on values."""


def cosine_exponent(case: LessonCase) -> Question:
    d_model = case.translator.model.config.d_model
    d_model += d_model % 2
    paper, misprint = (
        positions.pair_residuals(formula(4 * d_model, d_model), 1).max()
        for formula in (positions.sinusoidal, positions.misprinted)
    )
    pair = np.c_[
        positions.sinusoidal(N_POSITIONS, d_model)[:, 2:4],
        positions.misprinted(N_POSITIONS, d_model)[:, 3],
    ]
    return Question(
        options=(
            Option("The 10000: it should be 1000", "The paper uses 10000."),
            Option(
                "The cosine: it should be a sine",
                "Even dimensions are sines, odd ones cosines.",
            ),
            Option("The exponent: it should be $2i/d_{model}$"),
        ),
        correct=2,
        answer=(
            "The sine and the cosine of a pair have the same exponent, $2i/d_{model}$. Then a "
            "shift by k positions is a rotation of the pair, the same at every position. With the "
            "wrong exponent the two turn at different speeds, and no 2 × 2 matrix is such a shift: "
            f"the best one has an error of up to {misprint:.2g}; with the paper's exponent its "
            f"error is {max(paper, 1e-12):.0f}."
        ),
        picture=table_picture(
            "Size of the second sine and cosine at the first positions",
            [*(f"position {position}" for position in range(N_POSITIONS)), "error of a shift"],
            ["sine", "cosine", "misprint"],
            np.r_[pair, [[0, paper, misprint]]],
            [[False, True, False]] * N_POSITIONS + [[False, True, True]],
            [(N_POSITIONS, 1, "0"), (N_POSITIONS, 2, f"{misprint:.2g}")],
        ),
    )


def weight_called_value(case: LessonCase) -> Question:
    trace = case.trace
    layer, head = PackedTrace(trace).clearest("cross")
    prefix = f"decoder.layers.{layer}.cross_attn.hook_"
    row = min(VALUE_ROW, len(trace.tgt_tokens) - 1)
    weights, values = trace[f"{prefix}weights"][head, row], trace[f"{prefix}value"][head]
    best = int(weights.argmax())
    return Question(
        options=(
            Option("A value is a separate vector, computed from the token"),
            Option("The weight is not normalised", "It is: each row sums to 1."),
            Option(
                "It is the query's value, not the key's",
                "Values are computed from the same vectors as the keys.",
            ),
        ),
        correct=0,
        answer=(
            "The **weight** is one number for a query and a key: in "
            f"{case.head_name(layer, head)} the row of {case.token(trace.tgt_tokens, row)} gives "
            f"{case.token(trace.src_tokens, best)} {percent(float(weights[best]))}. The **value** "
            f"of that token is a vector, $x W_i^V$: {values.shape[1]} numbers, the same for every "
            "query. The output of the head is the sum of all values, each multiplied by its weight."
        ),
        picture=table_picture(
            "Weight of each token in one row, and its value",
            ["weight", "value", *[""] * (N_NUMBERS - 1)],
            case.names(trace.src_tokens),
            np.c_[weights, values[:, :N_NUMBERS] / np.abs(values[:, :N_NUMBERS]).max()].T,
            [[row > 0] for row in range(1 + N_NUMBERS)],
            [(0, best, percent(float(weights[best])))],
            rows_before=2,
        ),
        answer_fields={"layer": layer, "head": head, "row": row},
    )


def missing_end_row(case: LessonCase) -> Question:
    trace = case.trace
    step = trace.translation.steps[-1]
    if step.chosen.token != "</s>":
        raise LessonUnavailable("it does not write the end token")
    start, end = case.token(["<s>"], 0), case.token(["</s>"], 0)
    return Question(
        options=(
            Option(f"{start} → {end}", "That would teach the model to write nothing."),
            Option(f"{start} Je suis étudiant → {end}"),
            Option("Je → suis", f"Every row begins with {start}, and each is longer by one."),
        ),
        correct=1,
        answer=(
            f"The last one: after the whole sentence the right answer is {end}. A sentence of n "
            f"tokens gives n + 1 rows. This model took {len(trace.predicted_tokens)} steps for "
            f"{case.tokens(trace.predicted_tokens)}, and gave {end} a probability of "
            f"{percent(step.probability)} in the last step. Without that row no training example "
            "would teach it to stop."
        ),
        picture=table_picture(
            "Training rows: what was read last, and the probability of what comes next",
            case.names(trace.tgt_tokens),
            case.names(trace.predicted_tokens),
            np.diag([step.probability for step in trace.translation.steps]),
            [False],
            [
                (
                    len(trace.tgt_tokens) - 1,
                    len(trace.predicted_tokens) - 1,
                    percent(step.probability),
                )
            ],
            rows_before=len(trace.tgt_tokens) - 1,
        ),
    )


def key_matrix(case: LessonCase) -> Question:
    tokens = case.trace.src_tokens
    scores = case.trace["encoder.layers.0.self_attn.hook_scores"]
    differences = np.abs(scores - scores.swapaxes(1, 2))
    head, first, second = map(int, np.unravel_index(differences.argmax(), differences.shape))
    there, back = (signed(float(scores[head, a, b])) for a, b in ((first, second), (second, first)))
    return Question(
        options=(
            Option("$VW_i^V$ should be $VW_i^Q$", "Values have their own matrix: this is right."),
            Option("$KW_i^Q$ should be $KW_i^K$"),
            Option("$QW_i^Q$ should be $KW_i^K$", "Queries are computed from Q, by $W_i^Q$."),
        ),
        correct=1,
        answer=(
            "The keys: it should be $KW_i^K$. With $W_i^Q$ for both, every key would equal its "
            "query, and the score between two tokens would be the same in both directions. In "
            f"{case.head_name(0, head)} of this model it is {there} from "
            f"{case.token(tokens, first)} to {case.token(tokens, second)}, and {back} back."
        ),
        picture=table_picture(
            "Size of the scores of one head of the first layer; hidden: one of the two directions",
            case.names(tokens),
            case.names(tokens),
            scores[head],
            np.triu(np.ones(scores[head].shape, dtype=bool), k=1),
            [(first, second, there), (second, first, back)],
        ),
    )


def output_matrix_shape(case: LessonCase) -> Question:
    config = case.translator.model.config
    d_model, n_heads = config.d_model, config.n_heads
    outputs = case.trace["encoder.layers.0.self_attn.hook_heads"][:, 0, :N_NUMBERS]
    return Question(
        options=(
            Option(
                "It should be $d_{model} \\times h$",
                "Its output must have d_model numbers, to be added to the residual.",
            ),
            Option(
                "It should be $h \\times h$",
                "Its input has h · d_v numbers, and its output d_model.",
            ),
            Option("It should be $h \\cdot d_v \\times d_{model}$"),
        ),
        correct=2,
        answer=(
            f"It is $h \\cdot d_v \\times d_{{model}}$. {n_heads} heads with {d_model // n_heads} "
            f"numbers each are concatenated to {d_model} numbers per position, and the matrix maps "
            f"all of them: {d_model} × {d_model} in this model. With $h \\times d_{{model}}$ each "
            "head could pass on only one number."
        ),
        picture=table_picture(
            "Numbers that each head passes on for the first token",
            [f"number {row + 1}" for row in range(outputs.shape[1])],
            [f"head {head + 1}" for head in range(n_heads)],
            outputs.T,
            [False],
            rows_before=1,
        ),
    )


def mask_sign(case: LessonCase) -> Question:
    trace = case.trace
    weights = np.stack([trace.weights("decoder", i) for i in range(trace.n_layers)])
    later = np.triu(np.ones(weights.shape[-2:], dtype=bool), k=1)
    return Question(
        options=(
            Option("The scores are set to −∞, not to +∞"),
            Option("The weights should be 1, not 0", "A masked position gets no attention."),
            Option(
                "The past is masked, not the future",
                "The decoder may read what it has written; it has to predict what follows.",
            ),
        ),
        correct=0,
        answer=(
            "The mask sets the scores of later positions to −∞, and $e^{-\\infty} = 0$. A score of "
            "+∞ would take all of the weight. In this model the weights on later positions are "
            f"{weights[..., later].max(initial=0):.0f} in all layers and heads."
        ),
        picture=table_picture(
            "Weights of one head of the decoder; hidden: later positions",
            case.names(trace.tgt_tokens),
            case.names(trace.tgt_tokens),
            weights[0, 0],
            later,
            [(0, 1, "0")],
        ),
    )


def missing_relu(case: LessonCase) -> Question:
    trace = case.trace
    hidden = np.stack(
        [trace[f"encoder.layers.{layer}.ffn.hook_hidden"] for layer in range(trace.n_layers)]
    )
    shares = (hidden > 0).mean(axis=-1)
    activation = str(trace.config.get("activation", "relu"))
    other_values = (
        "exactly 0" if activation == "relu" else f"small, as this model uses {activation}"
    )
    return Question(
        options=(
            Option("softmax", "A softmax would make the units sum to 1; here each is independent."),
            Option("$\\max$"),
            Option("√", "There is no square root in it."),
        ),
        correct=1,
        answer=(
            "$\\max$: the formula has $\\max(0, xW_1 + b_1)$, a ReLU, which sets negative numbers "
            f"to 0 (equation 2). Of the {hidden.shape[-1]:,} units of the first encoder layer "
            f"{percent(float(shares[0, 0]))} are positive for {case.token(trace.src_tokens, 0)}; "
            f"the others are {other_values}."
        ),
        picture=table_picture(
            "Share of the units of each encoder layer that are positive for a token",
            [f"layer {layer + 1}" for layer in range(trace.n_layers)],
            case.names(trace.src_tokens),
            shares,
            [True],
            [(0, 0, percent(float(shares[0, 0])))],
        ),
    )


def epsilon_position(case: LessonCase) -> Question:
    eps, gradients = 1e-9, np.array([1e-3, 1e-5, 1e-7])
    steps = np.c_[gradients / np.sqrt(gradients**2 + eps), gradients / (gradients + eps)]
    inside, outside = (f"{step:.2g}" for step in steps[-1])
    return Question(
        options=(
            Option("ε belongs outside the root"),
            Option("The step should go up, not down", "Down is right: the loss has to decrease."),
            Option(
                "It should be $\\hat v_t$ without the root",
                "Then the size of a step would depend on the scale of the gradients.",
            ),
        ),
        correct=0,
        answer=(
            "Outside: $\\sqrt{\\hat v_t} + \\epsilon$ (Kingma and Ba 2015, algorithm 1). The paper "
            "uses ε = 10⁻⁹. Inside the root it would count as √ε: for a gradient of 10⁻⁷ the first "
            f"step would be {inside} learning rates instead of {outside}."
        ),
        picture=table_picture(
            "Size of the first step, in learning rates, by the size of the gradient",
            ["10⁻³", "10⁻⁵", "10⁻⁷"],
            ["as printed", "corrected"],
            steps,
            [False, True],
            [(2, 0, inside), (2, 1, outside)],
        ),
    )
