"""The boxes above the decoder: logits, softmax over the vocabulary, the chosen token (3.4)."""

from __future__ import annotations

from torch import Tensor

from transformer.analysis.inside import computations as compute
from transformer.analysis.inside.formulas import (
    Values,
    at,
    number,
    operand,
    powers_of_e,
    product_steps,
)
from transformer.analysis.inside.variables import Block, Box, Variable

N_TOP_TOKENS = 10
"""Tokens shown for each position."""
EMBEDDING, BIAS = "embedding.weight", "output_bias"


def prediction(block: Block) -> tuple[Box, ...]:
    """Return the boxes of the output."""
    return block.joined(
        block.input("y", "Decoder states"), _logits(block), _softmax(block), _choice(block)
    )


def _logits(block: Block) -> Box:
    biased = block.config.output_bias
    count = min(N_TOP_TOKENS, block.config.vocab_size)
    product = product_steps(
        lambda r, c: rf"{at('z', r, 'v')} = \sum_i {at('y', r, 'i')}\, {at('E', 'v', 'i')}",
        lambda values, r, c: (values["y"][r], values[EMBEDDING][values["ids"][r, c]]),
    )

    def steps(values: Values, r: int, c: int) -> list[str]:
        (symbols, numbers), token = product(values, r, c), int(values["ids"][r, c])
        if biased:
            symbols += " + b_v"
            numbers += f" + {operand(values[BIAS][token])}"
        return [rf"{symbols},\quad v = {token}", numbers]

    return block.box(
        "logits",
        "Linear",
        "3.4",
        r"z_v = y \cdot E[v] + b_v" if biased else r"z_v = y \cdot E[v]",
        "The dot product of each decoder state with the embedding of every token of the "
        "vocabulary; v is the id of a token. The matrix is E again (tied weights), without "
        "√d_model. Only the ten highest logits of each position are shown.",
        Variable(
            "logits",
            compute.linear if biased else compute.project_to_vocabulary,
            ("y", EMBEDDING, BIAS) if biased else ("y", EMBEDDING),
            site="hook_logits",
        ),
        Variable("ids", compute.highest, ("logits", count)),
        Variable(
            "z",
            compute.pick,
            ("logits", "ids"),
            "Logits",
            "z",
            ("L", "rank"),
            steps=steps,
            labels="ids",
        ),
    )


def _softmax(block: Block) -> Box:
    return block.box(
        "softmax",
        "Softmax",
        "3.4",
        r"P(v) = \frac{e^{z_v}}{\sum_u e^{z_u}}",
        "The logits become probabilities that sum to 1 over the whole vocabulary. Only the ten "
        "highest of each position are shown.",
        Variable(
            "p",
            compute.probabilities,
            ("z", "logits"),
            "Probabilities",
            "P",
            ("L", "rank"),
            steps=lambda values, r, c: _softmax_steps(
                "P(v)", values["logits"][r], int(values["ids"][r, c])
            ),
            kind="share",
            labels="ids",
        ),
    )


def _choice(block: Block) -> Box:
    return block.box(
        "choice",
        "Next token",
        "3.4",
        r"y_{t+1} = \arg\max_v P(v)",
        "Greedy decoding takes the most probable token and reads it at the next step; beam search, "
        "sampling or your own translation may choose another one. Decoding ends at </s>.",
        Variable("z_chosen", compute.pick, ("logits", "chosen")),
        Variable(
            "rank",
            compute.rank,
            ("logits", "z_chosen"),
            "Rank of the chosen token",
            r"\mathrm{rank}",
            ("L", ""),
            steps=lambda values, r, c: [
                r"\mathrm{rank} = 1 + |\{u : z_u > z_v\}|",
                f"= 1 + {number(values['rank'][r, 0] - 1)}",
            ],
            kind="count",
            note="Rank 1 is the most probable token. Greedy decoding takes it unless it is the "
            "padding token, <s> or the unknown token.",
            labels="chosen",
        ),
        Variable(
            "p_chosen",
            compute.probabilities,
            ("z_chosen", "logits"),
            "Probability of the chosen token",
            "P(y)",
            ("L", ""),
            steps=lambda values, r, c: _softmax_steps(
                f"P({at('y', r + 1)})", values["logits"][r], int(values["chosen"][r, 0])
            ),
            kind="share",
            labels="chosen",
        ),
    )


def _softmax_steps(result: str, logits: Tensor, token: int) -> list[str]:
    """Return the softmax of one token among all logits of a position."""
    shifted = logits - logits.max()
    return [
        rf"{result} = \frac{{e^{{z_v - M}}}}{{\sum_u e^{{z_u - M}}}},\quad "
        rf"M = \max_u z_u = {number(logits.max())},\quad v = {token}",
        rf"= \frac{{e^{{{number(shifted[token])}}}}}{{{powers_of_e(shifted, 'v')}}}",
    ]
