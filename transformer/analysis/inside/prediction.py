"""The boxes above the decoder: logits, softmax over the vocabulary, the chosen token (3.4)."""

from __future__ import annotations

from transformer.analysis.inside.variables import Block, Box, Variable

N_TOP_TOKENS = 10
"""Tokens shown for each position."""
_SHIFTED = "logits[r] - logits[r].max()"
_DENOMINATOR = f"⟨terms(({_SHIFTED}).exp(), 'e^{{#}}', {_SHIFTED}, index='v')⟩"
_SOFTMAX = r"\frac{e^{z_v - M}}{\sum_u e^{z_u - M}},\quad M = \max_u z_u = ⟨logits[r].max()⟩"


def prediction(block: Block) -> tuple[Box, ...]:
    """Return the boxes of the output."""
    return block.joined(
        block.input("y", "Decoder states"), _logits(block), _softmax(block), _choice(block)
    )


def _logits(block: Block) -> Box:
    biased = block.config.output_bias
    count = min(N_TOP_TOKENS, block.config.vocab_size)
    id = r",\quad v = ⟨ids[r, c]⟩"
    symbols = r"z_{r,v} = \sum_i y_{r,i}\, E_{v,i}"
    numbers = "= ⟨products(y[r], model.embedding.weight[ids[r, c]])⟩"
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
            "y @ model.embedding.weight.T + model.output_bias"
            if biased
            else "y @ model.embedding.weight.T",
            site="hook_logits",
        ),
        Variable("ids", f"logits.topk({count}).indices"),
        Variable(
            "z",
            "logits.gather(1, ids)",
            "Logits",
            "z",
            ("L", "rank"),
            steps=(f"{symbols} + b_v{id}", f"{numbers} + ⟨model.output_bias[ids[r, c]]⟩")
            if biased
            else (symbols + id, numbers),
            labels="token_labels(ids)",
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
            "(z - logits.logsumexp(-1, keepdim=True)).exp()",
            "Probabilities",
            "P",
            ("L", "rank"),
            steps=(
                rf"P(v) = {_SOFTMAX},\quad v = ⟨ids[r, c]⟩",
                rf"= \frac{{e^{{⟨z[r, c] - logits[r].max()⟩}}}}{{{_DENOMINATOR}}}",
            ),
            kind="share",
            labels="token_labels(ids)",
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
        Variable("z_chosen", "logits.gather(1, chosen)"),
        Variable(
            "rank",
            "(logits > z_chosen).sum(-1, keepdim=True) + 1",
            "Rank of the chosen token",
            r"\mathrm{rank}",
            ("L", ""),
            steps=(
                r"\mathrm{rank} = 1 + |\{u : z_u > z_v\}|",
                "= 1 + ⟨rank[r, 0] - 1⟩",
            ),
            kind="count",
            note="Rank 1 is the most probable token. Greedy decoding takes it unless it is the "
            "padding token, <s> or the unknown token.",
            labels="token_labels(chosen)",
        ),
        Variable(
            "p_chosen",
            "(z_chosen - logits.logsumexp(-1, keepdim=True)).exp()",
            "Probability of the chosen token",
            "P(y)",
            ("L", ""),
            steps=(
                rf"P(y_{{⟨r + 1⟩}}) = {_SOFTMAX},\quad v = ⟨chosen[r, 0]⟩",
                rf"= \frac{{e^{{⟨z_chosen[r, 0] - logits[r].max()⟩}}}}{{{_DENOMINATOR}}}",
            ),
            kind="share",
            labels="token_labels(chosen)",
        ),
    )
