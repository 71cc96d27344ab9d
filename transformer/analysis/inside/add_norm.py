"""The boxes after every sublayer: the residual sum and LayerNorm (section 3.1)."""

from __future__ import annotations

from transformer.analysis.inside import computations as compute
from transformer.analysis.inside.formulas import Values, at, number, operand, summands, terms
from transformer.analysis.inside.variables import Block, Box, Variable

HAT, MU, SIGMA_2, GAMMA, BETA = r"\hat{x}", r"\mu", r"\sigma^2", r"\gamma", r"\beta"


def add_norm(block: Block, output: str, symbol: str) -> tuple[Box, Box]:
    """Return both boxes.

    Args:
        output: the variable of the sublayer's output, and its LaTeX.
    """
    sublayer = {
        "ffn": r"\mathrm{FFN}(x)",
        "self_attn": r"\mathrm{Attention}(x)",
        "cross_attn": r"\mathrm{Attention}(x, m)",
    }[block.block]
    add = block.box(
        "add",
        "Add",
        "3.1",
        f"r = x + {sublayer}",
        "The output of the sublayer is added to its input (the residual connection). So the "
        "sublayer only has to compute the change. (In training, dropout is applied here too.)",
        Variable(
            "total",
            compute.add,
            ("x", output),
            "Sum",
            "r",
            steps=lambda values, r, c: [
                f"{at('r', r, c)} = {at('x', r, c)} + {at(symbol, r, c)}",
                f"= {number(values['x'][r, c])} + {operand(values[output][r, c])}",
            ],
            site=f"{block.path}_norm.hook_sum",
        ),
    )
    return add, _norm(block)


def _norm(block: Block) -> Box:
    path = f"{block.path}_norm.norm"
    eps = f"{path}.eps"

    def standardized(values: Values, r: int, c: int) -> tuple[str, str]:
        """Return the fraction with symbols and with numbers."""
        symbols = (
            rf"\frac{{{at('r', r, c)} - {at(MU, r)}}}"
            rf"{{\sqrt{{{at(SIGMA_2, r)} + \varepsilon}}}}"
        )
        total, mean, variance = (
            values["total"][r, c],
            values["mean"][r, 0],
            values["variance"][r, 0],
        )
        numbers = (
            rf"\frac{{{number(total)} - {operand(mean)}}}"
            rf"{{\sqrt{{{number(variance)} + {operand(values[eps])}}}}}"
        )
        return symbols, numbers

    def standardized_steps(values: Values, r: int, c: int) -> list[str]:
        symbols, numbers = standardized(values, r, c)
        return [rf"{at(HAT, r, c)} = {symbols}", f"= {numbers}"]

    def normalized_steps(values: Values, r: int, c: int) -> list[str]:
        symbols, numbers = standardized(values, r, c)
        affine = rf"\cdot {operand(values['gain'][0, c])} + {operand(values['shift'][0, c])}"
        return [
            rf"{at('y', r, c)} = {symbols}\,{at(GAMMA, c)} + {at(BETA, c)},\quad "
            rf"{at(MU, r)} = {number(values['mean'][r, 0])},\quad "
            rf"{at(SIGMA_2, r)} = {number(values['variance'][r, 0])}",
            f"= {numbers} {affine}",
            f"= {number(values['hat'][r, c])} {affine}",
        ]

    return block.box(
        "norm",
        "LayerNorm",
        "3.1; Ba et al. 2016, eq. 4",
        r"y = \frac{r - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot \gamma + \beta,\quad "
        r"\mu = \frac{1}{d}\sum_i r_i,\ \sigma^2 = \frac{1}{d}\sum_i (r_i - \mu)^2",
        "Each token's vector is shifted to mean 0 and scaled to variance 1, using only its own "
        "numbers. Then every dimension has a learned gain γ and shift β. The norm comes after the "
        "sum (post-norm), as in the paper.",
        Variable(
            "mean",
            compute.mean,
            ("total",),
            "Mean",
            MU,
            ("L", ""),
            steps=_mean_steps,
        ),
        Variable(
            "variance",
            compute.variance,
            ("total", "mean"),
            "Variance",
            SIGMA_2,
            ("L", ""),
            steps=_variance_steps,
            kind="positive",
        ),
        Variable(
            "hat",
            compute.standardize,
            ("total", "mean", "variance", eps),
            "Standardised: mean 0, variance 1",
            HAT,
            steps=standardized_steps,
        ),
        Variable(
            "gain",
            compute.as_row,
            (f"{path}.weight",),
            "Gain γ",
            GAMMA,
            ("", "d_model"),
            origin=f"{path}.weight",
        ),
        Variable(
            "shift",
            compute.as_row,
            (f"{path}.bias",),
            "Shift β",
            BETA,
            ("", "d_model"),
            origin=f"{path}.bias",
        ),
        Variable(
            "y",
            compute.scale_and_shift,
            ("hat", "gain", "shift"),
            "Normalised",
            "y",
            steps=normalized_steps,
            site=f"{block.path}_norm.hook_output",
        ),
    )


def _mean_steps(values: Values, r: int, c: int) -> list[str]:
    row = values["total"][r]
    factor = rf"\frac{{1}}{{{len(row)}}}"
    return [
        rf"{at(MU, r)} = {factor} \sum_i {at('r', r, 'i')}",
        rf"= {factor} \left({summands(row)}\right)",
        rf"= {factor} \cdot {operand(row.sum())}",
    ]


def _variance_steps(values: Values, r: int, c: int) -> list[str]:
    row, mean = values["total"][r], values["mean"][r, 0]
    factor, squares = rf"\frac{{1}}{{{len(row)}}}", (row - mean) ** 2
    sum_of_squares = terms(squares, lambda i: f"({number(row[i])} - {operand(mean)})^2")
    return [
        rf"{at(SIGMA_2, r)} = {factor} \sum_i ({at('r', r, 'i')} - {at(MU, r)})^2,"
        rf"\quad {at(MU, r)} = {number(mean)}",
        rf"= {factor} \left({sum_of_squares}\right)",
        rf"= {factor} \cdot {operand(squares.sum())}",
    ]
