"""The boxes of one attention, the paper's Figure 2 (section 3.2)."""

from __future__ import annotations

from transformer.analysis.inside.add_norm import add_norm
from transformer.analysis.inside.variables import Block, Box, Variable

PAIRS = ("L", "K")
"""Axes of a table with a number for every query and key."""
HEAD = r"\mathrm{head}^{(⟨head⟩)}"
"""LaTeX of the output of one head."""


def attention(block: Block) -> tuple[Box, ...]:
    """Return the boxes of an attention, and the sum and norm after it."""
    x = block.input("x", "Input")
    m = Variable(
        "m",
        "",
        "Memory",
        "m",
        ("K", "d_model"),
        site="encoder.hook_memory",
        origin="encoder.memory",
    )
    return block.joined(
        x,
        *([m] if block.block == "cross_attn" else []),
        Variable("block", block.module),
        Variable("heads", "", site=f"{block.path}.hook_heads"),
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
    n_heads, biased = block.config.n_heads, block.config.biases
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
            f"block.w_{name}.chunk({n_heads})[head].T",
            f"W^{upper} of head ⟨head⟩",
            f"W^{upper}_{{⟨head⟩}}",
            ("d_model", "d_k"),
            origin=f"{block.path}.w_{name}",
        )
        bias = Variable(f"b_{name}", f"block.bias({name!r}).chunk({n_heads})[head]")
        symbols = rf"{name}_{{r,c}} = \sum_i {source}_{{r,i}}\, W_{{i,c}}"
        numbers = f"= ⟨products({source}[r], w_{name}[:, c])⟩"
        projection = Variable(
            name,
            f"{source} @ w_{name} + b_{name}" if biased else f"{source} @ w_{name}",
            title,
            name,
            (length, "d_k"),
            steps=(f"{symbols} + b_{{c}}", f"{numbers} + ⟨b_{name}[c]⟩")
            if biased
            else (symbols, numbers),
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


def _scores(block: Block) -> Box:
    if block.config.score == "additive":
        equation = r"s_{ij} = v \cdot \tanh(q_i + k_j)"
        explanation = (
            "One score for each query and key. This model does not multiply them: it adds them, "
            "applies tanh and takes the dot product with a learned v (Bahdanau et al. 2015)."
        )
        weight = Variable(
            "v_s",
            "block.score.v[head][None]",
            "v",
            "v",
            ("", "d_k"),
            origin=f"{block.path}.score.v",
        )
        addend = (
            r"⟨terms(v_s[0] * (q[r] + k[c]).tanh(), r'# \cdot \tanh(# + #)', v_s[0], q[r], k[c])⟩"
        )
        variables = [
            weight,
            Variable(
                "s",
                "(q[:, None] + k).tanh() @ v_s[0]",
                "Scores",
                "s",
                PAIRS,
                steps=(r"s_{r,c} = \sum_i v_i \tanh(q_{r,i} + k_{c,i})", f"= {addend}"),
            ),
        ]
    else:
        equation = r"s_{ij} = q_i \cdot k_j"
        explanation = (
            "One score for each query and key: their dot product over d_k dimensions. It is high "
            "if both vectors point in the same direction."
        )
        steps = r"s_{r,c} = \sum_i q_{r,i}\, k_{c,i}", "= ⟨products(q[r], k[c])⟩"
        variables = [Variable("s", "q @ k.T", "Scores", "s", PAIRS, steps)]
    return block.box("scores", "Scores", "3.2.1", equation, explanation, *variables)


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
    variable = Variable(
        "scaled",
        f"s / {d_k} ** 0.5" if scaled else "s",
        "Scores ÷ √d_k" if scaled else "Scores, not scaled",
        "s'",
        PAIRS,
        steps=(
            r"s'_{r,c} = \frac{s_{r,c}}{\sqrt{d_k}}",
            rf"= \frac{{⟨s[r, c]⟩}}{{\sqrt{{{d_k}}}}}",
        )
        if scaled
        else ("s'_{r,c} = s_{r,c}",),
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
        step = (
            r"s''_{r,c} = ⟨r\"s'_{r,c}\" if allowed[r, c] else r'-\infty'⟩"
            r"\quad (⟨r'j \le i' if allowed[r, c] else 'j > i'⟩)"
        ).replace(r"\"", '"')
    else:
        equation = "s''_{ij} = s'_{ij}"
        explanation = (
            "Only padding is masked here, and a single sentence has none: every query may attend "
            "to every source token, and nothing changes."
        )
        step = r"s''_{r,c} = s'_{r,c}\quad (\text{no padding})"
    return block.box(
        "mask",
        "Mask",
        "3.2.3",
        equation,
        explanation,
        Variable(
            "allowed",
            "torch.ones_like(scaled).bool().tril()" if causal else "torch.ones_like(scaled).bool()",
            "Mask",
            r"\mathrm{mask}",
            PAIRS,
            kind="mask",
            note="1: the query may attend to the key. 0: it may not.",
        ),
        Variable(
            "masked",
            "scaled.masked_fill(~allowed, -torch.inf)",
            "Masked scores",
            "s''",
            PAIRS,
            steps=(step,),
        ),
    )


def _softmax(block: Block) -> Box:
    exponent = "masked[r] - masked[r].max()"
    return block.box(
        "softmax",
        "Softmax",
        "3.2.1, eq. 1",
        r"w_{ij} = \frac{e^{s''_{ij}}}{\sum_k e^{s''_{ik}}}",
        "Each row becomes weights that sum to 1: how much the token attends to each key. These are "
        "the attention weights that all figures show.",
        Variable(
            "e",
            "(masked - masked.max(-1, keepdim=True).values).exp()",
            "Exponentials",
            "e^{s'' - M}",
            PAIRS,
            steps=(
                r"e_{r,c} = e^{s''_{r,c} - M},\quad M = \max_k s''_{r,k}",
                "= e^{⟨masked[r, c]⟩ - ⟨masked[r].max()⟩}",
            ),
            kind="share",
            note="M is the highest score of the row. Subtracting it divides numerator and "
            "denominator by the same number, so the weights do not change; it prevents overflow of "
            "the exponential.",
        ),
        Variable(
            "weights",
            "e / e.sum(-1, keepdim=True)",
            "Attention weights",
            "w",
            PAIRS,
            steps=(
                r"w_{r,c} = \frac{e^{s''_{r,c} - M}}{\sum_k e^{s''_{r,k} - M}},\quad "
                r"M = \max_k s''_{r,k} = ⟨masked[r].max()⟩",
                rf"= \frac{{e^{{⟨({exponent})[c]⟩}}}}"
                rf"{{⟨terms(e[r], 'e^{{#}}', {exponent}, index='k')⟩}}",
                r"= \frac{⟨number(e[r, c], 6)⟩}{⟨number(e[r].sum(), 6)⟩}",
            ),
            kind="share",
            site=f"{block.path}.hook_weights",
        ),
    )


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
            "weights @ v",
            "Output of head ⟨head⟩",
            HEAD,
            ("L", "d_k"),
            steps=(
                HEAD + r"_{r,c} = \sum_j w_{r,j}\, v_{j,c}",
                "= ⟨products(weights[r], v[:, c], 'j')⟩",
            ),
            site=f"{block.path}.hook_heads",
        ),
    )


def _concat(block: Block) -> Box:
    d_k = block.config.d_k
    return block.box(
        "concat",
        "Concat",
        "3.2.2",
        r"c = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)",
        "The outputs of all heads in one row: d_k numbers of the first head, then d_k of the "
        "second, and so on, d_model in total. Nothing is computed.",
        Variable(
            "concat",
            "torch.cat(tuple(heads), dim=-1)",
            "Outputs of all heads",
            "c",
            ("L", "heads"),
            steps=(
                rf"c_{{r,c}} = \mathrm{{head}}^{{(⟨c // {d_k}⟩)}}_{{r,⟨c % {d_k}⟩}},\quad "
                rf"⟨c⟩ = ⟨c // {d_k}⟩ \cdot {d_k} + ⟨c % {d_k}⟩",
            ),
        ),
    )


def _output(block: Block) -> Box:
    n_heads, biased = block.config.n_heads, block.config.biases
    symbols = r"o_{r,c} = \sum_h u^{(h)}_{r,c}"
    numbers = "= ⟨terms(parts[:, r, c], '#', parts[:, r, c], index='h')⟩"
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
            f"block.w_o.T.chunk({n_heads})[head]",
            "W^O, rows of head ⟨head⟩",
            "W^O_{⟨head⟩}",
            ("d_k", "d_model"),
            origin=f"{block.path}.w_o",
        ),
        Variable(
            "u",
            "head_output @ w_o",
            "Contribution of head ⟨head⟩",
            rf"u^{{(⟨head⟩)}} = {HEAD}\, W^O_{{⟨head⟩}}",
            steps=(
                rf"u^{{(⟨head⟩)}}_{{r,c}} = \sum_i {HEAD}_{{r,i}}\, W^O_{{i,c}}",
                "= ⟨products(head_output[r], w_o[:, c])⟩",
            ),
        ),
        Variable("parts", f"heads @ block.w_o.T.unflatten(0, ({n_heads}, -1))"),
        Variable(
            "o",
            "parts.sum(0) + block.b_o" if biased else "parts.sum(0)",
            "Sum over the heads",
            "o",
            steps=(f"{symbols} + b_{{c}}", f"{numbers} + ⟨block.b_o[c]⟩")
            if biased
            else (symbols, numbers),
            site=f"{block.path}.hook_output",
        ),
    )
