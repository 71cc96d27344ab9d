"""Texts about the boxes of one attention (section 3.2); see `box_texts`."""

from __future__ import annotations

from transformer.analysis.inside.box_texts import ADD_NORM, BoxText


def _projection(
    step: str, title: str, letter: str, explanation: str, cross_explanation: str, length: str
) -> BoxText:
    source = "m" if step != "query" else "x"
    lower = letter.lower()
    return BoxText(
        step,
        title,
        "3.2.2",
        {
            "decoder.cross_attn, biased": rf"{lower} = {source}\,W^{letter}_h + b^{letter}_h",
            "decoder.cross_attn": rf"{lower} = {source}\,W^{letter}_h",
            "biased": rf"{lower} = x\,W^{letter}_h + b^{letter}_h",
            "": rf"{lower} = x\,W^{letter}_h",
        },
        {"decoder.cross_attn": f"{explanation} {cross_explanation}", "": explanation},
        ("n_heads", length, "d_k"),
        f"{{module}}.hook_{step}",
        by_head=True,
    )


ATTENTION = (
    _projection(
        "query",
        "Q",
        "Q",
        "What a token is looking for. Each head has its own matrix W^Q, from d_model numbers "
        "down to d_k.",
        "Here the queries come from the decoder.",
        "L",
    ),
    _projection(
        "key",
        "K",
        "K",
        "What a token offers to the queries: each query is compared with every key.",
        "Here the keys come from the encoder's memory m: one for each source token.",
        "K",
    ),
    _projection(
        "value",
        "V",
        "V",
        "What a token passes on when it is attended to.",
        "Here the values come from the encoder's memory m, too.",
        "K",
    ),
    BoxText(
        "scores",
        "Scores",
        "3.2.1",
        {
            "additive": r"s_{ij} = v \cdot \tanh(q_i + k_j)",
            "": r"s_{ij} = q_i \cdot k_j",
        },
        {
            "additive": "One score for each query and key. This model does not multiply them: it "
            "adds them, applies tanh and takes the dot product with a learned v (Bahdanau et al. "
            "2015).",
            "": "One score for each query and key: their dot product over d_k dimensions. It is "
            "high if both vectors point in the same direction.",
        },
        ("n_heads", "L", "K"),
        "",
        by_head=True,
    ),
    BoxText(
        "scale",
        "Scale",
        "3.2.1, eq. 1",
        {
            "scaled_dot": r"s'_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_k}}",
            "": r"s'_{ij} = s_{ij}",
        },
        {
            "scaled_dot": "Dot products over many dimensions are large: if all components of q "
            "and k were independent with mean 0 and variance 1, q · k would have variance d_k. "
            "Dividing by √d_k brings it back to 1, so that the softmax does not saturate.",
            "dot": "The paper divides by √d_k here. This model was built without it to show the "
            "effect: the softmax gets large scores.",
            "additive": "The paper divides its dot products by √d_k here. An additive score needs "
            "no scaling: tanh already keeps it small.",
        },
        ("n_heads", "L", "K"),
        "{module}.hook_scores",
        by_head=True,
    ),
    BoxText(
        "mask",
        "Mask",
        "3.2.3",
        {
            "decoder.self_attn": r"s''_{ij} = \begin{cases} s'_{ij} & j \le i \\ -\infty & j > i "
            r"\end{cases}",
            "": r"s''_{ij} = s'_{ij}",
        },
        {
            "decoder.self_attn": "A position may not attend to later ones, which it has to "
            "predict. Their scores become −∞, and the softmax makes their weights exactly 0.",
            "": "Only padding is masked here, and a single sentence has none: every query may "
            "attend to every source token, and nothing changes.",
        },
        ("n_heads", "L", "K"),
        "",
        by_head=True,
    ),
    BoxText(
        "softmax",
        "Softmax",
        "3.2.1, eq. 1",
        r"w_{ij} = \frac{e^{s''_{ij}}}{\sum_k e^{s''_{ik}}}",
        "Each row becomes weights that sum to 1: how much the token attends to each key. These are "
        "the attention weights that all figures show.",
        ("n_heads", "L", "K"),
        "{module}.hook_weights",
        by_head=True,
    ),
    BoxText(
        "heads",
        "Weighted values",
        "3.2.1, eq. 1",
        r"\mathrm{head}^{(h)}_i = \sum_j w_{ij}\, v_j",
        "The output of head h at position i: the average of all values, weighted by the attention "
        "weights of its row.",
        ("n_heads", "L", "d_k"),
        "{module}.hook_heads",
        by_head=True,
    ),
    BoxText(
        "concat",
        "Concat",
        "3.2.2",
        r"c = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)",
        "The outputs of all heads in one row: d_k numbers of the first head, then d_k of the "
        "second, and so on, d_model in total. Nothing is computed.",
        ("L", "d_model"),
    ),
    BoxText(
        "output",
        "W^O",
        "3.2.2",
        {
            "biased": r"o = c\, W^O + b^O = b^O + \sum_h \mathrm{head}_h\, W^O_h",
            "": r"o = c\, W^O = \sum_h \mathrm{head}_h\, W^O_h",
        },
        "The matrix W^O mixes the outputs of the heads. Each head has its own d_k rows of W^O and "
        "contributes its own vector; the output is the sum of these vectors.",
        ("L", "d_model"),
        "{module}.hook_output",
        by_head=True,
    ),
    *ADD_NORM,
)
