"""The boxes after every sublayer: the residual sum and LayerNorm (section 3.1)."""

from __future__ import annotations

from transformer.analysis.inside.variables import Block, Box, Variable


def add_norm(block: Block, output: str, symbol: str) -> tuple[Variable | Box, ...]:
    """Return both boxes, and the module of the norm.

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
            f"x + {output}",
            "Sum",
            "r",
            steps=(
                f"r_{{r,c}} = x_{{r,c}} + {symbol}_{{r,c}}",
                f"= ⟨x[r, c]⟩ + ⟨{output}[r, c]⟩",
            ),
            site=f"{block.path}_norm.hook_sum",
        ),
    )
    return Variable("norm", f"{block.module}_norm.norm"), add, _norm(block)


def _norm(block: Block) -> Box:
    d_model, path = block.config.d_model, f"{block.path}_norm"
    fraction = r"\frac{r_{r,c} - \mu_{r}}{\sqrt{\sigma^2_{r} + \varepsilon}}"
    numbers = r"\frac{⟨total[r, c]⟩ - ⟨mean[r, 0]⟩}{\sqrt{⟨variance[r, 0]⟩ + ⟨norm.eps⟩}}"
    affine = r"\cdot ⟨gain[0, c]⟩ + ⟨shift[0, c]⟩"
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
            "total.mean(-1, keepdim=True)",
            "Mean",
            r"\mu",
            ("L", ""),
            steps=(
                rf"\mu_{{r}} = \frac{{1}}{{{d_model}}} \sum_i r_{{r,i}}",
                rf"= \frac{{1}}{{{d_model}}} \left(⟨terms(total[r], '#', total[r])⟩\right)",
                rf"= \frac{{1}}{{{d_model}}} \cdot ⟨total[r].sum()⟩",
            ),
        ),
        Variable(
            "variance",
            "((total - mean) ** 2).mean(-1, keepdim=True)",
            "Variance",
            r"\sigma^2",
            ("L", ""),
            steps=(
                rf"\sigma^2_{{r}} = \frac{{1}}{{{d_model}}} \sum_i (r_{{r,i}} - \mu_{{r}})^2,"
                r"\quad \mu_{r} = ⟨mean[r, 0]⟩",
                rf"= \frac{{1}}{{{d_model}}} \left(⟨terms((total[r] - mean[r]) ** 2, '(# - #)^2', "
                r"total[r], mean[r].expand_as(total[r]))⟩\right)",
                rf"= \frac{{1}}{{{d_model}}} \cdot ⟨((total[r] - mean[r]) ** 2).sum()⟩",
            ),
            kind="positive",
        ),
        Variable(
            "hat",
            "(total - mean) / (variance + norm.eps) ** 0.5",
            "Standardised: mean 0, variance 1",
            r"\hat{x}",
            steps=(rf"\hat{{x}}_{{r,c}} = {fraction}", f"= {numbers}"),
        ),
        Variable(
            "gain",
            "norm.weight[None]",
            "Gain γ",
            r"\gamma",
            ("", "d_model"),
            origin=f"{path}.norm.weight",
        ),
        Variable(
            "shift",
            "norm.bias[None]",
            "Shift β",
            r"\beta",
            ("", "d_model"),
            origin=f"{path}.norm.bias",
        ),
        Variable(
            "y",
            "hat * gain + shift",
            "Normalised",
            "y",
            steps=(
                rf"y_{{r,c}} = {fraction}\,\gamma_{{c}} + \beta_{{c}},\quad "
                r"\mu_{r} = ⟨mean[r, 0]⟩,\quad \sigma^2_{r} = ⟨variance[r, 0]⟩",
                f"= {numbers} {affine}",
                f"= ⟨hat[r, c]⟩ {affine}",
            ),
            site=f"{path}.hook_output",
        ),
    )
