"""The boxes of one attention, the paper's Figure 2 (section 3.2)."""

from __future__ import annotations

from transformer.analysis.inside import computations as compute
from transformer.analysis.inside.add_norm import add_norm
from transformer.analysis.inside.formulas import (
    HEAD_NUMBER,
    Steps,
    Values,
    at,
    number,
    operand,
    powers_of_e,
    product_steps,
    summands,
    terms,
)
from transformer.analysis.inside.variables import Block, Box, Variable

PAIRS = ("L", "K")
"""Axes of a table with a number for every query and key."""
HEAD = rf"\mathrm{{head}}^{{({HEAD_NUMBER})}}"
"""LaTeX of the output of one head."""
SCALED, MASKED = "s'", "s''"
"""LaTeX of scaled and of masked scores."""


def attention(block: Block) -> tuple[Box, ...]:
    """Return the boxes of an attention, and the sum and norm after it."""
    x = block.input("x", "Input")
    m = Variable(
        "m",
        title="Memory",
        symbol="m",
        axes=("K", "d_model"),
        site="encoder.hook_memory",
        origin="encoder.memory",
    )
    return block.joined(
        x,
        *([m] if block.block == "cross_attn" else []),
        Variable("heads", site=f"{block.path}.hook_heads"),
        *_projections(block),
        _scores(block),
        _scale(block),
        _mask(block),
        _softmax(block),
        _heads(block),
        _concat(block),
        _output(block),
        *add_norm(block, "o", "o"),
    )


def _projections(block: Block) -> list[Box]:
    biased = block.config.biases
    cross = block.block == "cross_attn"
    explanations = {
        "query": "What a token is looking for. Each head has its own matrix W^Q, from d_model "
        "numbers down to d_k. Here the queries come from the decoder."
        if cross
        else "What a token is looking for. Each head has its own matrix W^Q, from d_model numbers "
        "down to d_k.",
        "key": "What a token offers to the queries: each query is compared with every key. Here "
        "the keys come from the encoder's memory m: one for each source token."
        if cross
        else "What a token offers to the queries: each query is compared with every key.",
        "value": "What a token passes on when it is attended to. Here the values come from the "
        "encoder's memory m, too."
        if cross
        else "What a token passes on when it is attended to.",
    }
    boxes = []
    for step, name, title in (
        ("query", "q", "Queries"),
        ("key", "k", "Keys"),
        ("value", "v", "Values"),
    ):
        upper, length = name.upper(), "L" if step == "query" else "K"
        source = "m" if cross and step != "query" else "x"
        weight = Variable(
            f"w_{name}",
            compute.head_projection,
            (f"{block.path}.w_{name}", "head", "n_heads"),
            f"W^{upper} of head {HEAD_NUMBER}",
            f"W^{upper}_{{{HEAD_NUMBER}}}",
            ("d_model", "d_k"),
            origin=f"{block.path}.w_{name}",
        )
        bias = Variable(
            f"b_{name}",
            compute.head_bias,
            (f"{block.path}.b_qkv", "qkv".index(name), "head", "n_heads"),
        )
        projection = Variable(
            name,
            compute.project_with_bias if biased else compute.project,
            (source, f"w_{name}", f"b_{name}") if biased else (source, f"w_{name}"),
            title,
            name,
            (length, "d_k"),
            steps=_projection_steps(name, source, biased),
            site=f"{block.path}.hook_{step}",
        )
        equation = rf"{name} = {source}\,W^{upper}_h"
        boxes.append(
            block.box(
                step,
                upper,
                "3.2.2",
                f"{equation} + b^{upper}_h" if biased else equation,
                explanations[step],
                weight,
                bias,
                projection,
            )
        )
    return boxes


def _projection_steps(name: str, source: str, biased: bool) -> Steps:
    return product_steps(
        lambda r, c: rf"{at(name, r, c)} = \sum_i {at(source, r, 'i')}\, {at('W', 'i', c)}",
        lambda values, r, c: (values[source][r], values[f"w_{name}"][:, c]),
        (lambda values, r, c: values[f"b_{name}"][c]) if biased else None,
    )


def _scores(block: Block) -> Box:
    if block.config.score == "additive":
        equation = r"s_{ij} = v \cdot \tanh(q_i + k_j)"
        explanation = (
            "One score for each query and key. This model does not multiply them: it adds them, "
            "applies tanh and takes the dot product with a learned v (Bahdanau et al. 2015)."
        )
        weight = Variable(
            "v_s",
            compute.head_vector,
            (f"{block.path}.score.v", "head"),
            "v",
            "v",
            ("", "d_k"),
            origin=f"{block.path}.score.v",
        )
        variables = [
            weight,
            Variable(
                "s",
                compute.additive_scores,
                ("q", "k", "v_s"),
                "Scores",
                "s",
                PAIRS,
                steps=_additive_steps,
            ),
        ]
    else:
        equation = r"s_{ij} = q_i \cdot k_j"
        explanation = (
            "One score for each query and key: their dot product over d_k dimensions. It is high "
            "if both vectors point in the same direction."
        )
        steps = product_steps(
            lambda r, c: rf"{at('s', r, c)} = \sum_i {at('q', r, 'i')}\, {at('k', c, 'i')}",
            lambda values, r, c: (values["q"][r], values["k"][c]),
        )
        variables = [
            Variable("s", compute.dot_products, ("q", "k"), "Scores", "s", PAIRS, steps=steps)
        ]
    return block.box("scores", "Scores", "3.2.1", equation, explanation, *variables)


def _additive_steps(values: Values, r: int, c: int) -> list[str]:
    v, q, k = values["v_s"][0], values["q"][r], values["k"][c]
    numbers = terms(
        v * (q + k).tanh(),
        lambda i: rf"{operand(v[i])} \cdot \tanh({number(q[i])} + {operand(k[i])})",
    )
    symbols = rf"\sum_i v_i \tanh({at('q', r, 'i')} + {at('k', c, 'i')})"
    return [f"{at('s', r, c)} = {symbols}", f"= {numbers}"]


def _scale(block: Block) -> Box:
    score, d_k = block.config.score, block.config.d_k
    explanation = {
        "scaled_dot": "Dot products over many dimensions are large: if all components of q and k "
        "were independent with mean 0 and variance 1, q · k would have variance d_k. Dividing by "
        "√d_k brings it back to 1, so that the softmax does not saturate.",
        "dot": "The paper divides by √d_k here. This model was built without it to show the "
        "effect: the softmax gets large scores.",
        "additive": "The paper divides its dot products by √d_k here. An additive score needs no "
        "scaling: tanh already keeps it small.",
    }[score]
    scaled = score == "scaled_dot"

    def steps(values: Values, r: int, c: int) -> list[str]:
        symbols = f"{at(SCALED, r, c)} = "
        if not scaled:
            return [symbols + at("s", r, c)]
        return [
            rf"{symbols}\frac{{{at('s', r, c)}}}{{\sqrt{{d_k}}}}",
            rf"= \frac{{{number(values['s'][r, c])}}}{{\sqrt{{{d_k}}}}}",
        ]

    variable = Variable(
        "scaled",
        compute.divide_by_sqrt_d_k if scaled else compute.unchanged,
        ("s", d_k) if scaled else ("s",),
        "Scores ÷ √d_k" if scaled else "Scores, not scaled",
        SCALED,
        PAIRS,
        steps=steps,
        site=f"{block.path}.hook_scores",
    )
    return block.box(
        "scale",
        "Scale",
        "3.2.1, eq. 1",
        r"s'_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_k}}" if scaled else "s'_{ij} = s_{ij}",
        explanation,
        variable,
    )


def _mask(block: Block) -> Box:
    if causal := (block.stack, block.block) == ("decoder", "self_attn"):
        equation = r"s''_{ij} = \begin{cases} s'_{ij} & j \le i \\ -\infty & j > i \end{cases}"
        explanation = (
            "A position may not attend to later ones, which it has to predict. Their scores become "
            "−∞, and the softmax makes their weights exactly 0."
        )
    else:
        equation = "s''_{ij} = s'_{ij}"
        explanation = (
            "Only padding is masked here, and a single sentence has none: every query may attend "
            "to every source token, and nothing changes."
        )

    def steps(values: Values, r: int, c: int) -> list[str]:
        is_allowed = bool(values["allowed"][r, c])
        value = at(SCALED, r, c) if is_allowed else r"-\infty"
        reason = r"\text{no padding}"
        if causal:
            reason = r"j \le i" if is_allowed else "j > i"
        return [rf"{at(MASKED, r, c)} = {value}\quad ({reason})"]

    return block.box(
        "mask",
        "Mask",
        "3.2.3",
        equation,
        explanation,
        Variable(
            "allowed",
            compute.causal_mask if causal else compute.no_mask,
            ("scaled",),
            "Mask",
            r"\mathrm{mask}",
            PAIRS,
            kind="mask",
            note="1: the query may attend to the key. 0: it may not.",
        ),
        Variable(
            "masked",
            compute.hide,
            ("scaled", "allowed"),
            "Masked scores",
            MASKED,
            PAIRS,
            steps=steps,
        ),
    )


def _softmax(block: Block) -> Box:
    return block.box(
        "softmax",
        "Softmax",
        "3.2.1, eq. 1",
        r"w_{ij} = \frac{e^{s''_{ij}}}{\sum_k e^{s''_{ik}}}",
        "Each row becomes weights that sum to 1: how much the token attends to each key. These are "
        "the attention weights that all figures show.",
        Variable(
            "e",
            compute.exponentials,
            ("masked",),
            "Exponentials",
            "e^{s'' - M}",
            PAIRS,
            steps=_exponential_steps,
            kind="share",
            note="M is the highest score of the row. Subtracting it divides numerator and "
            "denominator by the same number, so the weights do not change; it prevents overflow of "
            "the exponential.",
        ),
        Variable(
            "weights",
            compute.normalize,
            ("e",),
            "Attention weights",
            "w",
            PAIRS,
            steps=_weight_steps,
            kind="share",
            site=f"{block.path}.hook_weights",
        ),
    )


def _exponential_steps(values: Values, r: int, c: int) -> list[str]:
    row = values["masked"][r]
    return [
        rf"{at('e', r, c)} = e^{{{at(MASKED, r, c)} - M}},\quad M = \max_k {at(MASKED, r, 'k')}",
        f"= e^{{{number(row[c])} - {operand(row.max())}}}",
    ]


def _weight_steps(values: Values, r: int, c: int) -> list[str]:
    row, e = values["masked"][r], values["e"][r]
    exponents = row - row.max()
    return [
        rf"{at('w', r, c)} = \frac{{e^{{{at(MASKED, r, c)} - M}}}}"
        rf"{{\sum_k e^{{{at(MASKED, r, 'k')} - M}}}},\quad "
        rf"M = \max_k {at(MASKED, r, 'k')} = {number(row.max())}",
        rf"= \frac{{e^{{{number(exponents[c])}}}}}{{{powers_of_e(exponents, 'k')}}}",
        rf"= \frac{{{number(e[c], 6)}}}{{{number(e.sum(), 6)}}}",
    ]


def _heads(block: Block) -> Box:
    return block.box(
        "heads",
        "Weighted values",
        "3.2.1, eq. 1",
        r"\mathrm{head}^{(h)}_i = \sum_j w_{ij}\, v_j",
        "The output of head h at position i: the average of all values, weighted by the attention "
        "weights of its row.",
        Variable(
            "head_output",
            compute.weighted_values,
            ("weights", "v"),
            f"Output of head {HEAD_NUMBER}",
            HEAD,
            ("L", "d_k"),
            steps=product_steps(
                lambda r, c: rf"{at(HEAD, r, c)} = \sum_j {at('w', r, 'j')}\, {at('v', 'j', c)}",
                lambda values, r, c: (values["weights"][r], values["v"][:, c]),
                index="j",
            ),
            site=f"{block.path}.hook_heads",
        ),
    )


def _concat(block: Block) -> Box:
    d_k = block.config.d_k

    def steps(values: Values, r: int, c: int) -> list[str]:
        head, dimension = divmod(c, d_k)
        source = at(rf"\mathrm{{head}}^{{({head})}}", r, dimension)
        return [
            rf"{at('c', r, c)} = {source},\quad {c} = {head} \cdot {d_k} + {dimension}",
        ]

    return block.box(
        "concat",
        "Concat",
        "3.2.2",
        r"c = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)",
        "The outputs of all heads in one row: d_k numbers of the first head, then d_k of the "
        "second, and so on, d_model in total. Nothing is computed.",
        Variable(
            "concat",
            compute.concatenate,
            ("heads",),
            "Outputs of all heads",
            "c",
            ("L", "heads"),
            steps=steps,
        ),
    )


def _output(block: Block) -> Box:
    biased, matrix, bias = block.config.biases, f"{block.path}.w_o", f"{block.path}.b_o"
    contribution = f"u^{{({HEAD_NUMBER})}}"

    def sum_steps(values: Values, r: int, c: int) -> list[str]:
        symbols = rf"{at('o', r, c)} = \sum_h {at('u^{(h)}', r, c)}"
        numbers = f"= {summands(values['parts'][:, r, c], 'h')}"
        if not biased:
            return [symbols, numbers]
        return [f"{symbols} + {at('b', c)}", f"{numbers} + {operand(values[bias][c])}"]

    return block.box(
        "output",
        "W^O",
        "3.2.2",
        r"o = c\, W^O + b^O = b^O + \sum_h \mathrm{head}_h\, W^O_h"
        if biased
        else r"o = c\, W^O = \sum_h \mathrm{head}_h\, W^O_h",
        "The matrix W^O mixes the outputs of the heads. Each head has its own d_k rows of W^O and "
        "contributes its own vector; the output is the sum of these vectors.",
        Variable(
            "w_o",
            compute.head_output_matrix,
            (matrix, "head", "n_heads"),
            f"W^O, rows of head {HEAD_NUMBER}",
            f"W^O_{{{HEAD_NUMBER}}}",
            ("d_k", "d_model"),
            origin=matrix,
        ),
        Variable(
            "u",
            compute.project,
            ("head_output", "w_o"),
            f"Contribution of head {HEAD_NUMBER}",
            rf"{contribution} = {HEAD}\, W^O_{{{HEAD_NUMBER}}}",
            steps=product_steps(
                lambda r, c: (
                    rf"{at(contribution, r, c)} = \sum_i {at(HEAD, r, 'i')}\, {at('W^O', 'i', c)}"
                ),
                lambda values, r, c: (values["head_output"][r], values["w_o"][:, c]),
            ),
        ),
        Variable("parts", compute.contributions, ("heads", matrix)),
        Variable(
            "o",
            compute.sum_over_heads_with_bias if biased else compute.sum_over_heads,
            ("parts", bias) if biased else ("parts",),
            "Sum over the heads",
            "o",
            steps=sum_steps,
            site=f"{block.path}.hook_output",
        ),
    )
